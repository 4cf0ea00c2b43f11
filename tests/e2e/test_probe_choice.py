"""Which way the GIL is watched, and that a program runs all the same when there is none."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

import probes
from runner import agent_file, under_strace, unsanitized

WITHOUT_PERF = Path(__file__).parent / "without_perf.py"
PRINT_ENVIRONMENT = (
    "import os; print(*(os.environ.get(n, '-') for n in ('LD_PRELOAD', 'GILTRACE_AGENT')))"
)
EXIT_7 = "print('ran'); raise SystemExit(7)"


def meta(folder):
    return json.loads((folder / "meta.json").read_bytes())


def version_offset(image, path):
    """Where the agent's file has its version."""
    done = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    found = re.search(r"\.giltrace\.agent\s+\w+\s+\w+\s+(\w+)\s+(\w+)", done.stdout)
    assert int(found.group(2), 16) == 4
    return int(found.group(1), 16)


@pytest.fixture
def changed_agent(tmp_path):
    """Makes a copy of the agent with other bytes at some offset."""

    def change(bytes_, offset=None):
        image = bytearray(agent_file().read_bytes())
        offset = version_offset(image, agent_file()) if offset is None else offset
        image[offset : offset + len(bytes_)] = bytes_
        path = tmp_path / "changed-agent.so"
        path.write_bytes(image)
        return path

    return change


class TestChoice:
    def test_root_has_probes(self, giltrace, python):
        giltrace.run("record", "--keep-data", "data", "--python", python.path, "-c", "pass")
        data = giltrace.folder / "data"
        assert meta(data)["probe"] == "uprobe"
        assert sorted(os.listdir(data)) == ["gil.perf.data", "meta.json"]

    def test_plain_user_has_the_agent(self, as_user, system_python):
        result = as_user(
            *["record", "--keep-data", "data", "--python", system_python.path],
            *["-c", "print('ran')"],
        )
        assert (result.status, result.stdout) == (0, b"ran\n"), result.stderr
        assert len(result.stderr.splitlines()) == 1, "nothing is missing"
        assert meta(as_user.home / "data")["probe"] == "agent"
        assert meta(as_user.home / "data")["agent_clock"] in ("tsc", "monotonic")

    def test_plain_user_has_a_report(self, as_user, system_python):
        result = as_user(
            *["--summary-json", "sum.json", "-o", "out.json", "--state-detect"],
            *["--python", system_python.path, "-c", "pass"],
        )
        assert result.status == 0, result.stderr
        summary = json.loads((as_user.home / "sum.json").read_bytes())
        assert (summary["probe"], summary["lost"]) == ("agent", 0)
        (thread,) = summary["processes"][0]["threads"]
        assert thread["acquired"] > 10 and thread["state"]["running_ns"] > 0

    def test_plain_user_tries_nothing_that_needs_rights(self, as_user, system_python):
        if not shutil.which("strace"):
            pytest.skip("strace is not installed")
        log = as_user.home / "strace.log"
        result = as_user(
            *["record", "--keep-data", "data", "--state-detect"],
            *["--python", system_python.path, "-c", "pass"],
            prefix=["strace", "-f", "-o", log],
            environment=under_strace(),
        )
        assert result.status == 0, result.stderr
        calls = log.read_text()
        assert "execve" in calls and "perf_event_open" in calls
        for privileged in (r"\bmount\(", "uprobe_events", r"\b\w+\(.*/sys/kernel/(tracing|debug)"):
            assert not re.search(privileged, calls), privileged
        assert meta(as_user.home / "data")["states"] is True

    @pytest.mark.parametrize(
        ("way", "files"),
        [
            ("uprobe", ["gil.perf.data", "meta.json"]),
            ("agent", ["gil.agent", "gil.perf.data", "meta.json"]),
            ("both", ["gil.agent", "gil.perf.data", "meta.json"]),
        ],
    )
    def test_by_name(self, giltrace, python, way, files):
        result = giltrace.run(
            *["record", "--probe", way, "--keep-data", "data", "--python", python.path],
            *["-c", EXIT_7],
        )
        assert (result.status, result.stdout) == (7, b"ran\n"), result.stderr
        assert meta(giltrace.folder / "data")["probe"] == way
        assert sorted(os.listdir(giltrace.folder / "data")) == files

    def test_flight_recorder_takes_the_agent(self, giltrace, python):
        result = giltrace.run(
            *["record", "--flight-recorder", "0.5", "--keep-data", "data"],
            *["--python", python.path, "-c", "pass"],
        )
        assert result.status == 0, result.stderr
        assert meta(giltrace.folder / "data")["probe"] == "agent"

    @pytest.mark.parametrize("clock", ["tsc", "monotonic"])
    def test_clock(self, giltrace, python, clock):
        result = giltrace.run(
            *["record", "--probe", "agent", "--agent-clock", clock, "--keep-data", "data"],
            *["--python", python.path, "-c", "pass"],
        )
        if clock == "tsc" and os.uname().machine != "x86_64":
            assert result.status == 125 and "x86" in result.stderr
            return
        assert result.status == 0, result.stderr
        assert meta(giltrace.folder / "data")["agent_clock"] == clock

    def test_files_of_an_earlier_recording_go(self, giltrace, python):
        for options in (["--probe", "agent", "--state-detect"], ["--probe", "uprobe"]):
            giltrace.run(
                *["record", *options, "--keep-data", "data"],
                *["--python", python.path, "-c", "pass"],
            )
        assert sorted(os.listdir(giltrace.folder / "data")) == ["gil.perf.data", "meta.json"]


