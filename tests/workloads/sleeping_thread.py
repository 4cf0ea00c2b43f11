"""sleeping_thread.py FACTS SECONDS: a thread in time.sleep, with nobody else at work."""

import sys
import time

import facts

path, seconds = sys.argv[1], float(sys.argv[2])
sleeps = []


def sleep():
    start_ns = facts.now_ns()
    time.sleep(seconds)
    sleeps.append(facts.window(start_ns))


join = facts.run_threads([sleep])
facts.write(path, {"sleeps": sleeps, "join": join})
