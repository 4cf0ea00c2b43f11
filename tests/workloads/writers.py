"""writers.py FACTS SECONDS: four threads write to /dev/null in a loop, one computes."""

import os
import sys

import facts

path, seconds = sys.argv[1], float(sys.argv[2])
busy = []
end_ns = facts.now_ns() + int(seconds * 1e9)
null = os.open(os.devnull, os.O_WRONLY)


def compute():
    start_ns = facts.now_ns()
    facts.compute_until(end_ns)
    busy.append(facts.window(start_ns))


def write():
    while facts.now_ns() < end_ns:
        os.write(null, b"x")


facts.run_threads([compute] + [write] * 4)
facts.write(path, {"busy": busy})
