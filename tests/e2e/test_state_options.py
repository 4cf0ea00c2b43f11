"""How states are asked for, what is said where they cannot be had, and folded stacks of them."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import interpreters
import probes
from runner import under_strace

NOT_POSSIBLE = 125
WITHOUT_PERF = Path(__file__).parent / "without_perf.py"
SLEEP = "import time; time.sleep(0.2)"
# Two threads that compute, and one that sleeps.
BUSY = """
import threading, time
end = time.monotonic() + 0.4
def compute():
    while time.monotonic() < end:
        sum(range(1000))
threads = [threading.Thread(target=compute) for _ in range(2)]
threads.append(threading.Thread(target=time.sleep, args=(0.3,)))
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
STATES = ("running_ns", "runnable_ns", "sleep_ns", "disk_ns", "unknown_ns")


def threads_of(summary):
    return [thread for process in summary["processes"] for thread in process["threads"]]


def check_states(summary):
    """The states of each thread are its life."""
    threads = threads_of(summary)
    assert threads
    for thread in threads:
        assert sum(thread["state"].get(key) or 0 for key in STATES) == thread["total_ns"], thread
    return threads


def meta(folder):
    return json.loads((folder / "meta.json").read_bytes())


def folded_lines(text):
    """(frames, µs) of each line."""
    found = [re.fullmatch(r"(.+) (\d+)", line) for line in text.decode().splitlines()]
    assert all(found), text
    return [(line.group(1).split(";"), int(line.group(2))) for line in found]


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


