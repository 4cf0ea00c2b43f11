"""The intervals of GIL and states as the Chrome JSON has them, and what must hold for them always."""

import itertools
import json
import re
from decimal import Decimal

HELD = "GIL held"
WAIT = "GIL wait"
RUNNABLE, UNKNOWN_STATE = "R", "state unknown"  # any other slice of a state is a sleep


def parse(text):
    """JSON whose fractions stay exact: times are µs with three decimals."""
    return json.loads(text, parse_float=Decimal)


def nanoseconds(microseconds):
    ns = microseconds * 1000
    assert ns == int(ns), f"{microseconds} µs is no whole number of ns"
    return int(ns)


def overlap_ns(intervals, start_ns, end_ns):
    """How much of a window the intervals cover."""
    return sum(max(0, min(end, end_ns) - max(start, start_ns)) for start, end in intervals)


def _key_of_state(name):
    """Where the summary has the time of slices of this name."""
    if name == RUNNABLE:
        return "runnable_ns"
    if name == UNKNOWN_STATE:
        return "unknown_ns"
    return "disk_ns" if re.fullmatch(r"D(\(.*\))?", name) else "sleep_ns"


class BrokenTimelineError(Exception):
    """No AssertionError: no other work that a machine has is an excuse, so nothing is tried again."""