class TestPreloading:
    def environment(self, giltrace, python, **variables):
        result = giltrace.run(
            *["record", "--probe", "agent", "--python", python.path, "-c", PRINT_ENVIRONMENT],
            env={**os.environ, **variables},
        )
        assert result.status == 0, result.stderr
        assert "not watched" not in result.stderr
        return result.stdout.decode().split()

    def test_environment(self, giltrace, python):
        preload, address = self.environment(giltrace, python)
        assert os.path.samefile(preload, agent_file())
        assert re.fullmatch(r"[0-9a-f]+:/proc/\d+/fd/\d+", address)

    @unsanitized
    def test_what_was_there_is_kept(self, giltrace, python):
        library = next(Path("/usr/lib").glob("*-linux-gnu/libc_malloc_debug.so.0"), None)
        if not library:
            pytest.skip("no library to preload was found")
        preload, _ = self.environment(giltrace, python, LD_PRELOAD=str(library))
        assert preload == f"{agent_file()}:{library}"

    @pytest.mark.parametrize("name", ["a blank", "co:lon", "$ORIGIN"])
    def test_path_that_the_loader_cannot_read(self, giltrace, python, name):
        folder = giltrace.folder / name
        folder.mkdir()
        copy = shutil.copy2(agent_file(), folder)
        preload, _ = self.environment(giltrace, python, GILTRACE_AGENT_FILE=str(copy))
        assert re.fullmatch(r"/proc/\d+/fd/\d+", preload)

    def test_no_trace_of_it_with_probes(self, giltrace, python):
        result = giltrace.run(
            *["record", "--probe", "uprobe", "--python", python.path, "-c", PRINT_ENVIRONMENT],
            env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},
        )
        assert result.stdout == b"- -\n"


