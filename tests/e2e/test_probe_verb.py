"""giltrace probe: probes that an administrator installs once, for others to record with stock perf."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from test_numbers import both_live
from test_refusals import NOT_POSSIBLE, check_message

import interpreters
import probes
from runner import perf_script

KINDS = {"take", "acquired", "release", "switched"}


@pytest.fixture
def group():
    """A name for a group, which is gone after the test."""
    name = f"gil_test_{os.getpid()}"
    yield name
    probes.remove_group(name)


def add(giltrace, python, group, **options):
    result = giltrace.run("probe", "add", "--python", python, "--group", group, **options)
    assert result.status == 0, result.stderr
    return result


def delete(giltrace, group):
    result = giltrace.run("probe", "del", "--group", group)
    assert (result.status, result.stderr) == (0, "")


def kinds(group):
    return {line.split()[0].split("/")[1] for line in probes.definitions(group)}


def record(giltrace, group, command, options=()):
    """Runs COMMAND under stock perf, as a person would who knows nothing of giltrace."""
    data = giltrace.folder / "perf.data"
    perf = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-m", "8M", "-e", f"{group}:*"]
    subprocess.run([*perf, *options, "-o", data, *command], check=True, capture_output=True)
    return data


def report(giltrace, data):
    result = giltrace.run("report", *giltrace.outputs(), data)
    assert result.status == 0, result.stderr
    giltrace.collect(result).timeline.check()
    assert result.summary["lost"] == 0
    return result


class TestUse:
    pytestmark = pytest.mark.usefixtures("perf")

    def test_recorded_by_stock_perf(self, giltrace, any_interpreter, group):
        python = any_interpreter
        said = add(giltrace, python.path, group).stderr
        assert f"-e '{group}:*'" in said and "-k CLOCK_MONOTONIC" in said
        assert kinds(group) == KINDS
        giltrace.facts = giltrace.folder_for(python) / "facts.json"
        script = giltrace.script(python, "busy_threads")
        facts = python.inside(giltrace.facts)
        data = record(giltrace, group, [python.path, script, facts, "1", "2"])
        delete(giltrace, group)
        assert probes.definitions(group) == []
        # The probes are gone, and the file speaks for itself.
        result = report(giltrace, data)
        assert result.summary["events"] == len(perf_script(data)) > 500
        assert result.summary["inferred"] <= 2
        if python.root != "/" and python.minor <= 12:
            # perf names the file as its process saw it, and which calls take the GIL back after a
            # request cannot be looked up in it.
            assert "waits of threads that were asked to let go are not all" in result.stderr
            return
        for window in result.facts["busy"]:
            assert result.timeline.wanted_share(window) >= 0.97
            thread = result.timeline.threads[window["tid"]]
            assert 0.35 <= thread["has_gil_ns"] / thread["total_ns"] <= 0.65
        assert 0.90 <= both_live(result) <= 1.0

    def test_every_python_of_a_whole_system(self, giltrace, python, group):
        """The probes are on a file: two programs that have nothing to do with each other."""
        add(giltrace, python.path, group)
        code = "sum(range(3000000))"
        both = f"{python.path} -c '{code}' & {python.path} -c '{code}'; wait"
        result = report(giltrace, record(giltrace, group, ["sh", "-c", both], ["-a"]))
        holding = [process for process in result.summary["processes"] if process["gils"]]
        assert len(holding) >= 2
        for process in holding:
            assert len(process["gils"]) == 1

    def test_other_events_in_the_group_are_passed_over(self, giltrace, python, group):
        add(giltrace, python.path, group)
        (take,) = (line for line in probes.definitions(group) if f"{group}/take" in line)
        probes.add(take.replace(f"{group}/take", f"{group}/other"))
        code = "import time; time.sleep(0.01)"
        data = record(giltrace, group, [python.path, "-c", code])
        counts = [event for _, _, event in perf_script(data)]
        assert counts.count("other") == counts.count("take") > 0
        assert report(giltrace, data).summary["events"] == len(counts) - counts.count("other")

    def test_giltrace_itself_runs_beside_them(self, giltrace, python, group):
        add(giltrace, python.path, group)
        before = probes.definitions(group)
        result = giltrace.workload(python, "busy_threads", 0.3, 2)
        result.timeline.check()
        assert result.summary["lost"] == result.summary["inferred"] == 0
        assert probes.definitions(group) == before


class TestList:
    def test_each_probe_with_its_file_and_offset(self, giltrace, python, group):
        add(giltrace, python.path, group)
        result = giltrace.run("probe", "list", "--group", group)
        assert (result.status, result.stderr) == (0, "")
        listed = result.stdout.decode().splitlines()
        assert len(listed) == len(probes.definitions(group))
        for line in listed:
            match = re.fullmatch(rf"{group}:(\w+) (\S+):0x([0-9a-f]+)", line)
            assert match.group(1) in KINDS
            assert os.path.samefile(match.group(2), python.gil_file)
        every = giltrace.run("probe", "list").stdout.decode().splitlines()
        assert set(listed) <= set(every)

    def test_others_are_no_business_of_giltrace(self, giltrace, python, group):
        probes.add(f"p:{group}/other {python.gil_file}:0x1000")
        result = giltrace.run("probe", "list", "--group", group)
        assert (result.status, result.stdout) == (0, b"")

    def test_nothing_to_list(self, giltrace, group):
        result = giltrace.run("probe", "list", "--group", group)
        assert (result.status, result.stdout, result.stderr) == (0, b"", "")


class TestNames:
    @pytest.mark.parametrize(
        "name",
        ["", "1gil", "a b", "a/b", "a:b", "a.b", "-gil", "gîl", "*", "a\nb", "a" * 64],
        ids=repr,
    )
    def test_bad(self, giltrace, python, name):
        before = probes.groups()
        result = giltrace.run("probe", "add", "--python", python.path, "--group", name)
        assert result.status == NOT_POSSIBLE
        assert result.stderr.startswith("giltrace: ")
        assert "is no name for a group of probes" in result.stderr
        # Those of a giltrace that runs beside this test come and go.
        assert not [g for g in probes.groups() - before if not g.startswith("giltrace_")]

    @pytest.mark.parametrize("name", ["giltrace_x", "giltrace_1"])
    def test_one_that_would_be_removed_as_a_leftover(self, giltrace, python, name):
        result = giltrace.run("probe", "add", "--python", python.path, "--group", name)
        assert result.status == NOT_POSSIBLE
        check_message(result, name, "--group")
        assert name not in probes.groups()

    def test_longest(self, giltrace, python, group):
        name = group + "x" * (63 - len(group))
        try:
            add(giltrace, python.path, name)
            assert kinds(name) == KINDS
            delete(giltrace, name)
        finally:
            probes.remove_group(name)

    def test_dash_that_the_kernel_takes_is_one_that_perf_takes(self, giltrace, python, perf):
        name = f"gil-{os.getpid()}"
        try:
            if giltrace.run("probe", "add", "--python", python.path, "--group", name).status == 0:
                record(giltrace, name, [python.path, "-c", "pass"])
        finally:
            probes.remove_group(name)

    def test_added_twice(self, giltrace, python, group):
        add(giltrace, python.path, group)
        before = probes.definitions(group)
        result = giltrace.run("probe", "add", "--python", python.path, "--group", group)
        assert result.status == NOT_POSSIBLE
        check_message(result, group, "already", f"giltrace probe del --group {group}")
        assert probes.definitions(group) == before

    def test_group_of_another_tool(self, giltrace, python, group):
        probes.add(f"p:{group}/other {python.gil_file}:0x1000")
        before = probes.definitions(group)
        result = giltrace.run("probe", "add", "--python", python.path, "--group", group)
        assert result.status == NOT_POSSIBLE
        check_message(result, group)
        assert probes.definitions(group) == before

    def test_no_python(self, giltrace, group):
        result = giltrace.run("probe", "add", "--python", "/bin/ls", "--group", group)
        assert result.status == NOT_POSSIBLE
        check_message(result, "/bin/ls")
        assert probes.definitions(group) == []

    def test_no_such_python(self, giltrace, group):
        result = giltrace.run("probe", "add", "--python", "/nonexistent", "--group", group)
        assert result.status == 127
        check_message(result, "/nonexistent")

    @pytest.mark.parametrize("words", [[], ["remove"], ["add", "del"]], ids=" ".join)
    def test_no_action(self, giltrace, words):
        result = giltrace.run("probe", *words)
        assert result.status == NOT_POSSIBLE
        check_message(result)


class TestDelete:
    def test_a_group_that_is_not_there(self, giltrace, group):
        result = giltrace.run("probe", "del", "--group", group)
        assert result.status == NOT_POSSIBLE
        check_message(result, group, "giltrace probe list")

    def test_only_events_of_the_gil(self, giltrace, python, group):
        """Neither another event in the same group, nor any of another group."""
        foreign = f"{group}_foreign"
        try:
            add(giltrace, python.path, group)
            probes.add(f"p:{group}/other {python.gil_file}:0x1000")
            probes.add(f"p:{foreign}/take {python.gil_file}:0x1000")
            delete(giltrace, group)
            assert kinds(group) == {"other"}
            assert kinds(foreign) == {"take"}
        finally:
            probes.remove_group(foreign)

    @pytest.mark.parametrize("event", ["take", "switched"])
    def test_in_use(self, giltrace, python, group, perf, event):
        add(giltrace, python.path, group)
        before = [line for line in probes.definitions(group) if f"{group}/{event}" in line]
        recording = ["perf", "record", "-q", "-e", f"{group}:{event}", "-o", "used.data"]
        process = subprocess.Popen(
            [*recording, "sleep", "30"], cwd=giltrace.folder, stderr=subprocess.DEVNULL
        )
        try:
            wait_for_recording(process)
            result = giltrace.run("probe", "del", "--group", group)
            assert result.status == NOT_POSSIBLE
            check_message(result, f"{group}:{event}", "busy")
            after = probes.definitions(group)
            assert [line for line in after if f"{group}/{event}" in line] == before
        finally:
            process.terminate()
            process.wait()
        delete(giltrace, group)
        assert probes.definitions(group) == []

    def test_of_a_running_giltrace(self, giltrace, python):
        from test_probes import start_waiting

        process = start_waiting(giltrace, python, *giltrace.outputs())
        own = f"giltrace_{process.pid}"
        before = probes.definitions(own)
        result = giltrace.run("probe", "del", "--group", own)
        assert result.status == NOT_POSSIBLE
        assert probes.definitions(own) == before != []
        process.terminate()
        giltrace.collect(giltrace.finish(process)).timeline.check()


def wait_for_recording(process):
    """Until perf has started its program, which it does behind opening the events."""
    deadline = time.monotonic() + 10
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not any(is_running(pid, "sleep") for pid in children.read_text().split()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)


def is_running(pid, name):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == name
    except OSError:
        return False


ODD_NAMES = [
    b"with blank",
    b"with:colon",
    b'with "both" quote\'s',
    b"with\ttab",
    b"with\nbreak",
    b"with#hash",
    b"with\\backslash",
    b"with%d(return)",
    b"\xff\xfe no UTF-8",
]


class TestOddPaths:
    """Each an interpreter of its own, by copy, as the kernel names files by their real path."""

    @pytest.fixture(params=ODD_NAMES, ids=lambda name: name.decode(errors="replace"))
    def odd(self, open_folder, request):
        whole = interpreters.of_one_file()
        if not whole:
            pytest.skip("no Python was found that is one file")
        folder = os.fsencode(open_folder) + b"/" + request.param
        os.mkdir(folder)
        return shutil.copy2(os.fsencode(whole[0].gil_file), folder + b"/python3")

    def test_traced(self, giltrace, odd):
        code = "import threading as t; t.Thread(target=sum, args=(range(10**6),)).start()"
        result = giltrace.trace("--python", odd, "-c", code)
        result.timeline.check()
        assert result.summary["probe"] == "uprobe"
        (process,) = result.summary["processes"]
        assert len(process["threads"]) == 2
        assert all(thread["acquired"] > 0 for thread in process["threads"])
        # JSON has no other bytes than text.
        assert process["python"]["path"] == odd.decode(errors="backslashreplace")

    def test_doctor(self, giltrace, odd):
        result = giltrace.run("doctor", "--python", odd)
        assert result.status == 0, result.stdout

    def test_probes_for_perf(self, giltrace, odd, group, perf):
        add(giltrace, odd, group)
        assert kinds(group) == KINDS
        listed = giltrace.run("probe", "list", "--group", group).stdout.splitlines()
        assert len(listed) == len(probes.definitions(group)) > 0
        data = record(giltrace, group, [odd, "-c", "import time; time.sleep(0.01)"])
        result = report(giltrace, data)
        (process,) = result.summary["processes"]
        assert process["threads"][0]["acquired"] > 0
        delete(giltrace, group)
        assert probes.definitions(group) == []
