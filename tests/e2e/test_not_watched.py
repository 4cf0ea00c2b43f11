"""Where the agent has not seen a Python, or not all of it, nothing is claimed."""

import os
import time

import pytest

START = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'sum(range(10**6))'], {})"
WAYS = {
    "environment": "env={}",
    "user": "user='nobody'",
    "memory": "preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))",
}


@pytest.mark.parametrize("way", WAYS)
def test_python_without_the_agent(giltrace, system_python, way):
    python = system_python
    if way == "user" and python.minor < 9:
        pytest.skip("subprocess knows no user before 3.9")
    code = "import resource\n" + START.replace("{}", WAYS[way])
    result = giltrace.trace("--probe", "agent", "--python", python.path, "-c", code)
    _, child = result.summary["processes"]
    assert child["ppid"] == result.summary["processes"][0]["pid"]
    (thread,) = child["threads"]
    for figure in ("no_gil_ns", "has_gil_ns", "gil_wait_ns", "acquired", "contended"):
        assert thread[figure] is None, figure
    assert thread["unknown_ns"] > 0.5 * thread["total_ns"] > 0
    assert result.stderr.count("Not watched: 1 process whose Python did not load") == 1
    (row,) = (line for line in result.stderr.splitlines() if f"{thread['tid']}*" in line)
    assert row.split()[2:9] == ["-"] * 7


def test_not_said_with_probes(giltrace, python):
    code = START.replace("{}", "env={}")
    result = giltrace.trace("--probe", "uprobe", "--python", python.path, "-c", code)
    _, child = result.summary["processes"]
    assert child["threads"][0]["acquired"] > 0
    assert "Not watched" not in result.stderr


def test_child_that_is_no_python_is_not_counted(giltrace, python):
    code = "import os, subprocess\nsubprocess.run(['/bin/true'], env={})\nos.fork() or os._exit(0)"
    result = giltrace.trace("--probe", "agent", "--python", python.path, "-c", code)
    assert "Not watched" not in result.stderr


BUSY = (
    "import threading, time\n"
    "def spin(end):\n"
    "    while time.monotonic() < end: pass\n"
    "end = time.monotonic() + 1\n"
    "a = [threading.Thread(target=spin, args=(end,)) for _ in range(2)]\n"
    "[t.start() for t in a]; [t.join() for t in a]"
)


def report(giltrace):
    result = giltrace.run("report", *giltrace.outputs(), "data")
    assert result.status == 0, result.stderr
    return giltrace.collect(result)


def test_agent_file_that_was_cut_off(giltrace, python):
    """The kernel tells of the threads to their end; the GIL is known up to the cut."""
    recorded = giltrace.run(
        *["record", "--probe", "agent", "--keep-data", "data", "--python", python.path],
        *["-c", BUSY],
    )
    assert recorded.status == 0, recorded.stderr
    path = giltrace.folder / "data" / "gil.agent"
    os.truncate(path, path.stat().st_size // 2)
    result = report(giltrace)
    assert "was cut off" in result.stderr
    assert "no thread used the GIL" not in result.stderr
    threads = result.summary["processes"][0]["threads"]
    assert len(threads) == 3
    for thread in threads:
        assert thread["unknown_ns"] > 0.2e9
        if thread["has_gil_ns"] is not None:
            parts = ("no_gil_ns", "has_gil_ns", "gil_wait_ns", "unknown_ns")
            assert sum(thread[part] for part in parts) == thread["total_ns"]


def test_agent_file_without_a_block(giltrace, python):
    giltrace.run(
        *["record", "--probe", "agent", "--keep-data", "data", "--python", python.path],
        *["-c", "pass"],
    )
    os.truncate(giltrace.folder / "data" / "gil.agent", 32)
    result = report(giltrace)
    assert "no thread used the GIL" not in result.stderr
    (thread,) = result.summary["processes"][0]["threads"]
    assert thread["acquired"] is None and thread["has_gil_ns"] is None
    assert thread["unknown_ns"] == thread["total_ns"] > 0


@pytest.mark.parametrize("way", ["agent", "uprobe"])
def test_killed_giltrace_leaves_states(giltrace, python, way):
    """Of all files what was written until a second before, at least."""
    process = giltrace.start(
        *["record", "--probe", way, "--state-detect", "--keep-data", "data"],
        *["--python", python.path, "-c", "print(1, flush=True)\n" + BUSY.replace("+ 1", "+ 4")],
    )
    assert process.stdout.read(1) == b"1"
    time.sleep(2.5)
    process.kill()
    process.communicate()
    result = report(giltrace)
    assert "not finished, or is broken" not in result.stderr
    assert "broken" not in result.stderr
    workers = [t for t in result.summary["processes"][0]["threads"] if not t["main"]]
    assert len(workers) == 2
    for thread in workers:
        assert thread["state"]["running_ns"] > 0.1e9
        parts = ("running_ns", "runnable_ns", "sleep_ns", "disk_ns", "unknown_ns")
        assert sum(thread["state"][part] for part in parts) == thread["total_ns"]
        assert thread["state"]["sleep_gil_ns"] > 0.1e9
        assert thread["has_gil_ns"] > 0.1e9
    # What it left behind besides, goes at the next start.
    again = giltrace.run("--probe", way, "--python", python.path, "-o", "again.json", "-c", "")
    assert again.status == 0, again.stderr


class TestFlightRecorder:
    @pytest.mark.parametrize("seconds", ["0.001", "0.02"])
    def test_short_window(self, giltrace, python, seconds):
        """It counts back from the end of the program, and not from giltrace's."""
        result = giltrace.trace(
            *["--flight-recorder", seconds, "--python", python.path],
            *["-c", "import json, threading; [time for time in range(10**6)]; print(1)"],
        )
        assert "no thread used the GIL" not in result.stderr
        assert "were kept (--flight-recorder): lives are cut to it.\n" in result.stderr
        assert result.summary["kept_ns"] == float(seconds) * 1e9
        (thread,) = result.summary["processes"][0]["threads"]
        assert 0 < thread["total_ns"] < float(seconds) * 1e9 + 60e6
        assert thread["unknown_ns"] + (thread["has_gil_ns"] or 0) > 0

    def test_kept_whole(self, giltrace, python):
        result = giltrace.trace("--flight-recorder", "60", "--python", python.path, "-c", "pass")
        assert result.summary["kept_ns"] == 60e9
        assert "were kept" not in result.stderr

    def test_of_another_run_nothing_is_kept(self, giltrace, python):
        result = giltrace.trace("--probe", "agent", "--python", python.path, "-c", "pass")
        assert result.summary["kept_ns"] is None