class TestNoAgent:
    """The program runs, with its own status, and giltrace says why nothing was seen."""

    def check(self, result, *words):
        assert (result.status, result.stdout) == (7, b"ran\n"), result.stderr
        assert result.stderr.startswith("giltrace: the GIL is not watched: "), result.stderr
        for word in words:
            assert word in result.stderr
        assert result.stderr.count("not watched") == 1, "it is said once"

    def run(self, giltrace, python, agent=None, *options):
        environment = {**os.environ, **({"GILTRACE_AGENT_FILE": str(agent)} if agent else {})}
        return giltrace.run(
            *["record", "--probe", "agent", "--keep-data", "data", *options],
            *["--python", python.path, "-c", EXIT_7],
            env=environment,
        )

    def test_missing(self, giltrace, python):
        result = self.run(giltrace, python, "/nonexistent/agent.so")
        self.check(result, "/nonexistent/agent.so", "unset GILTRACE_AGENT_FILE")
        assert meta(giltrace.folder / "data")["probe"] == "none"

    def test_of_another_version(self, giltrace, python, changed_agent):
        result = self.run(giltrace, python, changed_agent(struct.pack("<I", 4711)))
        self.check(result, "another version", "4711")

    def test_for_another_machine(self, giltrace, python, changed_agent):
        machine = 183 if os.uname().machine == "x86_64" else 62
        result = self.run(giltrace, python, changed_agent(struct.pack("<H", machine), 18))
        self.check(result, "architecture")

    def test_something_else(self, giltrace, python):
        self.check(self.run(giltrace, python, "/bin/ls"), "not giltrace's agent")
        self.check(self.run(giltrace, python, "/etc/passwd"), "not an ELF file")

    def test_cut_off(self, giltrace, python, tmp_path):
        image = agent_file().read_bytes()
        for size in (0, 10, 64, len(image) // 2):
            path = tmp_path / "cut.so"
            path.write_bytes(image[:size])
            self.check(self.run(giltrace, python, path))

    def test_report_claims_nothing(self, giltrace, python):
        """What nobody has watched is null, and not 0."""
        result = giltrace.trace(
            *["--probe", "agent", "--python", python.path, "-c", "pass"],
            env={**os.environ, "GILTRACE_AGENT_FILE": "/nonexistent/agent.so"},
        )
        assert result.summary["probe"] == "none"
        (thread,) = result.summary["processes"][0]["threads"]
        assert thread["total_ns"] > 0
        for figure in ("no_gil_ns", "has_gil_ns", "gil_wait_ns", "acquired", "contended"):
            assert thread[figure] is None, figure

    def test_report_of_nothing_at_all(self, giltrace, python):
        result = giltrace.trace(
            *["--probe", "agent", "--python", python.path, "-c", "pass"],
            env={**os.environ, "GILTRACE_AGENT_FILE": "/nonexistent/agent.so"},
            prefix=[sys.executable, WITHOUT_PERF],
        )
        assert (result.summary["probe"], result.summary["processes"]) == ("none", [])

    def test_both_goes_on_with_probes(self, giltrace, python):
        result = giltrace.run(
            *["record", "--probe", "both", "--keep-data", "data", "--python", python.path],
            *["-c", EXIT_7],
            env={**os.environ, "GILTRACE_AGENT_FILE": "/nonexistent/agent.so"},
        )
        assert (result.status, result.stdout) == (7, b"ran\n")
        assert "only the kernel's probes watch the GIL" in result.stderr
        assert meta(giltrace.folder / "data")["probe"] == "uprobe"

    def test_plain_user_is_told_of_both_ways(self, as_user, system_python):
        result = as_user(
            *["record", "--python", system_python.path, "-c", EXIT_7],
            environment={"GILTRACE_AGENT_FILE": "/nonexistent/agent.so"},
        )
        self.check(result, "unset GILTRACE_AGENT_FILE", "run giltrace as root")

    @pytest.mark.parametrize("rights", ["mode", "capability"])
    def test_python_with_rights_of_its_own(self, as_user, open_folder, system_python, rights):
        copy = open_folder / "python3"
        shutil.copy2(system_python.gil_file, copy)
        if rights == "mode":
            os.chown(copy, 1, 1)
            copy.chmod(0o6755)
        elif subprocess.run(["setcap", "cap_net_raw+ep", copy], check=False).returncode != 0:
            pytest.skip("setcap does not work here")
        result = as_user("record", "--python", copy, "-c", EXIT_7)
        self.check(result, "setuid", "run giltrace as root")

    def test_program_that_takes_it_away(self, giltrace, python):
        """A wrapper between giltrace and the Python."""
        wrapper = giltrace.folder / "wrapper"
        wrapper.write_text(f'#!/bin/sh\nunset LD_PRELOAD\numask 077\nexec {python.path} "$@"\n')
        wrapper.chmod(0o755)
        result = giltrace.run(
            *["record", "--probe", "agent", "--keep-data", "data", "--python", wrapper],
            *["-c", EXIT_7],
        )
        assert (result.status, result.stdout) == (7, b"ran\n")
        assert "no Python of the program has loaded the agent" in result.stderr
        assert "LD_PRELOAD" in result.stderr, "where to look"
        assert meta(giltrace.folder / "data")["probe"] == "none"


class TestStates:
    def test_recorded(self, giltrace, python):
        for way in ("uprobe", "agent"):
            result = giltrace.run(
                *["record", "--probe", way, "--state-detect", "--keep-data", "data"],
                *["--python", python.path, "-c", "pass"],
            )
            assert result.status == 0, result.stderr
            assert meta(giltrace.folder / "data")["states"] is True
            assert (giltrace.folder / "data" / "state.perf.data").exists()

    def test_refused_perf_events(self, giltrace, python):
        """It is said once, and the GIL is watched all the same."""
        result = giltrace.run(
            *["record", "--state-detect", "--keep-data", "data"],
            *["--python", python.path, "-c", EXIT_7],
            prefix=[sys.executable, WITHOUT_PERF],
        )
        assert (result.status, result.stdout) == (7, b"ran\n"), result.stderr
        lines = result.stderr.splitlines()
        assert lines[0].startswith(
            "giltrace: no on/off CPU: perf_event_open is refused by a seccomp"
        )
        assert lines[1].startswith("  ") and "docker run" in lines[1]
        assert len(lines) == 3, "and where the recording is"
        written = meta(giltrace.folder / "data")
        assert (written["probe"], written["states"]) == ("agent", False)
        assert sorted(os.listdir(giltrace.folder / "data")) == ["gil.agent", "meta.json"]

    def test_refused_perf_events_are_not_missed_without(self, giltrace, python):
        result = giltrace.run(
            *["record", "--python", python.path, "-c", EXIT_7],
            prefix=[sys.executable, WITHOUT_PERF],
        )
        assert result.status == 7
        assert len(result.stderr.splitlines()) == 1


def test_killed_giltrace_leaves_what_it_knew(giltrace, python):
    process = giltrace.start(
        *["record", "--probe", "agent", "--keep-data", "data", "--python", python.path],
        *["-c", "import time; print('ran', flush=True); time.sleep(1)"],
    )
    assert process.stdout.readline() == b"ran\n"
    time.sleep(0.2)
    process.kill()
    process.communicate()
    written = meta(giltrace.folder / "data")
    assert (written["probe"], written["complete"], written["exit_status"]) == ("agent", False, None)
    assert "meta.json.new" not in os.listdir(giltrace.folder / "data")


def test_finished_recording_is_complete(giltrace, python):
    giltrace.run(
        *["record", "--keep-data", "data", "--python", python.path, "-c", "raise SystemExit(3)"]
    )
    written = meta(giltrace.folder / "data")
    assert (written["complete"], written["exit_status"]) == (True, 3)
    assert not probes.definitions(f"giltrace_{giltrace.processes[-1].pid}")
