"""Threads and processes of all kinds under the agent: nothing hangs, and nothing is left behind."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_numbers import has_multiprocessing

from timeline import overlap_ns
from undisturbed import undisturbed

AGENT = ("--probe", "agent")
WITHOUT_PERF = (sys.executable, Path(__file__).parent / "without_perf.py")


def shared_memory():
    """All but the semaphores of multiprocessing, which other programs on the machine may have."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.mp-")}


@pytest.fixture(autouse=True)
def _nothing_in_shared_memory():
    before = shared_memory()
    yield
    assert shared_memory() <= before


def acquired(summary):
    return {
        thread["tid"]: thread["acquired"]
        for process in summary["processes"]
        for thread in process["threads"]
    }


@pytest.fixture(params=["perf", "no perf"])
def prefix(request):
    """With the kernel's word on threads and processes, and by the agent alone."""
    return () if request.param == "perf" else WITHOUT_PERF


def test_a_thousand_threads(giltrace, some_interpreter, prefix):
    giltrace.timelines = False
    result = giltrace.workload(
        some_interpreter, "thousand_threads", 1000, options=AGENT, prefix=prefix
    )
    assert result.summary["lost"] == 0
    counts = acquired(result.summary)
    assert len(set(result.facts["tids"])) == 1000
    assert all(counts[tid] > 0 for tid in result.facts["tids"])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_two_hundred_processes(giltrace, python, prefix, method):
    if not has_multiprocessing(python):
        pytest.skip("multiprocessing does not work in this Python")
    giltrace.timelines = False
    result = giltrace.workload(python, "many_processes", 200, method, options=AGENT, prefix=prefix)
    assert result.summary["lost"] == 0
    counts = acquired(result.summary)
    assert len(set(result.facts["tids"])) == 200
    assert all(counts.get(tid, 0) > 0 for tid in result.facts["tids"])


@undisturbed
def test_fork_from_a_thread_that_holds_the_gil(giltrace, interpreter, prefix):
    result = giltrace.workload(interpreter, "fork_in_thread", options=AGENT, prefix=prefix)
    result.timeline.check()
    assert result.summary["inferred"] == 0
    (child,) = result.facts["children"]
    process = next(p for p in result.summary["processes"] if p["pid"] == child["pid"])
    parent = next(p for p in result.summary["processes"] if p["pid"] != child["pid"])
    assert process["ppid"] == parent["pid"]
    held = overlap_ns(result.timeline.held[child["tid"]], child["start_ns"], child["end_ns"])
    assert held / (child["end_ns"] - child["start_ns"]) > 0.99


def test_subprocess_that_is_no_python(giltrace, some_interpreter, prefix):
    code = (
        "import subprocess, threading\n"
        "threading.Thread(target=int).start()\n"
        "subprocess.run(['sleep', '0.2'], check=True)\n"
        "subprocess.run(['sh', '-c', 'xz -T2 </dev/null | xz -d; ls / | sort'], check=True)"
    )
    result = giltrace.trace(*AGENT, "--python", some_interpreter.path, "-c", code, prefix=prefix)
    result.timeline.check()
    assert len([p for p in result.summary["processes"] if p["gils"]]) == 1


@undisturbed
def test_program_that_execs_itself(giltrace, some_interpreter, prefix):
    result = giltrace.workload(some_interpreter, "exec_itself", options=AGENT, prefix=prefix)
    result.timeline.check()
    (busy,) = result.facts["busy"]
    held = overlap_ns(result.timeline.held[busy["tid"]], busy["start_ns"], busy["end_ns"])
    assert held / (busy["end_ns"] - busy["start_ns"]) > 0.99


@pytest.mark.parametrize("ending", ["os._exit(3)", "sys.exit(3)", "os.kill(os.getpid(), 9)"])
def test_ends_of_a_program(giltrace, python, prefix, ending):
    """What was noted until then is there, however it ends."""
    code = (
        "import os, sys, threading, time\n"
        "null = os.open(os.devnull, os.O_WRONLY)\n"
        "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "for _ in range(10000): os.write(null, b'')\n" + ending
    )
    result = giltrace.run(
        *giltrace.outputs(), *AGENT, "--python", python.path, "-c", code, prefix=prefix
    )
    assert result.status == (137 if "kill" in ending else 3), result.stderr
    giltrace.collect(result)
    result.timeline.check()
    assert max(acquired(result.summary).values()) >= 10000
    assert result.summary["lost"] == 0


def test_target_is_killed(giltrace, python):
    code = "import time; print(1, flush=True)\nwhile True: time.sleep(0.001)"
    process = giltrace.start(*giltrace.outputs(), *AGENT, "--python", python.path, "-c", code)
    assert process.stdout.read(1) == b"1"
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    time.sleep(0.3)
    os.kill(int(children[0]), signal.SIGKILL)
    result = giltrace.finish(process)
    assert result.status == 137
    giltrace.collect(result).timeline.check()
    assert max(acquired(result.summary).values()) > 100


def test_giltrace_is_killed(giltrace, python):
    """The program goes on as if nothing was, and what was recorded until then can be reported."""
    done = giltrace.folder / "done"
    code = (
        "import os, sys, threading, time\n"
        "null = os.open(os.devnull, os.O_WRONLY)\n"
        "print(1, flush=True)\n"
        "end = time.monotonic() + 1.5\n"
        "while time.monotonic() < end: os.write(null, b'')\n"
        "threading.Thread(target=int).start()\n"
        f"open({str(done)!r}, 'w').close()"
    )
    process = giltrace.start(
        "record", "--keep-data", "data", *AGENT, "--python", python.path, "-c", code
    )
    assert process.stdout.read(1) == b"1"
    time.sleep(0.5)
    process.kill()
    process.wait()
    for _ in range(100):
        if done.exists():
            break
        time.sleep(0.05)
    assert done.exists(), "the program died with giltrace"
    report = giltrace.run("report", *giltrace.outputs(), "data")
    assert report.status == 0, report.stderr
    assert "cut off" in report.stderr
    giltrace.collect(report).timeline.check()
    assert max(acquired(report.summary).values()) > 10000


