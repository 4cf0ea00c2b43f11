"""The figures that must come out, whatever the interpreter."""

import os
import subprocess

import pytest

from timeline import overlap_ns
from undisturbed import undisturbed

SECOND = 10**9


@pytest.fixture
def loaded_machine():
    """Twice as many busy loops as there are CPUs."""
    loops = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * os.cpu_count())
    ]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def check_busy_threads(result):
    """What two threads that only compute must give, on any number of CPUs."""
    result.timeline.check()
    assert result.summary["lost"] == 0
    for window in result.facts["busy"]:
        assert result.timeline.wanted_share(window) >= 0.99
        thread = result.timeline.threads[window["tid"]]
        assert abs(thread["acquired"] - takes(result, window["tid"])) <= 1


def takes(result, tid):
    """How often a thread held the GIL, by its intervals."""
    return len(result.timeline.held[tid])


def both_live(result):
    """How much of the time in which all busy threads live they held the GIL, together."""
    threads = [result.timeline.threads[window["tid"]] for window in result.facts["busy"]]
    start = max(thread["start_ns"] for thread in threads)
    end = min(thread["end_ns"] for thread in threads)
    held = sum(overlap_ns(result.timeline.held[thread["tid"]], start, end) for thread in threads)
    return held / (end - start)


@undisturbed
def test_two_busy_threads_share_the_gil(giltrace, any_interpreter):
    result = giltrace.workload(any_interpreter, "busy_threads", 2, 2)
    check_busy_threads(result)
    assert result.summary["found_by"] == ("sites" if any_interpreter.stripped else "symbols")
    for window in result.facts["busy"]:
        thread = result.timeline.threads[window["tid"]]
        assert 0.40 <= thread["has_gil_ns"] / thread["total_ns"] <= 0.60
        assert 0.40 <= thread["gil_wait_ns"] / thread["total_ns"] <= 0.60
        assert thread["contended"] > 20
    assert 0.97 <= both_live(result) <= 1.0


@undisturbed
def test_main_thread_in_join_has_no_gil(giltrace, any_interpreter):
    result = giltrace.workload(any_interpreter, "busy_threads", 1, 2)
    join = result.facts["join"]
    assert result.timeline.free_ns(join) >= 0.99 * (join["end_ns"] - join["start_ns"])
    main = result.timeline.threads[join["tid"]]
    assert main["main"]
    assert sum(thread["main"] for thread in result.timeline.threads.values()) == 1


@undisturbed
def test_two_busy_threads_on_one_cpu(giltrace, any_interpreter):
    result = giltrace.workload(any_interpreter, "busy_threads", 1, 2, prefix=["taskset", "-c", "1"])
    check_busy_threads(result)
    assert both_live(result) <= 1.0


@undisturbed
def test_two_busy_threads_on_a_loaded_machine(giltrace, some_interpreter, loaded_machine):
    check_busy_threads(giltrace.workload(some_interpreter, "busy_threads", 2, 2))


def has_multiprocessing(interpreter):
    """It lacks modules in some builds, and /dev/shm in some roots."""
    code = "import multiprocessing; multiprocessing.get_context('fork').SimpleQueue()"
    return subprocess.run([interpreter.path, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
@undisturbed
def test_two_busy_processes_do_not_wait(giltrace, any_interpreter, method):
    if not has_multiprocessing(any_interpreter):
        pytest.skip("multiprocessing does not work in this Python")
    result = giltrace.workload(any_interpreter, "busy_processes", 1.5, method)
    result.timeline.check()
    pids = {window["tid"] for window in result.facts["busy"]}
    assert len(pids) == 2
    for window in result.facts["busy"]:
        tid, start, end = window["tid"], window["start_ns"], window["end_ns"]
        held = overlap_ns(result.timeline.held[tid], start, end)
        waited = overlap_ns(result.timeline.waits[tid], start, end)
        assert result.timeline.pid_of[tid] == tid
        assert result.timeline.threads[tid]["main"]
        assert held / (end - start) > 0.95
        assert waited / (end - start) < 0.01


@undisturbed
def test_a_sleeping_thread_has_no_gil(giltrace, any_interpreter):
    result = giltrace.workload(any_interpreter, "sleeping_thread", 1)
    result.timeline.check()
    (sleep,) = result.facts["sleeps"]
    for window in (sleep, result.facts["join"]):
        assert result.timeline.free_ns(window) > 0.99 * (window["end_ns"] - window["start_ns"])


@undisturbed
def test_short_sleeps_beside_a_busy_thread_are_no_wait(giltrace, any_interpreter):
    result = giltrace.workload(any_interpreter, "short_sleeps", 1)
    result.timeline.check()
    sleeps = result.facts["sleeps"]
    assert len(sleeps) > 20
    # Each window holds 1 ms of sleep and the wait behind it, so less than 1 ms free means that some
    # of the sleep was taken for a wait.
    too_short = [window for window in sleeps if result.timeline.free_ns(window) < 990_000]
    assert not too_short
    (busy,) = result.facts["busy"]
    assert result.timeline.wanted_share(busy) >= 0.99


@undisturbed
def test_writers_beside_a_busy_thread(giltrace, any_interpreter):
    result = giltrace.workload(any_interpreter, "writers", 1)
    result.timeline.check()
    assert result.summary["lost"] == 0
    (busy,) = result.facts["busy"]
    assert result.timeline.wanted_share(busy) >= 0.98
    # Writers that find the lock taken wait on its mutex, mostly: without those waits, next to none.
    writers = [
        thread
        for thread in result.timeline.threads.values()
        if not thread["main"] and thread["tid"] != busy["tid"]
    ]
    assert len(writers) == 4
    assert sum(thread["gil_wait_ns"] for thread in writers) > 0.5 * SECOND


@undisturbed
def test_round_trips_lose_nothing(giltrace, some_interpreter):
    count = 200_000
    giltrace.timelines = False
    result = giltrace.workload(some_interpreter, "round_trips", count, 1)
    (loop,) = result.facts["loops"]
    (process,) = result.summary["processes"]
    (thread,) = (thread for thread in process["threads"] if thread["tid"] == loop["tid"])
    assert result.summary["lost"] == 0
    assert thread["unknown_ns"] == 0
    assert count <= thread["acquired"] <= count * 1.01
    assert result.summary["events"] >= 3 * count


@undisturbed
def test_two_threads_of_round_trips(giltrace, some_interpreter):
    """Each takes what the other has just let go of: the hardest case for the order of events."""
    result = giltrace.workload(some_interpreter, "round_trips", 20_000, 2)
    result.timeline.check()
    assert result.summary["lost"] == 0
    for loop in result.facts["loops"]:
        assert result.timeline.threads[loop["tid"]]["acquired"] >= 20_000


def test_many_short_lived_threads(giltrace, some_interpreter):
    result = giltrace.workload(some_interpreter, "many_threads", 200)
    result.timeline.check()
    tids = result.facts["tids"]
    assert len(tids) == 200
    # The kernel may give an id to a second thread after the first one's end.
    assert set(tids) <= set(result.timeline.threads)
    every = [thread for process in result.summary["processes"] for thread in process["threads"]]
    assert len(every) == 201
    assert all(thread["acquired"] > 0 for thread in every)
