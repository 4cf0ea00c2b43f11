"""Interpreters whose file is broken, foreign, on an unusual file system, or changed meanwhile."""

import json
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest
from test_probes import start_waiting
from test_refusals import NOT_EXECUTABLE, NOT_POSSIBLE, check_message, refused

import interpreters
import probes
from runner import WORKLOADS, under_strace

E_MACHINE, E_PHOFF, E_SHOFF, E_PHNUM = 0x12, 0x20, 0x28, 0x38
E_SHNUM, E_SHSTRNDX = 0x3C, 0x3E
PROGRAM_HEADER_BYTES, P_FLAGS, PT_LOAD, EXECUTABLE = 56, 4, 1, 1


@pytest.fixture
def one_file():
    """A Python that runs as a copy of one file."""
    found = interpreters.of_one_file()
    if not found:
        pytest.skip("no Python was found that is one file")
    return found[0]


@pytest.fixture
def image(one_file):
    return bytearray(Path(one_file.gil_file).read_bytes())


@pytest.fixture
def copy(giltrace):
    """Where an interpreter of a test's own lies."""
    return giltrace.folder / "python3"


def write_program(path, image):
    path.write_bytes(image)
    path.chmod(0o755)


def put(image, layout, offset, value):
    struct.pack_into("<" + layout, image, offset, value)


def get(image, layout, offset):
    return struct.unpack_from("<" + layout, image, offset)[0]


class TestBrokenFile:
    def refuse(self, giltrace, copy, image, statuses=(NOT_POSSIBLE, NOT_EXECUTABLE)):
        """Whatever is refused names the file, starts nothing, and doctor says the same."""
        write_program(copy, image)
        started = giltrace.folder / "started"
        code = f"open({str(started)!r}, 'w')"
        result = giltrace.run("--python", copy, "-c", code)
        assert result.status in statuses, result.stderr
        check_message(result, str(copy))
        assert not started.exists()
        doctor = giltrace.run("doctor", "--python", copy)
        assert doctor.status == NOT_POSSIBLE
        assert str(copy).encode() in doctor.stdout
        return result

    @pytest.mark.parametrize("size", [0, 1, 4, 16, 63, 64, 4096, 1 << 20])
    def test_truncated(self, giltrace, copy, image, size):
        self.refuse(giltrace, copy, image[:size])

    def test_without_its_last_byte(self, giltrace, copy, image):
        """The section table is the last thing in a file: it runs, and cannot be read whole."""
        self.refuse(giltrace, copy, image[:-1])

    @pytest.mark.parametrize("machine", [183, 243, 3, 0xFFFF])
    def test_of_another_machine(self, giltrace, copy, image, machine):
        put(image, "H", E_MACHINE, machine)
        self.refuse(giltrace, copy, image)

    def test_real_one_of_another_machine(self, giltrace):
        found = list(Path.home().glob(".cache/giltrace/aarch64/**/python3.*"))
        found = [path for path in found if path.is_file() and os.access(path, os.X_OK)]
        if not found or os.uname().machine == "aarch64":
            pytest.skip("no Python of another machine was found: see scripts/get-aarch64-pythons")
        result = giltrace.run("--python", found[0], "-c", "pass")
        assert result.status in (NOT_POSSIBLE, NOT_EXECUTABLE)
        check_message(result, str(found[0]))

    def test_of_32_bits(self, giltrace, copy, image):
        image[4] = 1
        self.refuse(giltrace, copy, image)

    def test_big_endian(self, giltrace, copy, image):
        image[5] = 2
        self.refuse(giltrace, copy, image)

    def test_without_executable_segments(self, giltrace, copy, image):
        for index in range(get(image, "H", E_PHNUM)):
            at = get(image, "Q", E_PHOFF) + index * PROGRAM_HEADER_BYTES
            if get(image, "I", at) == PT_LOAD:
                put(image, "I", at + P_FLAGS, get(image, "I", at + P_FLAGS) & ~EXECUTABLE)
        self.refuse(giltrace, copy, image)

    @pytest.mark.parametrize(
        ("layout", "offset", "value"),
        [
            ("Q", E_SHOFF, 2**64 - 1),
            ("Q", E_SHOFF, 2**63),
            ("Q", E_SHOFF, 1),
            ("H", E_PHNUM, 0xFFFE),
            ("Q", E_PHOFF, 2**64 - 64),
        ],
        ids=["shoff -1", "shoff 2^63", "shoff 1", "phnum", "phoff"],
    )
    def test_absurd_headers(self, giltrace, copy, image, layout, offset, value):
        put(image, layout, offset, value)
        self.refuse(giltrace, copy, image)

    def test_without_a_section_table(self, giltrace, copy, image):
        """As sstrip leaves it. The system runs such a file; it is traced, or refused by name."""
        for layout, offset in (("Q", E_SHOFF), ("H", E_SHNUM), ("H", E_SHSTRNDX)):
            put(image, layout, offset, 0)
        self.trace_or_refuse(giltrace, copy, image)

    def test_more_sections_than_there_are(self, giltrace, copy, image):
        put(image, "H", E_SHNUM, 0xFEFF)
        self.trace_or_refuse(giltrace, copy, image)

    def trace_or_refuse(self, giltrace, copy, image):
        write_program(copy, image)
        result = giltrace.run(*giltrace.outputs(), "--python", copy, "-c", "pass")
        if result.status == 0:
            giltrace.collect(result).timeline.check()
            assert result.summary["processes"][0]["threads"][0]["acquired"] > 0
        else:
            assert result.status == NOT_POSSIBLE
            check_message(result, str(copy))


