"""What threads that do not run wait for: states with stacks, by themselves and beside the probes."""

import os
import subprocess
import warnings

import pytest

from timeline import overlap_ns
from undisturbed import DisturbedWarning, undisturbed

SECOND = 10**9
STATES = ["--state-detect"]
STACKS_ALONE = ["--no-gil-detect"]
WAIT_SECONDS = 0.4
# What each wait of tests/workloads/sleep_reasons.py is called.
NAMES = {
    "sleep": "S(sleep)",
    "lock": "S(lock)",
    "lock_with_timeout": "S(lock)",
    "queue_get": "S(lock)",
    "select_pipe": "S(poll)",
    "poll_pipe": "S(poll)",
    "epoll_pipe": "S(poll)",
    "read_pipe": "S(read)",
    "write_pipe": "S(write)",
    "receive": "S(recv)",
    "accept": "S(accept)",
    "open_pipe": "S(open)",
    "child": "S(wait)",
}


def threads_of(summary):
    return [thread for process in summary["processes"] for thread in process["threads"]]


def check_nothing_lost(summary):
    assert (summary["lost"], summary["state_lost"], summary["wakeups_lost"]) == (0, 0, 0)
    for thread in threads_of(summary):
        assert thread["state"]["unknown_ns"] == 0
        parts = ("running_ns", "runnable_ns", "sleep_ns", "disk_ns")
        assert sum(thread["state"][part] for part in parts) == thread["total_ns"]


def queued_ns(timeline, tid):
    """For how long a thread waited for the GIL, and had been woken: for a CPU, then."""
    runnable = [(start, end) for name, start, end in timeline.states[tid] if name == "R"]
    return sum(overlap_ns(runnable, *wait) for wait in timeline.waits[tid])


@undisturbed
def test_sleeps_cover_the_waits_for_the_gil(giltrace, any_interpreter):
    """And stacks alone, of another run, tell the same."""
    asleep, queued = {}, {}
    for options in (STATES, STACKS_ALONE):
        (way,) = options
        result = giltrace.workload(any_interpreter, "busy_threads", 2, 2, options=options)
        result.timeline.check()
        check_nothing_lost(result.summary)
        threads = [result.timeline.threads[window["tid"]] for window in result.facts["busy"]]
        states = [thread["state"] for thread in threads]
        asleep[way] = sum(state["sleep"].get("GIL", 0) for state in states)
        queued[way] = sum(state["runnable_ns"] for state in states)
        if way == "--no-gil-detect":
            assert all(thread["gil_wait_ns"] is None for thread in threads)
            assert asleep[way] == sum(state["sleep_gil_ns"] for state in states)
            continue
        for thread in threads:
            waited = thread["gil_wait_ns"] - queued_ns(result.timeline, thread["tid"])
            assert 0.90 <= thread["state"]["sleep_gil_ns"] / waited <= 1
        compared, disagreed = (
            result.summary[key] for key in ("sleeps_compared", "sleeps_disagreed")
        )
        assert compared > 100 and disagreed <= 0.02 * compared
    # Where threads wait for a CPU, how long they sleep depends on how much of it each run got.
    allowed = 0.05 * 2 * 2 * SECOND
    if max(queued.values()) > allowed:
        warnings.warn("too busy to compare two runs", DisturbedWarning, stacklevel=1)
        return
    first, second = asleep.values()
    assert abs(first - second) <= allowed, "within 5 % of the run"


