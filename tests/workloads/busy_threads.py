"""busy_threads.py FACTS SECONDS THREADS: threads that only compute; the main thread joins them."""

import sys
import threading

import facts

path, seconds, count = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
barrier = threading.Barrier(count)
busy = []


def compute():
    barrier.wait()
    start_ns = facts.now_ns()
    facts.compute_until(start_ns + int(seconds * 1e9))
    busy.append(facts.window(start_ns))


join = facts.run_threads([compute] * count)
facts.write(path, {"busy": busy, "join": join})
