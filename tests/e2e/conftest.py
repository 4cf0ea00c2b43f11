"""Fixtures of the end-to-end tests: the real program on real Pythons and the real kernel."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import interpreters
import probes
from runner import Giltrace, agent_file, program


def _reason_not_to_run():
    if not program().exists():
        return f"{program()} is not built"
    if os.geteuid() != 0:
        return "uprobes need root"
    if not (probes.TRACEFS / "uprobe_events").exists():
        return f"tracefs is not mounted at {probes.TRACEFS}"
    if not interpreters.unstripped():
        return "no unstripped Python was found"
    return None


@pytest.fixture(scope="session", autouse=True)
def _able_to_trace():
    reason = _reason_not_to_run()
    if reason:
        pytest.skip(reason)


def pytest_configure():
    # Whatever runs in the background of a script has it ignored, and so would have the targets.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--interpreters", type=int, default=99, metavar="N", help="try no more than N Pythons"
    )


def pytest_generate_tests(metafunc):
    """`interpreter` is every unstripped Python; `some_interpreter` a few of them.

    `any_interpreter` is stripped ones too, and those in a root of their own.
    """
    limit = metafunc.config.getoption("interpreters")
    for fixture, found in (
        ("any_interpreter", interpreters.every(limit)),
        ("interpreter", interpreters.some(limit)),
        ("some_interpreter", interpreters.some(min(limit, 3))),
    ):
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, found, ids=[i.name for i in found])


@pytest.fixture
def python():
    """One interpreter, for what does not depend on its version."""
    return next(
        (i for i in interpreters.unstripped() if i.minor == 11), interpreters.unstripped()[-1]
    )


@pytest.fixture
def giltrace(tmp_path):
    """A giltrace whose probes are all gone when the test is over."""
    run = Giltrace(tmp_path)
    yield run
    run.stop()
    left = probes.groups() & {f"giltrace_{process.pid}" for process in run.processes}
    for group in left:
        probes.remove_group(group)
    assert not left, "probes were left behind"


@pytest.fixture
def perf():
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")


@pytest.fixture(scope="session")
def plain_user():
    """A user without rights, made for the tests when there is none of that name."""
    name = "giltrace-test"
    try:
        yield pwd.getpwnam(name)
        return
    except KeyError:
        pass
    subprocess.run(["useradd", "--no-create-home", "--shell", "/bin/sh", name], check=True)
    yield pwd.getpwnam(name)
    subprocess.run(["userdel", name], check=True, capture_output=True)


@pytest.fixture
def open_folder():
    """A folder that other users can read; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory(prefix="giltrace-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def open_program(open_folder):
    """A copy of giltrace that other users can run, with its agent where it looks for it."""
    copy = open_folder / "build" / "cmd" / "giltrace"
    agent = open_folder / "build" / "probes" / "agent" / agent_file().name
    for source, target in ((program(), copy), (agent_file(), agent)):
        target.parent.mkdir(parents=True)
        shutil.copy2(source, target)
    return copy


@pytest.fixture
def system_python():
    """An interpreter that every user may run."""
    found = [i for i in interpreters.find_interpreters() if i.path.startswith("/usr")]
    if not found:
        pytest.skip("no Python that every user may read was found")
    return found[0]


@pytest.fixture
def as_user(giltrace, plain_user, open_folder, open_program):
    """Runs giltrace as a user without rights, in a folder of theirs."""
    home = open_folder / "home"
    home.mkdir()
    os.chown(home, plain_user.pw_uid, plain_user.pw_gid)

    def run(*arguments, environment=None, **options):
        options.setdefault("binary", open_program)
        return giltrace.run(
            *arguments,
            cwd=home,
            env={**os.environ, "HOME": str(home), "TMPDIR": "/tmp", **(environment or {})},
            user=plain_user.pw_uid,
            group=plain_user.pw_gid,
            extra_groups=[],
            **options,
        )

    run.home = home
    return run