def is_on_a_disk(folder):
    done = subprocess.run(
        ["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True
    )
    return done.stdout.strip() not in ("tmpfs", "ramfs", "overlayfs")


@pytest.mark.parametrize("options", [STATES, STACKS_ALONE], ids=["beside-probes", "stacks-alone"])
@undisturbed
def test_each_wait_has_its_reason(giltrace, any_interpreter, options):
    folder = giltrace.folder_for(any_interpreter)
    result = giltrace.workload(
        any_interpreter,
        "sleep_reasons",
        WAIT_SECONDS,
        any_interpreter.inside(folder),
        options=options,
    )
    result.timeline.check()
    check_nothing_lost(result.summary)
    wrong = {}
    for wait, name in NAMES.items():
        window = result.facts[wait]
        named = result.timeline.named(window, name)
        # How long it then waits for a CPU, is another matter.
        queued = result.timeline.named(window, "R")
        share = named / (window["end_ns"] - window["start_ns"] - queued)
        if share < 0.95 or named < WAIT_SECONDS / 2 * SECOND:
            wrong[wait] = (name, share, result.timeline.states[window["tid"]])
    assert not wrong
    # But for the moment in which who ended the wait has it.
    for window in result.facts.values():
        assert result.timeline.named(window, "S(GIL)") < 0.05 * WAIT_SECONDS * SECOND
    if is_on_a_disk(folder):
        assert result.timeline.named(result.facts["disk"], "D(disk)") > 0


@undisturbed
def test_a_sleep_is_as_long_as_it_was(giltrace, any_interpreter):
    result = giltrace.workload(any_interpreter, "sleeping_thread", 1, options=STATES)
    (window,) = result.facts["sleeps"]
    assert 0.98 * SECOND <= result.timeline.named(window, "S(sleep)") <= 1.02 * SECOND
    sleep = result.timeline.threads[window["tid"]]["state"]["sleep"]
    assert 0.98 * SECOND <= sleep["sleep"] <= 1.02 * SECOND


def test_frame_pointers_alone_do_not_tell_all(giltrace, some_interpreter):
    """Debian's C library has none, so nothing is said of the GIL."""
    result = giltrace.workload(
        some_interpreter,
        *("busy_threads", 0.3, 2),
        options=[*STACKS_ALONE, "--call-graph", "fp"],
    )
    assert "how long threads slept for it" in " ".join(result.stderr.split())
    assert all(thread["state"]["sleep_gil_ns"] is None for thread in threads_of(result.summary))


def python_with_numpy(interpreters):
    for interpreter in interpreters:
        done = subprocess.run([interpreter.path, "-c", "import numpy"], capture_output=True)
        if done.returncode == 0:
            return interpreter
    return pytest.skip("no Python has numpy")


def asleep_share(timeline, windows, without=()):
    """How much of the time that all windows share one of their threads slept, or more."""
    start = max(window["start_ns"] for window in windows)
    end = min(window["end_ns"] for window in windows)
    asleep = [
        (slice_start, slice_end)
        for window in windows
        for name, slice_start, slice_end in timeline.states[window["tid"]]
        if name not in ("R", *without)
    ]
    return overlap_ns(merged(asleep), start, end) / (end - start)


def merged(intervals):
    result = []
    for start, end in sorted(intervals):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def share_of(intervals, window):
    start, end = window["start_ns"], window["end_ns"]
    return overlap_ns(intervals, start, end) / (end - start)


@undisturbed
def test_numpy_runs_without_the_gil(giltrace, system_python):
    python = python_with_numpy([system_python])
    result = giltrace.workload(python, "numpy_sums", 1.5, options=STATES)
    result.timeline.check()
    (main,) = result.facts["busy"]
    for window in result.facts["sums"]:
        assert share_of(result.timeline.held[window["tid"]], window) < 0.05
    wanted = result.timeline.held[main["tid"]]
    if os.cpu_count() < 4:
        # Then the GIL may be free, and no CPU: with all three at work it often waits for one.
        slices = result.timeline.states[main["tid"]]
        wanted = merged([*wanted, *((start, end) for name, start, end in slices if name == "R")])
    assert share_of(wanted, main) > 0.90
    # All three run, or take turns where there are fewer CPUs, but for the GIL between two sums.
    windows = [main, *result.facts["sums"]]
    assert asleep_share(result.timeline, windows) < 0.5
    assert asleep_share(result.timeline, windows, without=["S(GIL)"]) < 0.05


@undisturbed
def test_pipes_between_threads_lose_nothing(giltrace, some_interpreter):
    result = giltrace.trace(
        *STATES,
        "--python",
        some_interpreter.path,
        giltrace.script(some_interpreter, "pipe_threads"),
        *("2", "3"),
    )
    result.timeline.check()
    check_nothing_lost(result.summary)
