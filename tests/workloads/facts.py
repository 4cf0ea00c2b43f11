"""What a workload measures about itself, for tests to hold giltrace's figures against.

Works on Python 3.6 and later.
"""

import json
import sys
import threading
import time

if sys.version_info < (3, 8):
    # For thread_id. Besides, up to 3.6 a process has no GIL before its first thread, or this.
    import ctypes

_SYS_GETTID = 186  # x86-64; used before 3.8 only


def now_ns():
    """CLOCK_MONOTONIC, the clock of giltrace's times."""
    if hasattr(time, "monotonic_ns"):
        return time.monotonic_ns()
    return int(time.monotonic() * 1e9)


def thread_id():
    """The kernel's id of the calling thread."""
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    return ctypes.CDLL(None).syscall(_SYS_GETTID)


def window(start_ns):
    """A stretch of the calling thread's time that ends now."""
    return {"tid": thread_id(), "start_ns": start_ns, "end_ns": now_ns()}


def write(path, facts):
    """Leaves FACTS as JSON."""
    with open(path, "w") as file:
        json.dump(facts, file)


def compute_until(end_ns):
    """Runs pure Python until a time."""
    while now_ns() < end_ns:
        for _ in range(1000):
            pass


def run_threads(functions):
    """Runs each function in a thread of its name; gives the time that it took to join them."""
    threads = [threading.Thread(target=f, name=getattr(f, "__name__", "worker")) for f in functions]
    for thread in threads:
        thread.start()
    start_ns = now_ns()
    for thread in threads:
        thread.join()
    return window(start_ns)
