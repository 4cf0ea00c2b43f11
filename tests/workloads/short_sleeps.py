"""short_sleeps.py FACTS SECONDS: one thread computes, one sleeps 1 ms again and again."""

import select
import sys

import facts

path, seconds = sys.argv[1], float(sys.argv[2])
busy, sleeps = [], []
end_ns = facts.now_ns() + int(seconds * 1e9)


def compute():
    start_ns = facts.now_ns()
    facts.compute_until(end_ns)
    busy.append(facts.window(start_ns))


def sleep():
    while facts.now_ns() < end_ns:
        start_ns = facts.now_ns()
        select.select([], [], [], 0.001)
        sleeps.append(facts.window(start_ns))


facts.run_threads([compute, sleep])
facts.write(path, {"busy": busy, "sleeps": sleeps})
