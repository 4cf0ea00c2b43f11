"""fork_in_thread.py FACTS: a thread forks while it holds the GIL; the child computes and ends."""

import os
import sys
import warnings

import facts

warnings.simplefilter("ignore")  # 3.12 and later warn of forks in threaded programs
children = []


def fork():
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        start_ns = facts.now_ns()
        facts.compute_until(start_ns + 300000000)
        window = facts.window(start_ns)
        os.write(write_end, ("%d %d" % (window["start_ns"], window["end_ns"])).encode())
        os._exit(0)
    os.close(write_end)
    os.waitpid(pid, 0)
    start_ns, end_ns = map(int, os.read(read_end, 100).split())
    children.append({"pid": pid, "tid": pid, "start_ns": start_ns, "end_ns": end_ns})


def compute():
    facts.compute_until(facts.now_ns() + 300000000)


facts.run_threads([compute, fork])
facts.write(sys.argv[1], {"children": children})
