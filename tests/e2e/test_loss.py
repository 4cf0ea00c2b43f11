"""Lost events: counted, said, and never turned into figures."""

import os
import signal
import time

from runner import WORKLOADS


def test_what_was_lost_is_unknown(giltrace, some_interpreter):
    """giltrace is stopped for a while, so that its small rings must overflow."""
    facts = giltrace.folder / "facts.json"
    process = giltrace.start(
        *giltrace.outputs(),
        *["--buffer-size", "64K", "--python", some_interpreter.path],
        *[WORKLOADS / "round_trips.py", facts, "200000", "2"],
    )
    time.sleep(0.6)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.4)
    os.kill(process.pid, signal.SIGCONT)
    result = giltrace.finish(process)
    assert result.status == 0, result.stderr
    giltrace.collect(result)
    result.timeline.check()
    assert result.summary["lost"] > 100
    assert "lost" in result.stderr
    threads = [result.timeline.threads[loop["tid"]] for loop in result.facts["loops"]]
    unknown = sum(thread["unknown_ns"] for thread in threads)
    assert unknown >= 0.3e9, "events were lost for 0.4 s of two threads"


def test_states_behind_a_break_are_unknown(giltrace, python):
    """The last state of a thread that a broken file tells of says nothing of what came then."""
    data = giltrace.folder / "data"
    result = giltrace.run(
        *["record", "--state-detect", "--probe", "agent", "--keep-data", data],
        *["--python", python.path, "-c"],
        "import time\nfor _ in range(2000): time.sleep(1e-4)",
    )
    assert result.status == 0, result.stderr
    path = data / "state.perf.data"
    content = bytearray(path.read_bytes())
    start = len(content) // 3
    content[start : start + (1 << 15)] = bytes(1 << 15)  # more than a stack
    path.write_bytes(content)

    result = giltrace.run("report", *giltrace.outputs(), data)
    assert result.status == 0, result.stderr
    giltrace.collect(result)
    assert "is not known any more from there on" in result.stderr
    (thread,) = result.summary["processes"][0]["threads"]
    state = thread["state"]
    assert state["unknown_ns"] >= 0.4 * thread["total_ns"]
    assert state["running_ns"] + state["sleep_ns"] > 0.05 * thread["total_ns"]
    kinds = ("running_ns", "runnable_ns", "sleep_ns", "disk_ns", "unknown_ns")
    assert sum(state[kind] for kind in kinds) == thread["total_ns"]