def test_child_that_outlives_the_target(giltrace, python):
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    time.sleep(1); [os.stat('/') for _ in range(100000)]\n"
        "    open(sys.argv[1], 'w').close(); os._exit(0)"
    )
    alive = giltrace.folder / "alive"
    result = giltrace.run("-q", *AGENT, "--python", python.path, "-c", code, alive)
    assert result.status == 0, result.stderr
    for _ in range(100):
        if alive.exists():
            return
        time.sleep(0.05)
    raise AssertionError("the orphan died")


def test_errno_is_kept(giltrace, python):
    """The first moment of a thread attaches it, which makes system calls of its own."""
    code = (
        "import ctypes, os, threading\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def look():\n"
        "    for _ in range(1000):\n"
        "        assert libc.close(-1) == -1 and ctypes.get_errno() == 9, ctypes.get_errno()\n"
        "threads = [threading.Thread(target=look) for _ in range(20)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]; print('kept')"
    )
    result = giltrace.run("-q", *AGENT, "--python", python.path, "-c", code)
    assert result.stdout == b"kept\n", result.stderr


def test_signal_handlers(giltrace, python):
    code = (
        "import os, signal, time\n"
        "count = 0\n"
        "def handler(*_):\n"
        "    global count; count += 1\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\n"
        "end = time.monotonic() + 1\n"
        "null = os.open(os.devnull, os.O_WRONLY)\n"
        "while time.monotonic() < end: os.write(null, b'')\n"
        "signal.setitimer(signal.ITIMER_REAL, 0); print(count > 100)"
    )
    result = giltrace.trace(*AGENT, "--python", python.path, "-c", code)
    assert result.stdout == b"True\n"
    result.timeline.check()
    assert result.summary["inferred"] == 0


def test_tight_loop_loses_nothing(giltrace, python):
    """Ten seconds of the most that one thread can do."""
    code = (
        "import os, time\n"
        "null = os.open(os.devnull, os.O_WRONLY); count = 0\n"
        "end = time.monotonic() + 10\n"
        "while time.monotonic() < end:\n"
        "    for _ in range(1000): os.write(null, b'')\n"
        "    count += 1000\n"
        "print(count)"
    )
    summary = giltrace.folder / "summary.json"
    result = giltrace.run(
        *["record", "--keep-data", "data", *AGENT, "--python", python.path, "-c", code]
    )
    assert result.status == 0, result.stderr
    result = (giltrace.run("report", "--summary-json", summary, "data"), int(result.stdout))
    check_tight_loop(giltrace, *result)


def check_tight_loop(giltrace, report, count):
    giltrace.timelines = False
    summary = giltrace.collect(report).summary
    (thread,) = summary["processes"][0]["threads"]
    assert thread["acquired"] + summary["lost"] >= count
    assert summary["inferred"] == 0
    assert thread["total_ns"] == sum(
        thread[key] for key in ("has_gil_ns", "gil_wait_ns", "no_gil_ns", "unknown_ns")
    )
    if summary["lost"] == 0:
        assert thread["unknown_ns"] == 0
        assert 0 <= thread["acquired"] - count <= 0.01 * count


def test_full_memory_is_counted_exactly(giltrace, python):
    """While giltrace is stopped nobody empties the memory; every moment is noted or counted."""
    count = 300000
    code = (
        "import os, sys\n"
        "null = os.open(os.devnull, os.O_WRONLY)\n"
        "print(1, flush=True); sys.stdin.read(1)\n"
        f"for _ in range({count}): os.write(null, b'')\n"
        "print(2, flush=True); sys.stdin.read(1)"
    )
    options = ["--buffer-size", "1M", *AGENT, "--python", python.path]
    process = giltrace.start(*giltrace.outputs(), *options, "-c", code, stdin=subprocess.PIPE)
    assert process.stdout.read(2) == b"1\n"
    process.send_signal(signal.SIGSTOP)
    process.stdin.write(b"x")
    process.stdin.flush()
    assert process.stdout.read(2) == b"2\n"
    process.send_signal(signal.SIGCONT)
    result = giltrace.finish(process, b"x")
    assert result.status == 0, result.stderr
    giltrace.collect(result).timeline.check()
    summary = result.summary
    assert summary["lost"] > 100000
    assert 2 * count <= summary["events"] + summary["lost"] <= 2 * count + 20000
    (thread,) = summary["processes"][0]["threads"]
    assert thread["unknown_ns"] > 0
    assert re.search(rf"Lost: {summary['lost']} events", result.stderr)


@undisturbed
def test_flight_recorder_keeps_the_newest(giltrace, python):
    code = (
        "import os, threading, time\n"
        "null = os.open(os.devnull, os.O_WRONLY)\n"
        "early = threading.Thread(target=os.write, args=(null, b'')); early.start(); early.join()\n"
        "end = time.monotonic() + 3\n"
        "while time.monotonic() < end: os.write(null, b'')"
    )
    result = giltrace.trace(*AGENT, "--flight-recorder", "1", "--python", python.path, "-c", code)
    result.timeline.check()
    assert 0.9e9 <= result.summary["end_ns"] - result.summary["start_ns"] <= 1.2e9
    (process,) = result.summary["processes"]
    assert len(process["threads"]) == 1, "the early thread had ended before"
