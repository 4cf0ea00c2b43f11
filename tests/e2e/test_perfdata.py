"""Our files in stock perf, and stock perf's files in giltrace: the same events, one by one."""

import collections
import contextlib
import os
import subprocess

import pytest
from test_numbers import both_live
from test_probes import start_waiting

import probes
from runner import WORKLOADS, perf_script
from timeline import overlap_ns
from undisturbed import undisturbed

pytestmark = pytest.mark.usefixtures("perf")


def test_perf_script_shows_the_same_events(giltrace, interpreter):
    result = giltrace.workload(interpreter, "busy_threads", 0.5, 2, options=["--keep-data", "data"])
    samples = perf_script(giltrace.folder / "data" / "gil.perf.data")
    assert len(samples) == result.summary["events"]
    times = collections.defaultdict(set)
    for tid, ns, event in samples:
        times[tid, event].add(ns)
    # Up to 3.12 a request may always be met before its thread looks, and switched never come.
    assert {event for _, event in times} | {"switched"} == {
        "take",
        "acquired",
        "release",
        "switched",
    }
    for window in result.facts["busy"]:
        counts = [len(times[window["tid"], name]) for name in ("take", "acquired", "release")]
        assert max(counts) - min(counts) <= 1, counts
    for tid, thread in result.timeline.threads.items():
        assert thread["acquired"] == len(times[tid, "acquired"])
        assert thread["switched"] == len(times[tid, "switched"])
        ends = result.timeline.held[tid][:-1] if thread["main"] else result.timeline.held[tid]
        missing = [end for _, end in ends if end not in times[tid, "release"]]
        assert len(missing) <= result.summary["inferred"]
        starts = [start for start, _ in result.timeline.held[tid]]
        missing = [start for start in starts if start not in times[tid, "acquired"]]
        assert len(missing) <= result.summary["inferred"]


def test_perf_report_opens_it(giltrace, python):
    giltrace.run("-q", "--keep-data", "data", "--python", python.path, "-c", "pass")
    done = subprocess.run(
        ["perf", "report", "-i", giltrace.folder / "data" / "gil.perf.data", "--stdio"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    for event in ("take", "acquired", "release"):
        assert f"/{event}'" in done.stdout or f":{event}'" in done.stdout


def test_kept_data_give_the_same_report_later(giltrace, some_interpreter):
    first = giltrace.workload(
        some_interpreter, "busy_threads", 0.5, 2, options=["--keep-data", "data"]
    )
    for source in ("data", "data/gil.perf.data"):
        again = giltrace.run("report", *giltrace.outputs(), source)
        assert again.status == 0, again.stderr
        giltrace.collect(again).timeline.check()
        assert again.summary["processes"][0]["threads"] == first.summary["processes"][0]["threads"]
        assert again.summary["blame"] == first.summary["blame"]
        assert again.summary["events"] == first.summary["events"]


def test_record_then_report(giltrace, python):
    recorded = giltrace.run("record", "--keep-data", "data", "--python", python.path, "-c", "pass")
    assert recorded.status == 0, recorded.stderr
    assert os.listdir(giltrace.folder) == ["data"]
    reported = giltrace.run("report", "data")
    assert reported.status == 0, reported.stderr
    assert "has gil%" in reported.stderr
    assert os.listdir(giltrace.folder) == ["data"], "report writes a page only with -o"


def check_states(result):
    """Between their start and their end two threads that compute are never asleep but for the GIL."""
    wall = result.summary["end_ns"] - result.summary["start_ns"]
    states = {tid: thread["state"] for tid, thread in result.timeline.threads.items()}
    assert sum(state["running_ns"] for state in states.values()) <= wall * os.cpu_count()
    for window in result.facts["busy"]:
        tid, state = window["tid"], states[window["tid"]]
        assert state["unknown_ns"] == 0 and state["running_ns"] > 0 and state["sleep_gil_ns"] > 0
        slept = [(start, end) for name, start, end in result.timeline.states[tid] if name == "S"]
        other = overlap_ns(slept, window["start_ns"], window["end_ns"])
        assert other <= 0.02 * (window["end_ns"] - window["start_ns"])
    (main,) = (tid for tid, thread in result.timeline.threads.items() if thread["main"])
    assert states[main]["sleep_ns"] >= 0.5 * wall, "it joins the others"


@contextlib.contextmanager
def same_probes_in_another_group(giltrace, interpreter):
    """What an administrator may have set up: the probes are there with no giltrace running."""
    group = f"giltrace_test_{os.getpid()}"
    process = start_waiting(giltrace, interpreter, "-q")
    try:
        for line in probes.definitions(f"giltrace_{process.pid}"):
            probes.add(line.replace(f"giltrace_{process.pid}", group))
        process.terminate()
        giltrace.finish(process)
        yield group
    finally:
        process.kill()
        probes.remove_group(group)


@pytest.mark.parametrize(
    "options", [[], ["-z"], ["--switch-events"]], ids=["plain", "compressed", "states"]
)
@undisturbed
def test_file_of_stock_perf(giltrace, some_interpreter, options):
    data = giltrace.folder / "perf.data"
    facts = giltrace.folder / "facts.json"
    workload = [some_interpreter.path, WORKLOADS / "busy_threads.py", facts, "1", "2"]
    with same_probes_in_another_group(giltrace, some_interpreter) as group:
        record = f"perf record -q -k CLOCK_MONOTONIC -m 8M -e {group}:*".split()
        subprocess.run([*record, *options, "-o", data, *workload], check=True, capture_output=True)
    result = giltrace.run("report", *giltrace.outputs(), data)
    assert result.status == 0, result.stderr
    giltrace.collect(result)
    result.timeline.check()
    assert result.summary["events"] == len(perf_script(data)) > 500
    assert result.summary["lost"] == 0
    assert 0.90 <= both_live(result) <= 1.0
    for window in result.facts["busy"]:
        assert result.timeline.wanted_share(window) >= 0.95
    if "--switch-events" in options:
        check_states(result)
