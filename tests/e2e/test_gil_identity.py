"""Which GIL is held: one per interpreter where each has its own, none where it is off."""

import itertools
import os

import pytest
from test_numbers import both_live, check_busy_threads

import interpreters
from timeline import overlap_ns
from undisturbed import undisturbed

WITH_SUB_INTERPRETERS = [i for i in interpreters.find_interpreters() if i.minor >= 12]


@pytest.fixture(params=WITH_SUB_INTERPRETERS, ids=lambda i: i.name)
def sub_interpreters(giltrace, request):
    result = giltrace.workload(request.param, "sub_interpreters", 1)
    result.timeline.check()
    return result


def test_sub_interpreters_have_gils_of_their_own(sub_interpreters):
    result = sub_interpreters
    (process,) = result.summary["processes"]
    pid = process["pid"]
    assert result.summary["lost"] == 0
    assert len(process["gils"]) == len({gil["address"] for gil in process["gils"]}) == 3
    windows = result.facts["busy"]
    assert len({window["tid"] for window in windows}) == 3
    of_window = []
    for window in windows:
        tid, start, end = window["tid"], window["start_ns"], window["end_ns"]
        # Each computes alone in its interpreter: it waits for nobody, whatever the others do.
        assert overlap_ns(result.timeline.held[tid], start, end) >= 0.97 * (end - start)
        assert overlap_ns(result.timeline.waits[tid], start, end) <= 0.02 * (end - start)
        shares = {
            gil["id"]: overlap_ns(
                [hold[:2] for hold in result.timeline.holds[pid, gil["id"]] if hold[2] == tid],
                start,
                end,
            )
            for gil in process["gils"]
        }
        of_window.append([gil for gil, ns in shares.items() if ns > 0])
    assert all(len(gils) == 1 for gils in of_window), "one thread's holds are of several GILs"
    assert len({gils[0] for gils in of_window}) == 3
    # They hold at the same time: together more than there is of wall time.
    start = max(window["start_ns"] for window in windows)
    end = min(window["end_ns"] for window in windows)
    held = [overlap_ns(result.timeline.held[window["tid"]], start, end) for window in windows]
    assert sum(held) > 2.9 * (end - start)


def test_nobody_is_blamed_for_the_gil_of_another_interpreter(sub_interpreters):
    result = sub_interpreters
    holders = {}  # of each thread: the GILs that it had
    for gil, holds in result.timeline.holds.items():
        for _, _, tid in holds:
            holders.setdefault(tid, set()).add(gil)
    for blame in result.summary["blame"]:
        if blame["holder"] is not None:
            assert holders[blame["waiter"]] & holders[blame["holder"]], blame


@pytest.fixture
def free_threaded_python():
    found = interpreters.free_threaded()
    if not found:
        pytest.skip("no free-threaded Python was found: name one in GILTRACE_PYTHONS")
    return found[0]


def environment(gil):
    return {**{k: v for k, v in os.environ.items() if k != "PYTHON_GIL"}, **gil}


def trace_with_the_gil_off(giltrace, python, gil):
    result = giltrace.workload(python, "busy_threads", 1, 2, env=environment(gil))
    result.timeline.check()
    return result


@pytest.mark.parametrize("gil", [{}, {"PYTHON_GIL": "0"}], ids=["by default", "PYTHON_GIL=0"])
def test_a_gil_that_is_off_is_said_and_nobody_holds_it(giltrace, free_threaded_python, gil):
    result = trace_with_the_gil_off(giltrace, free_threaded_python, gil)
    first = result.stderr.splitlines()[0]
    assert first.startswith("giltrace: ") and "free-threaded" in first and "off" in first
    assert "PYTHON_GIL=1" in result.stderr
    for window in result.facts["busy"]:
        thread = result.timeline.threads[window["tid"]]
        assert (thread["has_gil_ns"], thread["acquired"]) == (0, 0)


def check_no_waits(result):
    for window in result.facts["busy"]:
        thread = result.timeline.threads[window["tid"]]
        assert thread["gil_wait_ns"] == 0
        assert thread["no_gil_ns"] == thread["total_ns"]


def test_nobody_waits_for_a_gil_that_is_off(giltrace, free_threaded_python):
    result = trace_with_the_gil_off(giltrace, free_threaded_python, {"PYTHON_GIL": "0"})
    check_no_waits(result)
    assert result.summary["blame"] == []
    threads = result.timeline.threads.values()
    assert all(thread["has_gil_ns"] == thread["gil_wait_ns"] == 0 for thread in threads)


def test_nobody_waits_for_a_gil_that_has_been_turned_off(giltrace, free_threaded_python):
    """By default it is on for moments while the main thread imports extension modules."""
    check_no_waits(trace_with_the_gil_off(giltrace, free_threaded_python, {}))


def test_a_gil_that_is_off_is_not_said_with_quiet(giltrace, free_threaded_python):
    result = giltrace.run(
        *["-q", "--python", free_threaded_python.path, "-c", "pass"], env=environment({})
    )
    assert (result.status, result.stderr) == (0, "")


@undisturbed
def test_a_gil_that_is_turned_on_gives_the_same_figures(giltrace, free_threaded_python):
    result = giltrace.workload(
        free_threaded_python, "busy_threads", 2, 2, env=environment({"PYTHON_GIL": "1"})
    )
    check_busy_threads(result)
    assert "off" not in result.stderr
    assert 0.97 <= both_live(result) <= 1.0
    (process,) = result.summary["processes"]
    assert len(process["gils"]) == 1
    for first, second in itertools.permutations(result.facts["busy"], 2):
        blamed = [
            blame["ns"]
            for blame in result.summary["blame"]
            if (blame["waiter"], blame["holder"]) == (first["tid"], second["tid"])
        ]
        thread = result.timeline.threads[first["tid"]]
        assert sum(blamed) >= 0.9 * thread["gil_wait_ns"]
