"""What messages tell people to do is what helps."""

import json
import os
import resource
import shutil

import pytest


@pytest.mark.parametrize("part", ["gil.perf.data", "state.perf.data", "gil.agent"])
def test_one_part_of_a_recording(giltrace, python, part):
    giltrace.run(
        *["record", "--probe", "agent", "--state-detect", "--keep-data", "data"],
        *["--python", python.path, "-c", "pass"],
    )
    result = giltrace.run("report", f"data/{part}")
    assert result.status == 125
    assert result.stderr.splitlines()[1] == "  give the directory: giltrace report data/"


def test_buffer_that_is_too_small_is_made_larger(giltrace, python):
    for way in ("agent", "uprobe"):
        result = giltrace.run(
            *["record", "--probe", way, "--buffer-size", "1", "--keep-data", "data"],
            *["--python", python.path, "-c", "print(1)"],
        )
        assert (result.status, result.stdout) == (0, b"1\n"), result.stderr


def test_too_few_descriptors(giltrace, python):
    result = giltrace.run(
        *["--probe", "agent", "--state-detect", "--python", python.path, "-c", "print(1)"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)),
    )
    if result.status != 0:
        assert "oo many open files" in result.stderr and "ulimit -n" in result.stderr
    assert "Bad file descriptor" not in result.stderr


@pytest.mark.parametrize("way", ["uprobe", "both"])
def test_probes_without_rights(as_user, system_python, way):
    result = as_user("record", "--probe", way, "--python", system_python.path, "-c", "pass")
    assert result.status == 125
    assert "run giltrace as root" in result.stderr
    assert "leave --probe out" in result.stderr


def test_nothing_to_compare_with_is_said_once(giltrace, python):
    giltrace.run(
        *["record", "--probe", "both", "--keep-data", "data", "--python", python.path],
        *["-c", "pass"],
    )
    (giltrace.folder / "data" / "gil.agent").unlink()
    result = giltrace.run("report", "data")
    assert result.status == 0
    assert result.stderr.count("gil.agent") == 1


def test_doctor_names_the_cause_in_the_row(giltrace, python):
    result = giltrace.run(
        *["doctor", "--python", python.path],
        env={**os.environ, "GILTRACE_AGENT_FILE": "/nonexistent"},
    )
    lines = result.stdout.decode().splitlines()
    (row,) = (line for line in lines if line.startswith("agent "))
    assert "/nonexistent was not found" in row
    assert "unset GILTRACE_AGENT_FILE" in lines[lines.index(row) + 1]
    assert all(line == line.rstrip() for line in lines)


def test_agents_price_is_no_wait(giltrace, python):
    code = "import os\nnull = os.open(os.devnull, 1)\nfor _ in range(10**6): os.write(null, b'')"
    result = giltrace.run("--probe", "agent", "--python", python.path, "-c", code)
    assert result.status == 0, result.stderr
    assert "Probing itself took about" in result.stderr
    assert "counts as wait" not in result.stderr


def test_older_versions_refuse_what_they_would_misread(giltrace, python):
    """An agent's recording, and one without the GIL; with states, they read what they know."""
    for way, schema in (
        (["--probe", "uprobe"], 1),
        (["--probe", "uprobe", "--state-detect"], 1),
        (["--probe", "agent"], 2),
        (["--probe", "both"], 2),
        (["--no-gil-detect"], 3),
    ):
        giltrace.run(
            *["record", *way, "--keep-data", "data", "--python", python.path],
            *["-c", "pass"],
        )
        path = giltrace.folder / "data" / "meta.json"
        meta = json.loads(path.read_bytes())
        assert meta["schema"] == schema
        assert giltrace.run("report", "data").status == 0
    path.write_text(json.dumps({**meta, "schema": 4}))
    result = giltrace.run("report", "data")
    assert result.status == 125 and "read it with the giltrace that recorded it" in result.stderr


def test_setuid_python_has_its_whole_life(as_user, open_folder, system_python):
    """The kernel tells a user nothing more of a program that gets other rights by its exec."""
    copy = open_folder / "python3"
    shutil.copy2(system_python.gil_file, copy)
    os.chown(copy, 1, 1)
    copy.chmod(0o6755)
    result = as_user(
        *["--summary-json", "sum.json", "--state-detect", "-o", "out.json", "--python", copy],
        *["-c", "import time; time.sleep(0.5)"],
    )
    assert result.status == 0, result.stderr
    summary = json.loads((as_user.home / "sum.json").read_bytes())
    for process in summary["processes"]:
        (thread,) = process["threads"]
        assert 0.5e9 < thread["total_ns"] < 3e9
        assert thread["has_gil_ns"] is None
        if thread["state"]:
            assert thread["state"]["unknown_ns"] > 0.4e9