@contextlib.contextmanager
def full_pipe():
    """Whoever writes to it, waits."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    yield writer
    os.close(writer)
    os.close(reader)


def is_complete(temporary):
    """Whether the recording in it is over."""
    found = list(temporary.glob("*/meta.json"))
    return bool(found) and json.loads(found[0].read_bytes())["complete"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--no-gil-detect", "--no-state-detect"], ["nothing is left to record"]),
            (["--no-gil-detect", "--probe", "uprobe"], ["--probe uprobe", "--no-gil-detect"]),
            (["--no-gil-detect", "--probe", "agent"], ["--probe agent", "--no-gil-detect"]),
            (["--no-gil-detect", "--flight-recorder", "1"], ["--flight-recorder"]),
            (["--no-gil-detect", "--agent-clock", "monotonic"], ["--agent-clock", "no agent"]),
            (["--stack-size", "8K"], ["--stack-size", "--state-detect"]),
            (["--call-graph", "fp"], ["--call-graph", "--state-detect"]),
            (["--state-detect", "--stack-size", "100"], ["'100'", "512 to 65528"]),
            (["--state-detect", "--stack-size", "64K"], ["'64K'", "512 to 65528"]),
            (["--state-detect", "--stack-size", "large"], ["'large'", "512 to 65528"]),
            (["--state-detect", "--call-graph", "lbr"], ["'lbr'", "dwarf, fp"]),
            (["--state-detect", "--call-graph", "fp", "--stack-size", "8K"], ["--stack-size"]),
            (["--counters", "no-such"], ["'no-such'", "minor-faults", "cycles"]),
            (["--counters", "minor-faults", "--no-state-detect"], ["--no-state-detect"]),
            (["--folded", "off-cpu"], ["--folded", "verb"]),
        ],
        ids=lambda value: " ".join(value),
    )
    def test_before_the_program_starts(self, giltrace, arguments, words):
        result = giltrace.run(*arguments, "-c", "open('started', 'w')")
        assert result.status == NOT_POSSIBLE
        lines = result.stderr.splitlines()
        assert lines[0].startswith("giltrace: ")
        assert len(lines) > 1 and all(line.startswith("  ") for line in lines[1:])
        for word in words:
            assert word in result.stderr
        assert os.listdir(giltrace.folder) == []

    @pytest.mark.parametrize(
        "arguments", [["report", "--folded", "on-gil"], ["report", "--no-gil-detect"]]
    )
    def test_of_report(self, giltrace, arguments):
        assert giltrace.run(*arguments).status == NOT_POSSIBLE

    def test_missing_counter(self, giltrace, python, doctor_events):
        if doctor_events["cycles"]:
            pytest.skip("this machine counts cycles")
        result = giltrace.run(
            *["--counters", "minor-faults,cycles", "--python", python.path],
            *["-c", "open('started', 'w')"],
        )
        assert result.status == NOT_POSSIBLE
        assert "this machine has no counter cycles" in result.stderr
        assert os.listdir(giltrace.folder) == []


class TestNoPerfEvents:
    """As by Docker's filter."""

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--no-gil-detect"], "nothing can be recorded: perf_event_open is refused"),
            (["--counters", "minor-faults"], "cannot count minor-faults: perf_event_open is"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_what_was_asked_for_is_refused(self, giltrace, python, arguments, said):
        result = giltrace.run(
            *[*arguments, "--python", python.path, "-c", "open('started', 'w')"],
            prefix=[sys.executable, WITHOUT_PERF],
        )
        assert result.status == NOT_POSSIBLE
        assert said in result.stderr and "docker run" in result.stderr
        assert os.listdir(giltrace.folder) == []


@pytest.fixture
def doctor_events(giltrace, python):
    """Which kinds of events there are."""
    result = giltrace.run("doctor", "--json", "--python", python.path)
    return json.loads(result.stdout)["events"]


class TestRecorded:
    def test_files_and_meta(self, giltrace, python):
        result = giltrace.run(
            *["record", "--state-detect", "--stack-size", "4K", "--keep-data", "data"],
            *["--python", python.path, "-c", SLEEP],
        )
        assert result.status == 0, result.stderr
        assert len(result.stderr.splitlines()) == 1, "nothing is missing"
        written = meta(giltrace.folder / "data")
        assert (written["states"], written["gil_detect"], written["wakeups"]) == (True, True, True)
        assert (written["stacks"]["call_graph"], written["stacks"]["bytes"]) == ("dwarf", 4096)
        assert written["stacks"]["gil_waits"]
        names = set(os.listdir(giltrace.folder / "data"))
        assert {"gil.perf.data", "state.perf.data", "kernel.symbols", "meta.json"} <= names

    def test_an_earlier_recording_leaves_nothing(self, giltrace, python):
        files = giltrace.folder / "data" / "files"
        files.mkdir(parents=True)
        (files / "0123456789abcdef").write_text("old")
        (files / "mine").write_text("mine")
        (files / "2026").write_text("mine, too")
        (giltrace.folder / "data" / "kernel.symbols").write_text("old")
        (giltrace.folder / "data" / "state.perf.data").write_text("old")
        command = ["record", "--keep-data", "data", "--python", python.path, "-c", "pass"]
        assert giltrace.run(*command).status == 0
        assert sorted(os.listdir(files)) == ["2026", "mine"]
        assert not (giltrace.folder / "data" / "kernel.symbols").exists()
        (files / "mine").unlink()
        (files / "2026").unlink()
        (giltrace.folder / "data" / "state.perf.data").write_text("old")
        assert giltrace.run(*command).status == 0
        assert not files.exists()

    def test_files_of_others_stay(self, giltrace, python):
        """Who has never had a recording there, has other files of such names."""
        command = ["record", "--keep-data", "data", "--python", python.path, "-c", "pass"]
        files = giltrace.folder / "data" / "files"
        files.mkdir(parents=True)
        (files / ("0123456789abcdef" * 2)).write_text("mine")
        assert giltrace.run(*command).status == 0
        assert len(os.listdir(files)) == 1
        files.rename(giltrace.folder / "elsewhere")
        files.symlink_to(giltrace.folder / "elsewhere")
        (giltrace.folder / "data" / "state.perf.data").write_text("old")
        assert giltrace.run(*command).status == 0
        assert len(os.listdir(files)) == 1

    def test_nothing_temporary_is_left(self, giltrace, python):
        """Also not when a signal ends giltrace while it reports: here, to nobody who reads."""
        temporary = giltrace.folder / "tmp"
        temporary.mkdir()
        command = ["--state-detect", "--python", python.path, "-o", "out.json", "-c", SLEEP]
        environment = {**os.environ, "TMPDIR": str(temporary)}
        result = giltrace.run(*command, env=environment)
        assert result.status == 0, result.stderr
        assert os.listdir(temporary) == []
        with full_pipe() as nobody:
            process = giltrace.start(*command, env=environment, stderr=nobody)
            wait_for(lambda: is_complete(temporary))
            (kept,) = temporary.iterdir()
            (kept / "files").mkdir(exist_ok=True)
            (kept / "files" / "0123abcd").write_text("code")
            process.terminate()
            assert process.wait(timeout=10) == -signal.SIGTERM
        assert os.listdir(temporary) == []

    def test_counters(self, giltrace, python):
        result = giltrace.trace(
            *["--counters", "minor-faults,task-clock,minor-faults", "--python", python.path],
            *["-c", "b = bytearray(8 << 20)\n" + SLEEP],
        )
        (thread,) = check_states(result.summary)
        assert thread["counters"]["minor_faults"] >= (8 << 20) / 4096 / 2
        assert list(thread["counters"]).count("minor_faults") == 1

    def test_older_recordings_are_read(self, giltrace, python):
        """What a version has written that knew nothing of stacks."""
        giltrace.run(
            *["record", "--state-detect", "--keep-data", "data", "--python", python.path],
            *["-c", SLEEP],
        )
        path = giltrace.folder / "data" / "meta.json"
        written = json.loads(path.read_bytes())
        for key in ("gil_detect", "wakeups", "stacks"):
            del written[key]
        del written["python"]["root"]
        path.write_text(json.dumps(written))
        result = giltrace.run("report", "--summary-json", "sum.json", "data")
        assert result.status == 0, result.stderr
        check_states(json.loads((giltrace.folder / "sum.json").read_bytes()))


class TestWithoutGil:
    def test_figures(self, giltrace, any_interpreter):
        result = giltrace.workload(
            any_interpreter,
            "busy_threads",
            0.5,
            2,
            options=["--no-gil-detect", "--keep-data", "data"],
        )
        threads = check_states(result.summary)
        assert result.summary["probe"] == "none"
        for thread in threads:
            assert thread["has_gil_ns"] is None and thread["gil_wait_ns"] is None
        assert sum(thread["state"]["sleep_gil_ns"] for thread in threads) > 0
        assert not (giltrace.folder / "data" / "gil.perf.data").exists()
        assert meta(giltrace.folder / "data")["gil_detect"] is False

    def test_tracefs_is_not_written(self, giltrace, python):
        if not shutil.which("strace"):
            pytest.skip("strace is not installed")
        log = giltrace.folder / "strace.log"
        result = giltrace.run(
            *["record", "--no-gil-detect", "--python", python.path, "-c", "pass"],
            prefix=["strace", "-f", "-o", log, "-e", "trace=%file,perf_event_open"],
            env={**os.environ, **under_strace()},
        )
        assert result.status == 0, result.stderr
        calls = [line for line in log.read_text().splitlines() if "perf_event_open" not in line]
        assert len(calls) < len(log.read_text().splitlines()), "something was recorded"
        of_tracefs = [call for call in calls if re.search(r"/sys/kernel/(tracing|debug)", call)]
        assert of_tracefs, "formats are read"
        for call in of_tracefs:
            assert not re.search(r"O_WRONLY|O_RDWR|O_CREAT|\bmkdir|\bunlink|\brename", call), call
            assert not re.search(r"\w+_events", call), call

    def test_nothing_is_said_of_a_gil_that_is_off(self, giltrace):
        found = interpreters.free_threaded()
        if not found:
            pytest.skip("no free-threaded Python was found")
        for python in found:
            result = giltrace.run(
                *["record", "--no-gil-detect", "--python", python.path, "-c", "pass"],
                env={**os.environ, "PYTHON_GIL": "0"},
            )
            assert result.status == 0
            assert len(result.stderr.splitlines()) == 1, result.stderr

    def test_one_part_alone_is_refused(self, giltrace, python):
        giltrace.run("record", "--no-gil-detect", "--python", python.path, "-c", "pass")
        result = giltrace.run("report", "giltrace.data/state.perf.data")
        assert result.status == NOT_POSSIBLE
        assert "giltrace report giltrace.data" in result.stderr

    def test_missing_states(self, giltrace, python):
        giltrace.run("record", "--no-gil-detect", "--python", python.path, "-c", "pass")
        (giltrace.folder / "giltrace.data" / "state.perf.data").unlink()
        result = giltrace.run("report")
        assert result.status == NOT_POSSIBLE
        assert "state.perf.data" in result.stderr


class TestPlainUser:
    MISSING = "reasons of sleeps, stacks and wake-ups are missing"

    def paranoid(self):
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            return int(file.read())

    def check_message(self, result):
        assert self.MISSING in result.stderr
        if self.paranoid() > -1:
            assert f"(perf_event_paranoid is {self.paranoid()})" in result.stderr
            assert "run giltrace as root" in result.stderr
            assert "sudo sysctl kernel.perf_event_paranoid=-1" in result.stderr
            assert "sudo mount -o remount" in result.stderr

    def test_context_switches_are_left(self, as_user, system_python):
        result = as_user(
            *["--state-detect", "--summary-json", "sum.json", "-o", "out.json"],
            *["--python", system_python.path, "-c", BUSY],
        )
        assert result.status == 0, result.stderr
        self.check_message(result)
        threads = check_states(json.loads((as_user.home / "sum.json").read_bytes()))
        assert sum(thread["state"]["running_ns"] for thread in threads) > 0
        assert sum(thread["state"]["sleep_ns"] for thread in threads) > 0
        assert all(thread["gil_wait_ns"] is not None for thread in threads)

    def test_without_gil(self, as_user, system_python):
        result = as_user(
            *["--no-gil-detect", "--keep-data", "data", "--summary-json", "sum.json"],
            *["-o", "out.json", "--python", system_python.path, "-c", BUSY],
        )
        assert result.status == 0, result.stderr
        self.check_message(result)
        assert "which sleeps are for the GIL is not known" in result.stderr
        threads = check_states(json.loads((as_user.home / "sum.json").read_bytes()))
        assert all(thread["state"]["sleep_gil_ns"] is None for thread in threads)
        written = meta(as_user.home / "data")
        assert (written["stacks"], written["wakeups"]) == (None, False)
        result = as_user("report", "--folded", "off-gil", "data")
        assert result.status == NOT_POSSIBLE
        assert "--state-detect" in result.stderr

    def test_counters(self, as_user, system_python):
        result = as_user(
            *["--counters", "minor-faults", "--summary-json", "sum.json", "-o", "out.json"],
            *["--python", system_python.path, "-c", "b = bytearray(8 << 20)"],
        )
        assert result.status == 0, result.stderr
        (thread,) = threads_of(json.loads((as_user.home / "sum.json").read_bytes()))
        assert thread["counters"]["minor_faults"] > 0

    def test_doctor(self, as_user, system_python):
        result = as_user("doctor", "--json", "--python", system_python.path)
        states = json.loads(result.stdout)["states"]
        assert (states["works"], states["stacks"]) == (True, self.paranoid() < 0)
        assert "sudo sysctl" in states["stacks_problem"] or self.paranoid() < 0


class TestSomeRights:
    """What a user has without being root."""

    def record(self, giltrace, plain_user, open_program, python, capabilities):
        folder = open_program.parent / "home"
        folder.mkdir()
        os.chown(folder, plain_user.pw_uid, plain_user.pw_gid)
        names = ",".join(f"+{name}" for name in capabilities)
        ids = [f"--reuid={plain_user.pw_uid}", f"--regid={plain_user.pw_gid}", "--clear-groups"]
        result = giltrace.run(
            *["record", "--state-detect", "--python", python.path, "-c", SLEEP],
            prefix=["setpriv", *ids, f"--inh-caps={names}", f"--ambient-caps={names}"],
            binary=open_program,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
        )
        assert result.status == 0, result.stderr
        return result, meta(folder / "giltrace.data")

    def test_perf_events_alone(self, giltrace, plain_user, open_program, system_python):
        result, written = self.record(
            giltrace, plain_user, open_program, system_python, ["perfmon"]
        )
        assert f"{probes.TRACEFS} cannot be read" in result.stderr
        assert "sudo mount -o remount,mode=755,gid=$(id -g)" in result.stderr
        assert "sysctl" not in result.stderr
        assert (written["states"], written["stacks"]) == (True, None)

    def test_perf_events_and_files(self, giltrace, plain_user, open_program, system_python):
        result, written = self.record(
            giltrace, plain_user, open_program, system_python, ["perfmon", "dac_read_search"]
        )
        assert len(result.stderr.splitlines()) == 1, "nothing is missing"
        assert written["stacks"] and written["wakeups"]

    def test_pid_namespace(self, giltrace, python):
        """There, wake-ups are of threads with other numbers."""
        result = giltrace.run(
            *["record", "--state-detect", "--keep-data", "data", "--python", python.path],
            *["-c", SLEEP],
            prefix=["unshare", "--pid", "--fork", "--mount-proc"],
        )
        assert result.status == 0, result.stderr
        assert "wake-ups are missing" in result.stderr and "PID namespace" in result.stderr
        written = meta(giltrace.folder / "data")
        assert (bool(written["stacks"]), written["wakeups"]) == (True, False)


class TestFolded:
    @pytest.fixture
    def recorded(self, giltrace, python):
        result = giltrace.run(
            *["record", "--state-detect", "--keep-data", "data", "--python", python.path],
            *["-c", BUSY],
        )
        assert result.status == 0, result.stderr
        return giltrace

    def folded(self, giltrace, kind):
        result = giltrace.run("report", "--folded", kind, "--summary-json", "sum.json", "data")
        assert (result.status, result.stderr) == (0, ""), "no summary, and no warning"
        return folded_lines(result.stdout), json.loads((giltrace.folder / "sum.json").read_bytes())

    def test_off_cpu(self, recorded):
        lines, summary = self.folded(recorded, "off-cpu")
        expected = sum(
            thread["state"][key] or 0
            for thread in threads_of(summary)
            for key in ("runnable_ns", "sleep_ns", "disk_ns")
        )
        assert sum(us for _, us in lines) == pytest.approx(expected / 1000, abs=len(lines))
        assert any(any("take_gil" in frame for frame in frames) for frames, _ in lines)

    def test_off_gil(self, recorded):
        lines, summary = self.folded(recorded, "off-gil")
        expected = sum(thread["gil_wait_ns"] for thread in threads_of(summary))
        assert sum(us for _, us in lines) == pytest.approx(expected / 1000, abs=len(lines))

    def test_without_states(self, giltrace, python):
        giltrace.run("record", "--keep-data", "data", "--python", python.path, "-c", BUSY)
        result = giltrace.run("report", "--folded", "off-cpu", "data")
        assert (result.status, result.stdout) == (NOT_POSSIBLE, b"")
        assert "record with --state-detect" in result.stderr
        result = giltrace.run(
            *["report", "--folded", "off-gil", "--summary-json", "sum.json", "data"]
        )
        assert result.status == 0
        assert "there are no stacks" in result.stderr
        lines = folded_lines(result.stdout)
        summary = json.loads((giltrace.folder / "sum.json").read_bytes())
        expected = sum(thread["gil_wait_ns"] for thread in threads_of(summary))
        assert sum(us for _, us in lines) == pytest.approx(expected / 1000, abs=len(lines))

    def test_full_disk(self, recorded):
        with open("/dev/full", "w") as full:
            result = recorded.run("report", "--folded", "off-cpu", "data", stdout=full)
        assert result.status == NOT_POSSIBLE


class TestPerf:
    """Recordings of stock perf."""

    def test_sched_switch(self, giltrace, python, perf):
        """Neither meta.json nor events of the GIL are there."""
        subprocess.run(
            [
                *[
                    "perf",
                    "record",
                    "-q",
                    "-o",
                    "perf.data",
                    "-k",
                    "CLOCK_MONOTONIC",
                    "-e",
                    "sched:sched_switch",
                ],
                *["--call-graph", "dwarf", "--switch-events", python.path],
                *["-c", f"import os; os.fork() and os.wait(); {SLEEP}"],
            ],
            cwd=giltrace.folder,
            check=True,
            capture_output=True,
        )
        result = giltrace.run("report", "--summary-json", "sum.json", "perf.data")
        assert result.status == 0, result.stderr
        summary = json.loads((giltrace.folder / "sum.json").read_bytes())
        assert summary["probe"] == "none"
        assert "--no-gil-detect" not in result.stderr and "Not traced" not in result.stderr
        threads = check_states(summary)
        assert len(threads) == 2, "a child is shown, too"
        for thread in threads:
            assert thread["state"]["sleep"]["sleep"] == pytest.approx(0.2e9, rel=0.2)
        result = giltrace.run("report", "--folded", "off-cpu", "perf.data")
        assert (result.status, result.stderr) == (0, "")
        assert any(
            "sleep" in frame for frames, _ in folded_lines(result.stdout) for frame in frames
        )
