"""Fixtures of the end-to-end tests: the real program on real Pythons and the real kernel."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import interpreters
import probes
from runner import Giltrace, program


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
