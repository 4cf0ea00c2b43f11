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
        *[WORKLOADS / "round_trips.py", facts, "100000", "2"],
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
