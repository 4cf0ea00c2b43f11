"""What cannot be done: one message that says why, the right status, and nothing started."""

import os
import struct
import subprocess
from pathlib import Path

import pytest

NOT_POSSIBLE, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127

# A target that would leave a trace of itself.
TOUCH = "import sys; open(sys.argv[1], 'w').close()"


def check_message(result, *words):
    """One message of giltrace's: a line with its name, and lines below it that say what to do."""
    lines = result.stderr.splitlines()
    assert lines and lines[0].startswith("giltrace: "), result.stderr
    assert all(line.startswith("  ") for line in lines[1:]), result.stderr
    for word in words:
        assert word in result.stderr


def refused(giltrace, status, *arguments, **options):
    """Runs a target that must not be started."""
    started = giltrace.folder / "started"
    result = giltrace.run(*arguments, "-c", TOUCH, started, **options)
    assert result.status == status, result.stderr
    assert result.stdout == b""
    assert not started.exists(), "the target was started"
    return result


class TestTarget:
    def test_no_such_script(self, giltrace, python):
        result = giltrace.run("--python", python.path, "missing.py")
        assert result.status == NOT_FOUND
        check_message(result, "missing.py")
        assert os.listdir(giltrace.folder) == []

    def test_no_such_module(self, giltrace, python):
        result = giltrace.run("--python", python.path, "-m", "no_such_module")
        assert result.status == NOT_FOUND
        check_message(result, "no_such_module")
        assert os.listdir(giltrace.folder) == []

    def test_no_such_python(self, giltrace):
        result = refused(giltrace, NOT_FOUND, "--python", "/nonexistent/python")
        check_message(result, "/nonexistent/python")

    def test_no_such_python_on_path(self, giltrace):
        check_message(refused(giltrace, NOT_FOUND, "--python", "no-such-python"), "no-such-python")

    def test_no_python_on_path(self, giltrace):
        environment = dict(os.environ, PATH=str(giltrace.folder))
        check_message(refused(giltrace, NOT_FOUND, env=environment), "python3")

    def test_python_that_cannot_be_executed(self, giltrace):
        (giltrace.folder / "python").write_text("")
        result = refused(giltrace, NOT_EXECUTABLE, "--python", "./python")
        check_message(result, "./python")

    def test_directory_as_python(self, giltrace):
        check_message(refused(giltrace, NOT_EXECUTABLE, "--python", "/tmp"), "/tmp")

    @pytest.mark.parametrize("path", ["/bin/ls", "/bin/true", "/bin/sh"])
    def test_no_python_at_all(self, giltrace, path):
        check_message(refused(giltrace, NOT_POSSIBLE, "--python", path), path)

    def test_python_2(self, giltrace):
        found = list(Path.home().glob(".pyenv/versions/2.*/bin/python"))
        if not found:
            pytest.skip("no Python 2 was found")
        check_message(refused(giltrace, NOT_POSSIBLE, "--python", found[0]), "Python 2")

    def test_pypy(self, giltrace):
        """A program that has PyPy's entry point, as none may be at hand."""
        source = "int pypy_main_startup(void) { return 0; } int main(void) { return 0; }"
        subprocess.run(
            ["gcc", "-rdynamic", "-x", "c", "-", "-o", giltrace.folder / "pypy3"],
            input=source.encode(),
            check=True,
        )
        check_message(refused(giltrace, NOT_POSSIBLE, "--python", "./pypy3"), "PyPy")


class TestCommandLine:
    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["--no-such-option"],
            ["-o"],
            ["-o", "out.txt", "-c", "pass"],
            ["--buffer-size", "many", "-c", "pass"],
            ["--buffer-size", "0", "-c", "pass"],
            ["--probe", "kernel", "-c", "pass"],
            ["--flight-recorder", "0", "-c", "pass"],
            ["--flight-recorder", "1", "--probe", "uprobe", "-c", "pass"],
            ["--flight-recorder", "1", "--probe", "both", "-c", "pass"],
            ["--agent-clock", "sundial", "-c", "pass"],
            ["-m"],
            ["-c"],
            ["report"],
            ["report", "missing.data"],
        ],
        ids=" ".join,
    )
    def test_mistakes(self, giltrace, arguments):
        result = giltrace.run(*arguments)
        assert result.status == NOT_POSSIBLE
        check_message(result)
        assert os.listdir(giltrace.folder) == []

    def test_help_and_version(self, giltrace):
        version = giltrace.run("--version")
        assert (version.status, version.stdout) == (0, b"giltrace 0.1.0\n")
        help_ = giltrace.run("--help")
        assert help_.status == 0
        for option in (
            *(b"-o", b"--summary-json", b"--keep-data", b"--python", b"--buffer-size"),
            *(b"--probe", b"--state-detect", b"--flight-recorder", b"--agent-clock"),
            *(b"--no-gil-detect", b"--call-graph", b"--stack-size", b"--counters", b"--folded"),
        ):
            assert option in help_.stdout
        assert max(map(len, help_.stdout.splitlines())) <= 80