class TestFileSystem:
    OVERLAY = (
        "mkdir lower upper work && cp $PYTHON lower/python3 &&"
        " mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work ."
    )

    @pytest.fixture
    def folder(self, giltrace):
        folder = giltrace.folder / "mounted"
        folder.mkdir()
        return folder

    def mounting(self, folder, one_file, commands):
        """A prefix that mounts in FOLDER, for giltrace alone."""
        script = f'PYTHON={one_file.gil_file}; cd {folder} && {commands} && cd / && exec "$@"'
        return ["unshare", "-m", "sh", "-c", script, "sh"]

    @pytest.mark.parametrize(
        "commands",
        [
            "mount -t tmpfs none . && cp $PYTHON $PWD/python3",
            "mount -t ramfs none . && cp $PYTHON $PWD/python3",
            OVERLAY,  # from the lower layer
            OVERLAY + " && touch $PWD/python3",  # copied up
        ],
        ids=["tmpfs", "ramfs", "overlay", "overlay, changed"],
    )
    def test_traced_from(self, giltrace, one_file, folder, commands):
        giltrace.timelines = False
        result = giltrace.trace(
            *["--python", folder / "python3", "-c", "pass"],
            prefix=self.mounting(folder, one_file, commands),
        )
        (process,) = result.summary["processes"]
        (thread,) = process["threads"]
        assert thread["acquired"] > 0
        assert result.summary["inferred"] == 0

    def test_mounted_without_the_right_to_execute(self, giltrace, one_file, folder):
        commands = "mount -t tmpfs -o noexec none . && cp $PYTHON $PWD/python3"
        result = refused(
            *[giltrace, NOT_EXECUTABLE, "--python", folder / "python3"],
            prefix=self.mounting(folder, one_file, commands),
        )
        check_message(result, str(folder / "python3"))

    def test_that_refuses_probes_is_named(self, giltrace, one_file):
        """None is at hand that programs run from (DAX would be one): strace fakes its answer."""
        if not shutil.which("strace"):
            pytest.skip("strace is not installed")
        # The events before are none of the file: giltrace's own, and a silent one for each CPU.
        first = os.cpu_count() + 2
        refuse = [
            *["-e", "trace=perf_event_open"],
            *["-e", f"inject=perf_event_open:error=EIO:when={first}+"],
        ]
        result = giltrace.run(
            *["--python", one_file.path, "-c", "pass"],
            prefix=["strace", "-qq", "-o", "/dev/null", *refuse],
            env={**os.environ, **under_strace()},
        )
        assert result.status == NOT_POSSIBLE
        check_message(result, one_file.gil_file, "file system")


