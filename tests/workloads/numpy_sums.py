"""numpy_sums.py FACTS SECONDS: two threads sum 256 MB in C, beside Python in the main one."""

import sys
import threading

import numpy

import facts

path, seconds = sys.argv[1], float(sys.argv[2])
numbers = numpy.ones(256 << 17)  # 256 MB
barrier = threading.Barrier(3)
sums, busy = [], []


def add_up(into):
    barrier.wait()
    start_ns = facts.now_ns()
    while facts.now_ns() < start_ns + seconds * 1e9:
        numbers.sum()
    into.append(facts.window(start_ns))


threads = [threading.Thread(target=add_up, args=(sums,)) for _ in range(2)]
for thread in threads:
    thread.start()
barrier.wait()
start_ns = facts.now_ns()
facts.compute_until(start_ns + int(seconds * 1e9))
busy.append(facts.window(start_ns))
for thread in threads:
    thread.join()
facts.write(path, {"sums": sums, "busy": busy})