class TestOutputs:
    @pytest.mark.parametrize("option", ["-o", "--summary-json"])
    def test_directory(self, giltrace, python, option):
        folder = giltrace.folder / "folder.json"
        folder.mkdir()
        result = refused(giltrace, NOT_POSSIBLE, "--python", python.path, option, folder)
        check_message(result, str(folder), "directory")

    @pytest.mark.parametrize("option", ["-o", "--summary-json"])
    def test_missing_folder(self, giltrace, python, option):
        path = giltrace.folder / "missing" / "out.json"
        result = refused(giltrace, NOT_POSSIBLE, "--python", python.path, option, path)
        check_message(result, str(path))

    @pytest.mark.parametrize("option", ["-o", "--summary-json", "--keep-data"])
    def test_unwritable(self, giltrace, python, option):
        result = refused(giltrace, NOT_POSSIBLE, "--python", python.path, option, "/proc/x.json")
        check_message(result, "/proc/x.json")

    def test_file_in_place_of_the_data_folder(self, giltrace, python):
        (giltrace.folder / "data").write_text("mine")
        result = refused(giltrace, NOT_POSSIBLE, "--python", python.path, "--keep-data", "data")
        check_message(result, "data")
        assert (giltrace.folder / "data").read_text() == "mine"

    def test_full_disk(self, giltrace, python):
        """Found when the report is written: the target has run, and the failure is giltrace's."""
        result = giltrace.run("--python", python.path, "--summary-json", "/dev/full", "-c", "pass")
        assert result.status == NOT_POSSIBLE
        assert "/dev/full" in result.stderr


class TestRights:
    """Of those who ask for the kernel's probes by name: without --probe, the agent is left."""

    READ_ONLY = "mount -o remount,ro,bind /sys/kernel/tracing /sys/kernel/tracing"

    def in_namespace(self, command):
        """A prefix that changes the mounts, for giltrace alone."""
        return ["unshare", "-m", "sh", "-c", f'{command} && exec "$@"', "sh"]

    def test_plain_user(self, as_user, system_python):
        result = as_user(
            *["--probe", "uprobe", "--python", system_python.path, "-c", TOUCH, "started"]
        )
        assert result.status == NOT_POSSIBLE
        check_message(result, "root")
        # Where the GIL is was worth keeping all the same.
        assert [name for name in os.listdir(as_user.home) if name != ".cache"] == []

    def test_read_only_tracefs(self, giltrace, python):
        result = refused(
            *[giltrace, NOT_POSSIBLE, "--probe", "uprobe", "--python", python.path],
            prefix=self.in_namespace(self.READ_ONLY),
        )
        check_message(result, "tracing", "ead-only")

    def test_no_capabilities(self, giltrace, python):
        result = refused(
            *[giltrace, NOT_POSSIBLE, "--probe", "uprobe", "--python", python.path],
            prefix=["setpriv", "--bounding-set=-all", "--inh-caps=-all"],
        )
        check_message(result)

    def test_tracefs_is_mounted_when_it_is_not(self, giltrace, python):
        result = giltrace.run(
            *["--python", python.path, "-c", "print(1)"],
            prefix=self.in_namespace("umount -l /sys/kernel/tracing"),
        )
        assert (result.status, result.stdout) == (0, b"1\n"), result.stderr
        assert "/sys/kernel/tracing" in result.stderr


class TestBrokenData:
    @pytest.fixture(scope="class")
    def recorded(self, tmp_path_factory):
        """The bytes of a small recording."""
        import interpreters
        from runner import Giltrace

        folder = tmp_path_factory.mktemp("recorded")
        giltrace = Giltrace(folder)
        python = interpreters.unstripped()[-1]
        result = giltrace.run("-q", "--keep-data", "data", "--python", python.path, "-c", "pass")
        assert result.status == 0, result.stderr
        return (folder / "data" / "gil.perf.data").read_bytes()

    def report(self, giltrace, data):
        path = giltrace.folder / "broken.data"
        path.write_bytes(data)
        result = giltrace.run("report", path)
        assert result.status == NOT_POSSIBLE, result.stderr
        check_message(result, "broken.data")
        return result

    def test_empty(self, giltrace):
        assert "empty" in self.report(giltrace, b"").stderr

    def test_something_else(self, giltrace):
        assert "perf.data" in self.report(giltrace, b"#!/bin/sh\n" * 1000).stderr

    def test_foreign_byte_order(self, giltrace, recorded):
        swapped = recorded[:8][::-1] + struct.pack(">Q", 104) + recorded[16:]
        assert "byte order" in self.report(giltrace, swapped).stderr

    @pytest.mark.parametrize("size", [4, 8, 40, 103, 104, 200])
    def test_cut_in_the_header(self, giltrace, recorded, size):
        self.report(giltrace, recorded[:size])

    @pytest.mark.parametrize("part", [0.3, 0.5, 0.9])
    def test_cut_in_the_data(self, giltrace, recorded, part):
        self.report(giltrace, recorded[: int(len(recorded) * part)])

    def test_any_byte_wrong(self, giltrace, recorded):
        """No crash, whatever it says; only the first kilobytes steer the reader."""
        for offset in range(0, 4096, 64):
            data = bytearray(recorded)
            data[offset] ^= 0xFF
            path = giltrace.folder / "broken.data"
            path.write_bytes(data)
            result = giltrace.run("report", path)
            assert result.status in (0, NOT_POSSIBLE), (offset, result.status, result.stderr)