class Timeline:
    """Intervals by thread: of the GIL held, waited for, and not known."""

    def __init__(self, summary, chrome):
        self.summary = summary
        self.threads = {
            thread["tid"]: thread
            for process in summary["processes"]
            for thread in process["threads"]
        }
        self.pid_of = {
            thread["tid"]: process["pid"]
            for process in summary["processes"]
            for thread in process["threads"]
        }
        self.held = {tid: [] for tid in self.threads}
        self.waits = {tid: [] for tid in self.threads}
        self.unknown = {tid: [] for tid in self.threads}
        self.states = {tid: [] for tid in self.threads}  # with the name before each
        self.holds = {  # by GIL, with the holder
            (process["pid"], gil["id"]): []
            for process in summary["processes"]
            for gil in process["gils"]
        }
        self._read(chrome["traceEvents"])

    def _read(self, events):
        tid_of_track, tid_of_state = {}, {}
        for event in events:
            if event["ph"] == "M" and event["name"] == "thread_name":
                match = re.search(r" \((\d+)\) (GIL|state)$", event["args"]["name"])
                if match:
                    tracks = tid_of_track if match.group(2) == "GIL" else tid_of_state
                    tracks[event["pid"], event["tid"]] = int(match.group(1))
        for event in events:
            track = (event.get("pid"), event.get("tid"))
            if event["ph"] != "X" or not (track in tid_of_track or track in tid_of_state):
                continue
            start = nanoseconds(event["ts"])
            interval = (start, start + nanoseconds(event["dur"]))
            if track in tid_of_state:
                self.states[tid_of_state[track]].append((event["name"], *interval))
                continue
            tid = tid_of_track[track]
            kinds = {HELD: self.held, WAIT: self.waits}
            kinds.get(event["name"], self.unknown)[tid].append(interval)
            if event["name"] == HELD:
                self.holds[event["pid"], event["args"]["gil"]].append((*interval, tid))

    def wanted_share(self, window):
        """The part of a window in which its thread had the GIL or waited for it."""
        tid, start, end = window["tid"], window["start_ns"], window["end_ns"]
        both = self.held[tid] + self.waits[tid]
        return overlap_ns(both, start, end) / (end - start)

    def free_ns(self, window):
        """The time in a window in which its thread neither had the GIL nor waited for it."""
        tid, start, end = window["tid"], window["start_ns"], window["end_ns"]
        known = self.held[tid] + self.waits[tid] + self.unknown[tid]
        return end - start - overlap_ns(known, start, end)

    def check(self):
        """Raises BrokenTimelineError unless everything holds that is true of any trace."""
        try:
            self._check()
        except AssertionError as error:
            raise BrokenTimelineError(error) from error

    def _check(self):
        for tid, thread in self.threads.items():
            self._check_states(tid, thread)
            if self.summary["probe"] != "none":
                self._check_thread(tid, thread)
        if self.summary["probe"] != "none":
            self._check_holders()
            self._check_sums()

    def named(self, window, name):
        """The time in a window in which its thread was in the state of this name."""
        slices = [(start, end) for found, start, end in self.states[window["tid"]] if found == name]
        return overlap_ns(slices, window["start_ns"], window["end_ns"])

    def _check_thread(self, tid, thread):
        total = thread["end_ns"] - thread["start_ns"]
        assert thread["total_ns"] == total
        assert (
            thread["has_gil_ns"]
            + thread["gil_wait_ns"]
            + thread["no_gil_ns"]
            + thread["unknown_ns"]
            == total
        ), f"the parts of thread {tid} are not its whole: {thread}"
        for intervals, key in (
            (self.held, "has_gil_ns"),
            (self.waits, "gil_wait_ns"),
            (self.unknown, "unknown_ns"),
        ):
            drawn = sum(end - start for start, end in intervals[tid])
            assert drawn == thread[key], f"{key} of {tid}: {drawn} in the timeline, {thread[key]}"
        every = sorted(self.held[tid] + self.waits[tid] + self.unknown[tid])
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(every))
        if every:
            assert thread["start_ns"] <= every[0][0] and every[-1][1] <= thread["end_ns"]

    def _check_states(self, tid, thread):
        """No slice while running; the others add up to the summary, and with it to the life."""
        state = thread["state"]
        drawn = {"runnable_ns": 0, "unknown_ns": 0, "sleep_ns": 0, "disk_ns": 0}
        if state is None:
            assert not self.states[tid]
            return
        for name, start, end in self.states[tid]:
            drawn[_key_of_state(name)] += end - start
        if state["disk_ns"] is None:
            assert drawn.pop("disk_ns") == 0, "nobody can have seen that"
        assert drawn.items() <= state.items(), f"states of {tid}: {drawn} are drawn of {state}"
        assert state["running_ns"] + sum(drawn.values()) == thread["total_ns"]
        if state["sleep_gil_ns"] is not None:
            assert state["sleep_gil_ns"] <= state["sleep_ns"]
            if thread["gil_wait_ns"] is not None:
                assert state["sleep_gil_ns"] <= thread["gil_wait_ns"]
        if state["sleep"] is not None:
            assert sum(state["sleep"].values()) == state["sleep_ns"]
            assert sum(state["uninterruptible"].values()) == state["disk_ns"]
        every = sorted((start, end) for _, start, end in self.states[tid])
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(every))
        if every:
            assert thread["start_ns"] <= every[0][0] and every[-1][1] <= thread["end_ns"]

    def _check_holders(self):
        """One holder at a time, of each GIL."""
        for gil, holds in self.holds.items():
            for first, second in itertools.pairwise(sorted(holds)):
                assert first[1] <= second[0], f"two holders of {gil}: {first} and {second}"

    def _check_sums(self):
        blamed = {}
        for blame in self.summary["blame"]:
            assert blame["waiter"] != blame["holder"]
            blamed[blame["waiter"]] = blamed.get(blame["waiter"], 0) + blame["ns"]
        for process in self.summary["processes"]:
            threads = process["threads"]
            for gil in process["gils"]:
                holds = self.holds[process["pid"], gil["id"]]
                assert gil["held_ns"] == sum(end - start for start, end, _ in holds)
                assert gil["held_ns"] <= self.summary["end_ns"] - self.summary["start_ns"]
            for key, part in (("held_ns", "has_gil_ns"), ("waited_ns", "gil_wait_ns")):
                of_gils = sum(gil[key] for gil in process["gils"])
                assert of_gils == sum(thread[part] for thread in threads)
            for thread in threads:
                assert blamed.get(thread["tid"], 0) == thread["gil_wait_ns"]
                assert thread["contended"] <= thread["acquired"]
