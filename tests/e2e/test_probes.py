"""giltrace's probes come and go with it; those of others stay."""

import os
import signal
import time
from pathlib import Path

import pytest

import probes
from runner import WORKLOADS


@pytest.fixture
def group():
    """Makes groups of one probe, on a program that nobody runs meanwhile, and removes them."""
    made = []

    def make(name):
        probes.add(f"p:{name}/take {os.path.realpath('/proc/self/exe')}:0x1000")
        made.append(name)
        return name

    yield make
    for name in made:
        probes.remove_group(name)


def start_waiting(giltrace, python, *options):
    """A giltrace whose target is running."""
    ready = giltrace.folder / "ready"
    process = giltrace.start(
        *options, "--python", python.path, WORKLOADS / "wait_for_signal.py", ready
    )
    deadline = time.monotonic() + 30
    while not ready.exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    return process


def test_four_events_while_it_runs_and_none_after(giltrace, interpreter):
    process = start_waiting(giltrace, interpreter, "-q")
    lines = probes.definitions(f"giltrace_{process.pid}")
    names = {line.split()[0].split("/")[1] for line in lines}
    assert names == {"take", "acquired", "release", "switched"}
    assert all(line.startswith("p:") for line in lines), "a return probe"
    assert all(interpreter.gil_file in line or "/proc/" in line for line in lines)
    process.send_signal(signal.SIGTERM)
    giltrace.finish(process)
    assert probes.definitions(f"giltrace_{process.pid}") == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGUSR1])
def test_gone_after_a_signal(giltrace, python, number):
    process = start_waiting(giltrace, python, "-q")
    process.send_signal(number)
    time.sleep(0.1)
    process.terminate()  # for those that it may ignore
    giltrace.finish(process)
    assert probes.definitions(f"giltrace_{process.pid}") == []


def test_leftovers_of_a_dead_giltrace_are_removed(giltrace, python, group):
    dead = group(f"giltrace_{probes.ended_pid()}")
    result = giltrace.run("-q", "--python", python.path, "-c", "pass")
    assert result.status == 0, result.stderr
    assert dead not in probes.groups()


def test_groups_of_others_stay(giltrace, python, group):
    pid = probes.ended_pid()
    others = [
        group(name)
        for name in (
            f"giltrace_bench_{pid}",
            f"giltracer_{pid}",
            f"giltrace_{pid}x",
            f"other_{pid}",
        )
    ]
    before = {name: probes.definitions(name) for name in others}
    result = giltrace.run("-q", "--python", python.path, "-c", "pass")
    assert result.status == 0, result.stderr
    assert {name: probes.definitions(name) for name in others} == before


def test_probes_of_a_running_giltrace_stay(giltrace, python):
    process = start_waiting(giltrace, python, "-q")
    before = probes.definitions(f"giltrace_{process.pid}")
    result = giltrace.run("-q", "--python", python.path, "-c", "pass")
    assert result.status == 0, result.stderr
    assert probes.definitions(f"giltrace_{process.pid}") == before != []
    process.terminate()
    giltrace.finish(process)


def test_killed_giltrace_is_cleaned_up_after(giltrace, python):
    process = start_waiting(giltrace, python, "-q")
    os.kill(process.pid, signal.SIGSTOP)
    kill_children(process)  # who would run on
    process.kill()
    process.wait()
    result = giltrace.run("-q", "--python", python.path, "-c", "pass")
    assert result.status == 0, result.stderr
    assert probes.definitions(f"giltrace_{process.pid}") == []


def kill_children(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)


def test_killed_target_leaves_a_report(giltrace, python):
    process = start_waiting(giltrace, python, *giltrace.outputs())
    kill_children(process)
    result = giltrace.finish(process)
    assert result.status == 128 + signal.SIGKILL
    giltrace.collect(result).timeline.check()


def test_several_at_once(giltrace, python):
    started = [
        giltrace.start("-q", "-o", f"{n}.json", "--python", python.path, "-c", f"print({n})")
        for n in range(4)
    ]
    results = [giltrace.finish(process) for process in started]
    assert [(result.status, result.stdout) for result in results] == [
        (0, b"%d\n" % n) for n in range(4)
    ], results
