"""Children of the traced program: forked, spawned, and not Python at all."""

import time

from timeline import overlap_ns
from undisturbed import undisturbed


@undisturbed
def test_fork_from_a_thread_that_holds_the_gil(giltrace, interpreter):
    result = giltrace.workload(interpreter, "fork_in_thread")
    result.timeline.check()
    (child,) = result.facts["children"]
    process = next(p for p in result.summary["processes"] if p["pid"] == child["pid"])
    parent = next(p for p in result.summary["processes"] if p["pid"] != child["pid"])
    assert process["ppid"] == parent["pid"]
    assert len(process["threads"]) == 1
    held = overlap_ns(result.timeline.held[child["tid"]], child["start_ns"], child["end_ns"])
    assert held / (child["end_ns"] - child["start_ns"]) > 0.99


def test_subprocess_that_is_no_python(giltrace, some_interpreter):
    code = (
        "import subprocess, threading\n"
        "threading.Thread(target=int).start()\n"  # 3.6 has no GIL before its first thread
        "subprocess.run(['sleep', '0.2'], check=True)"
    )
    result = giltrace.trace("--python", some_interpreter.path, "-c", code)
    result.timeline.check()
    with_gil = [p for p in result.summary["processes"] if p["gils"]]
    assert len(with_gil) == 1
    (main,) = (thread for thread in with_gil[0]["threads"] if thread["main"])
    assert main["no_gil_ns"] >= 0.19e9, "the main thread waits for its child without the GIL"


@undisturbed
def test_program_that_execs_itself(giltrace, some_interpreter):
    result = giltrace.workload(some_interpreter, "exec_itself")
    result.timeline.check()
    (busy,) = result.facts["busy"]
    held = overlap_ns(result.timeline.held[busy["tid"]], busy["start_ns"], busy["end_ns"])
    assert held / (busy["end_ns"] - busy["start_ns"]) > 0.99


def test_child_that_outlives_the_target(giltrace, python):
    """Events stop with the target; its orphan runs on unharmed, and no probe stays for it."""
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    time.sleep(1); open(sys.argv[1], 'w').close(); os._exit(0)"
    )
    alive = giltrace.folder / "alive"
    result = giltrace.run("-q", "--python", python.path, "-c", code, alive)
    assert result.status == 0, result.stderr
    for _ in range(100):
        if alive.exists():
            return
        time.sleep(0.05)
    raise AssertionError("the orphan died")
