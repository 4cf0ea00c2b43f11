"""thousand_threads.py FACTS COUNT: so many threads that all live at once."""

import sys
import threading

import facts

path, count = sys.argv[1], int(sys.argv[2])
threading.stack_size(256 * 1024)
barrier = threading.Barrier(count)
tids = []


def live():
    tids.append(facts.thread_id())
    barrier.wait()


facts.run_threads([live] * count)
facts.write(path, {"tids": tids})
