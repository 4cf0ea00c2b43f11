"""round_trips.py FACTS COUNT THREADS: threads that each release and take the GIL COUNT times."""

import os
import sys

import facts

path, count, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
null = os.open(os.devnull, os.O_WRONLY)
loops = []


def write():
    start_ns = facts.now_ns()
    for _ in range(count):
        os.write(null, b"")
    loops.append(facts.window(start_ns))


facts.run_threads([write] * threads)
facts.write(path, {"loops": loops})
