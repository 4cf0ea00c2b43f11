"""Threads that end, and tell on one CPU what they have counted on all of them."""

import os

import pytest

CPUS = len(os.sched_getaffinity(0))


@pytest.mark.skipif(CPUS < 2, reason="on one CPU, nobody else writes meanwhile")
def test_ends_disturb_no_other_cpu(giltrace, some_interpreter):
    """Hundreds of them: a ring that two CPUs write to at once breaks sooner, the larger records are."""
    giltrace.timelines = False
    result = giltrace.workload(
        some_interpreter,
        "ending_threads",
        2,
        options=["--state-detect", "--stack-size", "4096", "-v"],
    )
    assert "was broken" not in result.stderr
    summary = result.summary
    assert (summary["lost"], summary["state_lost"], summary["wakeups_lost"]) == (0, 0, 0)
    (process,) = summary["processes"]
    threads = process["threads"]
    assert len(threads) == result.facts["ended"] + 3
    astray = []
    for thread in threads:
        assert thread["state"]["unknown_ns"] == 0
        # Told by two ways that know nothing of one another. The counter counts what it takes to
        # tell of a switch as well.
        clock_ns, running_ns = thread["counters"]["task_clock_ns"], thread["state"]["running_ns"]
        if not 0.9 * running_ns - 1e6 <= clock_ns <= 1.5 * running_ns + 1e6:
            astray.append((running_ns, clock_ns))
    # When the kernel has taken a thread's events away, it tells of no switch any more, but only then
    # of the end: one that has to wait in between seems to run.
    assert len(astray) <= 0.01 * len(threads), astray
