"""The traced program must not notice: arguments, streams, environment, signals, exit status."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import time

import pytest

from runner import WORKLOADS

DESCRIBE = WORKLOADS / "describe_self.py"
WAIT = WORKLOADS / "wait_for_signal.py"


def describe(folder, command, **options):
    """What the program that COMMAND starts finds itself to be."""
    facts = folder / "facts.json"
    facts.unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, timeout=60, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(facts.read_bytes())


def wait_for(path):
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


def test_everything_is_as_without_giltrace(giltrace, interpreter):
    arguments = [b"", b"a b", b"--", b"-x", b"-o", b"\xff\xfe", "ü\n".encode(), b"--python"]
    command = [interpreter.path, DESCRIBE, giltrace.folder / "facts.json", *arguments]
    with open(giltrace.folder / "in", "w+b") as stdin:
        plain = describe(giltrace.folder, command, cwd=giltrace.folder, stdin=stdin)
        result = giltrace.run("-q", "--python", *command, stdin=stdin)
    assert result.status == 0, result.stderr
    traced = json.loads((giltrace.folder / "facts.json").read_bytes())
    assert traced["arguments"] == [argument.decode("latin-1") for argument in arguments]
    plain_streams, traced_streams = plain.pop("streams"), traced.pop("streams")
    assert traced_streams[0] == plain_streams[0]
    assert traced == plain


def test_streams_pass_through(giltrace, some_interpreter):
    code = (
        "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('complaint\\n')"
    )
    result = giltrace.run("--python", some_interpreter.path, "-c", code, given=b"some text\n")
    assert result.status == 0, result.stderr
    assert result.stdout == b"SOME TEXT\n"
    assert "complaint\n" in result.stderr


def test_quiet_says_nothing(giltrace, python):
    result = giltrace.run("-q", "--python", python.path, "-c", "print(1)")
    assert (result.status, result.stdout, result.stderr) == (0, b"1\n", "")
    assert (giltrace.folder / "giltrace.html").exists()


@pytest.mark.parametrize(
    "code, status",
    [
        ("pass", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit(255)", 255),
        ("raise ValueError", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
        ("import os; os.abort()", 128 + signal.SIGABRT),
    ],
)
def test_exit_status_passes_through(giltrace, python, code, status):
    result = giltrace.run(*giltrace.outputs(), "--python", python.path, "-c", code)
    assert result.status == status, result.stderr
    giltrace.collect(result)
    assert result.summary["exit_status"] == status
    result.timeline.check()


def test_module(giltrace, some_interpreter):
    (giltrace.folder / "package").mkdir()
    (giltrace.folder / "package" / "__main__.py").write_text("import sys; print(sys.argv[1:])")
    result = giltrace.run(
        "-q", "--python", some_interpreter.path, "-m", "package", "-c", "--", "-q"
    )
    assert (result.status, result.stdout) == (0, b"['-c', '--', '-q']\n"), result.stderr


def test_code_with_arguments(giltrace, some_interpreter):
    code = "import sys; print(sys.argv)"
    result = giltrace.run("-q", "--python", some_interpreter.path, "-c", code, "-m", "x")
    assert (result.status, result.stdout) == (0, b"['-c', '-m', 'x']\n"), result.stderr


@pytest.mark.parametrize(
    "verb, script",
    [([], ["--", "./run"]), (["run"], ["run"]), (["run"], ["--", "run"]), ([], ["./run"])],
    ids=["dashes", "verb", "verb and dashes", "path"],
)
def test_script_with_the_name_of_a_verb(giltrace, python, verb, script):
    (giltrace.folder / "run").write_text("import sys; print(__name__, sys.argv[1:])")
    result = giltrace.run(*verb, "-q", "--python", python.path, *script, "--help")
    assert (result.status, result.stdout) == (0, b"__main__ ['--help']\n"), result.stderr


def test_interrupt_reaches_the_target_and_the_report_is_written(giltrace, some_interpreter):
    ready = giltrace.folder / "ready"
    process = giltrace.start(
        *giltrace.outputs(), "--python", some_interpreter.path, WAIT, ready, start_new_session=True
    )
    wait_for(ready)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    result = giltrace.finish(process)
    assert result.status == 3, result.stderr
    assert result.stdout == b"interrupted\n"
    giltrace.collect(result).timeline.check()


def test_terminate_is_forwarded(giltrace, python):
    ready = giltrace.folder / "ready"
    process = giltrace.start(*giltrace.outputs(), "--python", python.path, WAIT, ready)
    wait_for(ready)
    process.terminate()
    result = giltrace.finish(process)
    assert result.status == 4, result.stderr
    giltrace.collect(result).timeline.check()


def test_target_stays_in_the_foreground_of_its_terminal(giltrace, python):
    """Else it could not read from it, and Ctrl-C would not reach it."""
    terminal, end = pty.openpty()
    code = "import os; print('foreground', os.tcgetpgrp(0) == os.getpgrp(), input())"
    process = giltrace.start(
        *["-q", "--python", python.path, "-c", code],
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(end)
    os.write(terminal, b"typed\n")
    output = b""
    try:
        while chunk := os.read(terminal, 1000):
            output += chunk
    except OSError:
        pass  # how a terminal says that its other end is closed
    assert process.wait(30) == 0, output
    assert b"foreground True typed" in output


class TestWhichPython:
    """`python3` is followed through what people put before it."""

    def test_venv(self, giltrace, some_interpreter):
        venv = giltrace.folder / "venv"
        subprocess.run([some_interpreter.path, "-m", "venv", "--without-pip", venv], check=True)
        python = venv / "bin" / "python3"
        code = "import sys; print(sys.executable, sys.prefix)"
        plain = subprocess.check_output([python, "-c", code])
        assert str(venv).encode() in plain
        named = giltrace.run("-q", "--python", python, "-c", code)
        assert (named.status, named.stdout) == (0, plain), named.stderr
        active = dict(os.environ, PATH=f"{venv}/bin:{os.environ['PATH']}", VIRTUAL_ENV=str(venv))
        found = giltrace.run("-q", "-c", code, env=active)
        assert (found.status, found.stdout) == (0, plain), found.stderr

    def test_symlink(self, giltrace, some_interpreter):
        link = giltrace.folder / "snake"
        link.symlink_to(some_interpreter.path)
        result = giltrace.run(
            "-q", "--python", link, "-c", "import sys; print(sys.version_info[1])"
        )
        assert (result.status, result.stdout) == (
            0,
            b"%d\n" % some_interpreter.minor,
        ), result.stderr

    def test_shim_on_path(self, giltrace, some_interpreter):
        """A script that sets something up and runs the real one, as pyenv's does."""
        folder = giltrace.folder / "shims"
        folder.mkdir()
        shim = folder / "python3"
        shim.write_text(f'#!/bin/sh\nexport SHIMMED=yes\nexec {some_interpreter.path} "$@"\n')
        shim.chmod(0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        code = "import os, sys; print(sys.version_info[1], os.environ['SHIMMED'])"
        for options in ([], ["--python", "python3"], ["--python", shim]):
            result = giltrace.trace(*options, "-c", code, env=environment)
            assert result.stdout == b"%d yes\n" % some_interpreter.minor
            assert result.summary["processes"][-1]["python"]["version"] == some_interpreter.version

    def test_name_on_path(self, giltrace, some_interpreter):
        folder = giltrace.folder / "bin"
        folder.mkdir()
        (folder / "mypython").symlink_to(some_interpreter.path)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        code = "import sys; print(sys.version_info[1])"
        result = giltrace.run("-q", "--python", "mypython", "-c", code, env=environment)
        assert (result.status, result.stdout) == (
            0,
            b"%d\n" % some_interpreter.minor,
        ), result.stderr

    def test_relative_path(self, giltrace, python):
        (giltrace.folder / "snake").symlink_to(python.path)
        result = giltrace.run("-q", "--python", "./snake", "-c", "print(1)")
        assert (result.status, result.stdout) == (0, b"1\n"), result.stderr
