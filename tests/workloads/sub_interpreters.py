"""sub_interpreters.py FACTS SECONDS: two interpreters with a GIL of their own compute beside the main one."""

import os
import sys
import threading

import facts

try:
    import _interpreters as interpreters  # 3.13 and later
except ImportError:
    import _xxsubinterpreters as interpreters

# Needs nothing that is not in every interpreter.
COMPUTE = """
import os, time, _thread
start_ns = time.monotonic_ns()
while time.monotonic_ns() < %d:
    pass
window = "%%d %%d %%d\\n" %% (_thread.get_native_id(), start_ns, time.monotonic_ns())
os.write(%d, window.encode())
"""


def create():
    if sys.version_info < (3, 13):
        return interpreters.create(isolated=True)
    return interpreters.create("isolated")


def read_windows(text):
    for line in text.splitlines():
        tid, start_ns, end_ns = map(int, line.split())
        yield {"tid": tid, "start_ns": start_ns, "end_ns": end_ns}


path, seconds = sys.argv[1], float(sys.argv[2])
read_end, write_end = os.pipe()
ids = [create() for _ in range(2)]
end_ns = facts.now_ns() + int(seconds * 1e9)
threads = [
    threading.Thread(target=interpreters.run_string, args=(id, COMPUTE % (end_ns, write_end)))
    for id in ids
]
for thread in threads:
    thread.start()
start_ns = facts.now_ns()
facts.compute_until(end_ns)
busy = [facts.window(start_ns)]
for thread in threads:
    thread.join()
for id in ids:
    interpreters.destroy(id)
os.close(write_end)
busy.extend(read_windows(os.read(read_end, 4096).decode()))
facts.write(path, {"busy": busy})
