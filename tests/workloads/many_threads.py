"""many_threads.py FACTS COUNT: short-lived threads, eight at a time."""

import sys

import facts

path, count = sys.argv[1], int(sys.argv[2])
tids = []


def compute():
    tids.append(facts.thread_id())
    facts.compute_until(facts.now_ns() + 1000000)


for _ in range(count // 8):
    facts.run_threads([compute] * 8)
facts.write(path, {"tids": tids})