class TestReplaced:
    @pytest.fixture
    def own_python(self, copy, image):
        """A copy to be replaced, by path as an interpreter."""
        write_program(copy, image)
        return copy

    @pytest.fixture
    def other_build(self, giltrace, one_file, image):
        """The same code under another build-id, which any new build has."""
        path = giltrace.folder / "new"
        at = image.index(build_id_of(one_file.gil_file))
        image[at] ^= 0xFF
        write_program(path, image)
        return path

    def test_while_the_target_runs(self, giltrace, own_python, other_build):
        """A package manager's update: what runs is what was probed, until it ends."""
        python = interpreters.Interpreter(str(own_python), "", str(own_python), True, False, "/")
        process = start_waiting(giltrace, python, *giltrace.outputs(), "--keep-data", "data")
        os.rename(other_build, own_python)
        time.sleep(0.2)
        process.terminate()
        result = giltrace.finish(process)
        assert result.status == 4, result.stderr
        giltrace.collect(result).timeline.check()
        (process,) = result.summary["processes"]
        assert process["python"]["path"] == str(own_python)
        assert process["threads"][0]["has_gil_ns"] > 0.5 * process["threads"][0]["total_ns"]
        again = giltrace.run("report", *giltrace.outputs(), "data")
        assert again.status == 0
        assert giltrace.collect(again).summary["processes"] == result.summary["processes"]

    @pytest.fixture
    def replaced_before_exec(self, giltrace, own_python, other_build):
        """What giltrace says when that happens behind the last of its probes."""
        probe_count = count_probes(giltrace, own_python)
        for _ in range(5):
            spare = own_python.with_suffix(".spare")
            shutil.copy2(own_python, spare)
            outputs = ["--summary-json", "summary.json"]
            process = giltrace.start(*outputs, "--python", own_python, "-c", "pass")
            was_in_time = replace_before_exec(process, probe_count, other_build, own_python)
            result = giltrace.finish(process)
            if was_in_time:
                return result
            os.rename(own_python, other_build)
            os.rename(spare, own_python)
        pytest.fail("giltrace was always faster")

    def test_between_finding_its_gil_and_running_it(self, replaced_before_exec, own_python):
        first = replaced_before_exec.stderr.splitlines()[0]
        assert first.startswith(f"giltrace: {own_python} was replaced")
        assert "run giltrace again" in replaced_before_exec.stderr

    def test_no_figures_of_a_program_without_probes(self, giltrace, replaced_before_exec):
        (row,) = (line for line in replaced_before_exec.stderr.splitlines() if "*" in line)
        assert row.split()[2:5] == ["-", "-", "-"]
        path = giltrace.folder / "summary.json"
        if path.exists():
            (process,) = json.loads(path.read_bytes())["processes"]
            assert process["threads"][0]["no_gil_ns"] in (0, None)

    @pytest.mark.usefixtures("perf")
    def test_between_recording_and_report(self, giltrace, own_python, other_build):
        """A file of stock perf: only the file itself tells where its GIL is asked back."""
        group = f"gil_test_{os.getpid()}"
        try:
            added = giltrace.run("probe", "add", "--python", own_python, "--group", group)
            assert added.status == 0, added.stderr
            perf = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "--buildid-mmap"]
            facts = giltrace.folder / "facts.json"
            busy = [own_python, WORKLOADS / "busy_threads.py", facts, "0.3", "2"]
            subprocess.run(
                [*perf, "-e", f"{group}:*", "-o", giltrace.folder / "perf.data", *busy],
                check=True,
                capture_output=True,
            )
        finally:
            probes.remove_group(group)
        before = giltrace.run("report", "perf.data")
        assert (before.status, "giltrace: " in before.stderr) == (0, False), before.stderr
        os.rename(other_build, own_python)
        after = giltrace.run("report", *giltrace.outputs(), "perf.data")
        assert after.status == 0
        giltrace.collect(after).timeline.check()
        assert f"{own_python}: it is not the file any more that ran" in after.stderr


def build_id_of(path):
    done = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True)
    return bytes.fromhex(done.stdout.partition("Build ID: ")[2].split()[0])


def count_probes(giltrace, python):
    answer = json.loads(giltrace.run("doctor", "--json", "--python", python).stdout)
    sites = answer["sites"]
    return sum(len(sites[kind]) for kind in ("take", "acquired", "release", "switched"))


def replace_before_exec(process, probe_count, new, old):
    """Halts giltrace when its probes are there. Whether the target had not become OLD by then."""
    deadline = time.monotonic() + 30
    while len(probes.definitions(f"giltrace_{process.pid}")) < probe_count:
        assert time.monotonic() < deadline and process.poll() is None
    process.send_signal(signal.SIGSTOP)
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        running = [os.readlink(f"/proc/{child}/exe") for child in children]
        os.rename(new, old)
        return str(old) not in running
    finally:
        process.send_signal(signal.SIGCONT)
