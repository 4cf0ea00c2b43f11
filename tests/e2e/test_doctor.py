"""giltrace doctor: what it says of a machine and a Python, and that it is true."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import interpreters
import probes
from runner import agent_file

CANNOT_TRACE = 125
SITES = ("take", "acquired", "release", "switched", "retake")
ROWS = ("kernel", "rights", "events", "states", "python", "sites", "agent", "calibration")
WITHOUT_PERF = Path(__file__).parent / "without_perf.py"
NO_CAPABILITIES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@pytest.fixture
def doctor(giltrace):
    """Runs it as a table or as JSON, and looks that it leaves nothing behind."""
    temporary = giltrace.folder / "temporary"
    temporary.mkdir()

    def run(python, *options, environment=None, **others):
        before = probes.definitions()
        result = giltrace.run(
            *["doctor", "--python", python, *options],
            env={**os.environ, "TMPDIR": str(temporary), **(environment or {})},
            **others,
        )
        # Other tests' probes may come and go beside this one; none may be this giltrace's.
        own = f"giltrace_{giltrace.processes[-1].pid}"
        assert not [line for line in probes.definitions() if f":{own}" in line], before
        assert os.listdir(temporary) == []
        assert os.listdir(giltrace.folder) == ["temporary"]
        return result

    return run


@pytest.fixture
def doctor_json(doctor):
    def run(python, *, status=0, **options):
        result = doctor(python, "--json", **options)
        assert result.status == status, (result.stdout, result.stderr)
        answer = json.loads(result.stdout)
        check_shape(answer)
        assert answer["ok"] is (status == 0)
        return answer

    return run


def check_shape(answer):
    assert list(answer) == [
        "kernel",
        "rights",
        "events",
        "states",
        "python",
        "sites",
        "agent",
        "calibration",
        "calibrations",
        "ok",
    ]
    assert answer["kernel"]["release"] == os.uname().release
    assert answer["kernel"]["machine"] == os.uname().machine
    assert {"path", "library", "version", "build_id", "stripped", "free_threaded"} <= set(
        answer["python"]
    )
    assert all(isinstance(works, bool) for works in answer["events"].values())
    if answer["sites"]:
        assert set(answer["sites"]) == {*SITES, "found_by"}


def rows(text):
    """The table: (ok, no or FAILED, what is said, over all lines) by row."""
    table = {}
    for line in text.splitlines():
        match = re.match(r"(\w+) +(ok|no|FAILED)\b *(.*)", line)
        if match:
            name, verdict, said = match.groups()
            table[name] = [verdict, said]
        elif line.startswith("  "):
            table[name][1] += "\n" + line.strip()
    return {name: tuple(row) for name, row in table.items()}


def check_calibration(calibration, kinds=("take", "acquired", "release")):
    """The agent tells of a take only when it has to wait, so that those are fewer."""
    assert calibration["ok"] is True
    assert calibration["lost"] == calibration["inferred"] == 0
    assert 0.4e9 < calibration["has_ns"] <= calibration["wall_ns"]
    assert len(calibration["threads"]) == 3
    for thread in calibration["threads"]:
        counts = [thread[kind] for kind in kinds]
        assert min(counts) > 0 and max(counts) - min(counts) <= 1, thread


def has_symbol_table(path):
    done = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    return " SYMTAB " in done.stdout


def build_id(path):
    done = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True)
    found = re.search(r"Build ID: ([0-9a-f]+)", done.stdout)
    return found and found.group(1)


class TestEveryPython:
    def test_table(self, doctor, any_interpreter):
        result = doctor(any_interpreter.path)
        assert result.status == 0, result.stdout
        assert result.stderr == ""
        table = rows(result.stdout.decode())
        assert tuple(table) == ROWS
        assert {verdict for verdict, _ in table.values()} == {"ok"}
        said = table["python"][1]
        assert any_interpreter.version in said and any_interpreter.gil_file in said
        assert "not stripped" in said or has_symbol_table(any_interpreter.gil_file) is False
        assert "take" in table["sites"][1] and "acquired" in table["sites"][1]

    def test_json(self, doctor_json, any_interpreter):
        answer = doctor_json(any_interpreter.path)
        python = answer["python"]
        file = any_interpreter.gil_file
        assert python["version"] == any_interpreter.version
        assert python["build_id"] == build_id(file)
        assert python["stripped"] is not has_symbol_table(file)
        assert python["free_threaded"] is False
        if re.search(r"/libpython[^/]*$", file):
            assert os.path.samefile(python["library"], file)
        else:
            assert python["library"] is None
        assert answer["rights"]["probes"] is True
        assert answer["rights"]["tracefs"] == str(probes.TRACEFS)
        found_by = "sites" if any_interpreter.stripped else "symbols"
        assert answer["sites"]["found_by"] == found_by
        check_calibration(answer["calibration"])
        assert answer["calibration"] == answer["calibrations"]["uprobe"]
        assert answer["agent"] == {"works": True, "file": str(agent_file()), "problem": None}
        check_calibration(answer["calibrations"]["agent"], ("acquired", "release"))
        check_sites(answer["sites"], Path(file).read_bytes())


def check_sites(sites, image):
    """Each offset is that of an instruction of the kind that belongs there (x86-64)."""
    for kind in SITES:
        assert sites[kind] == sorted(set(sites[kind])), kind
    for kind in ("take", "acquired", "release", "switched"):
        assert sites[kind], kind
    assert not set(sites["acquired"]) & set(sites["release"])
    if os.uname().machine != "x86_64":
        return
    for kind in ("acquired", "release", "switched"):
        for offset in sites[kind]:
            assert is_call_or_jump(image[offset : offset + 6]), f"{kind} at {offset:#x}"
    # Where a call returns to.
    for offset in sites["retake"]:
        assert image[offset - 5] == 0xE8 or image[offset - 6 : offset - 4] == b"\xff\x15"


def is_call_or_jump(code):
    direct = code[0] in (0xE8, 0xE9)
    indirect = code[:2] in (b"\xff\x15", b"\xff\x25")  # through the GOT
    return direct or indirect


def test_sites_are_those_that_objdump_sees(doctor_json, python):
    """On an unstripped build the calls can be told by their names."""
    answer = doctor_json(python.path)
    code = disassemble(python.gil_file)
    for kind, called in (
        ("acquired", "pthread_cond_signal"),
        ("release", "pthread_cond_signal"),
        ("switched", "pthread_mutex_unlock"),
    ):
        for offset in answer["sites"][kind]:
            assert called in code[offset], (kind, code[offset])
    every = [offset for offset, line in code.items() if "<pthread_cond_signal@" in line]
    assert len(every) >= len(answer["sites"]["acquired"] + answer["sites"]["release"])


def disassemble(path):
    """The instructions at each file offset of a library whose code is where its offsets say."""
    done = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True
    )
    pattern = re.compile(r"^\s*([0-9a-f]+):\t(.*)$", re.M)
    return {int(address, 16): line for address, line in pattern.findall(done.stdout)}


def test_same_sites_in_a_stripped_copy(doctor_json, python, open_folder):
    """A stripped libpython in front of the real one."""
    copy = open_folder / Path(python.gil_file).name
    subprocess.run(["strip", "-o", copy, python.gil_file], check=True)
    whole = doctor_json(python.path)
    stripped = doctor_json(python.path, environment={"LD_LIBRARY_PATH": str(open_folder)})
    assert stripped["python"]["library"] == str(copy)
    assert (whole["python"]["stripped"], stripped["python"]["stripped"]) == (False, True)
    assert (whole["sites"].pop("found_by"), stripped["sites"].pop("found_by")) == (
        "symbols",
        "sites",
    )
    assert whole["sites"] == stripped["sites"]


class TestNotPossible:
    def test_no_python(self, doctor, doctor_json):
        result = doctor("/bin/ls")
        assert result.status == CANNOT_TRACE
        table = rows(result.stdout.decode())
        assert table["python"][0] == table["calibration"][0] == "FAILED"
        assert table["kernel"][0] == table["rights"][0] == "ok"
        assert "/bin/ls is not a Python" in table["python"][1]
        assert "--python" in table["python"][1], "what to do"
        answer = doctor_json("/bin/ls", status=CANNOT_TRACE)
        assert "/bin/ls" in answer["python"]["problem"]
        assert answer["sites"] is None and answer["calibration"] is None
        assert answer["python"]["version"] is None and answer["python"]["stripped"] is None

    def test_missing_python(self, doctor):
        result = doctor("/nonexistent/python")
        assert result.status == CANNOT_TRACE
        assert "/nonexistent/python" in rows(result.stdout.decode())["python"][1]

    def test_no_capabilities(self, doctor, doctor_json, python):
        """Root by number only: the agent is left."""
        result = doctor(python.path, prefix=NO_CAPABILITIES)
        assert result.status == 0
        table = rows(result.stdout.decode())
        verdict, said = table["rights"]
        assert verdict == "no"
        assert said.startswith("user 0, no capabilities")
        assert "ermission denied" in said and "CAP_SYS_ADMIN" in said
        verdict, said = table["calibration"]
        assert verdict == "ok"
        assert said.startswith("with the kernel's probes: not run, because of the above\n")
        answer = doctor_json(python.path, prefix=NO_CAPABILITIES)
        assert answer["rights"]["capabilities"] == []
        assert answer["calibrations"]["uprobe"] is None
        assert answer["calibration"] == answer["calibrations"]["agent"]
        check_calibration(answer["calibration"], ("acquired", "release"))

    def test_no_way_at_all(self, doctor, doctor_json, python):
        broken = {"environment": {"GILTRACE_AGENT_FILE": "/nonexistent/agent.so"}}
        result = doctor(python.path, prefix=NO_CAPABILITIES, **broken)
        assert result.status == CANNOT_TRACE
        table = rows(result.stdout.decode())
        assert table["rights"][0] == table["agent"][0] == table["calibration"][0] == "FAILED"
        assert "/nonexistent/agent.so" in table["agent"][1]
        assert "unset GILTRACE_AGENT_FILE" in table["agent"][1], "what to do"
        answer = doctor_json(python.path, status=CANNOT_TRACE, prefix=NO_CAPABILITIES, **broken)
        assert answer["agent"]["works"] is False and answer["agent"]["file"] is None
        assert answer["calibration"] is None

    def test_no_agent_is_no_failure_with_rights(self, doctor, python):
        result = doctor(python.path, environment={"GILTRACE_AGENT_FILE": "/nonexistent/agent.so"})
        assert result.status == 0
        table = rows(result.stdout.decode())
        assert (table["rights"][0], table["agent"][0]) == ("ok", "no")

    @pytest.fixture
    def with_read_only_tracefs(self, doctor, python):
        remount = f"mount -o remount,ro,bind {probes.TRACEFS} {probes.TRACEFS}"
        result = doctor(python.path, prefix=in_namespace(remount))
        assert result.status == 0
        return rows(result.stdout.decode())["rights"]

    def test_read_only_tracefs(self, with_read_only_tracefs):
        verdict, said = with_read_only_tracefs
        assert verdict == "no"
        assert f"{probes.TRACEFS} cannot be written" in said

    def test_what_to_do_about_a_read_only_tracefs(self, with_read_only_tracefs):
        assert "mount -o remount,rw" in with_read_only_tracefs[1]

    def test_tracefs_is_mounted_when_it_is_not(self, doctor_json, python):
        answer = doctor_json(python.path, prefix=in_namespace(f"umount -l {probes.TRACEFS}"))
        assert answer["rights"]["tracefs"] == str(probes.TRACEFS)

    def test_no_tracefs_and_no_right_to_mount_it(self, doctor, doctor_json, python):
        prefix = [*in_namespace(f"umount -l {probes.TRACEFS}"), *NO_CAPABILITIES]
        result = doctor(python.path, prefix=prefix)
        assert result.status == 0
        table = rows(result.stdout.decode())
        assert table["rights"][0] == "no"
        assert "tracefs: none" in table["rights"][1]
        assert "root" in table["rights"][1]
        answer = doctor_json(python.path, prefix=prefix)
        assert answer["rights"]["tracefs"] is None
        assert answer["rights"]["probes"] is False
        assert answer["calibrations"]["uprobe"] is None

    def test_refused_perf_events(self, doctor_json, python):
        """As by Docker's filter: the agent needs none."""
        answer = doctor_json(python.path, prefix=[sys.executable, WITHOUT_PERF])
        assert answer["rights"]["seccomp"] is True
        assert answer["rights"]["probes"] is False
        assert not any(answer["events"].values())
        assert answer["states"]["works"] is False
        assert "seccomp" in answer["states"]["problem"]
        assert "docker run" in answer["states"]["problem"], "what to do"
        check_calibration(answer["calibration"], ("acquired", "release"))

    def test_full_disk(self, doctor, python):
        with open("/dev/full", "w") as full:
            result = doctor(python.path, stdout=full)
        assert result.status == CANNOT_TRACE
        assert "standard output" in result.stderr


def in_namespace(command):
    """A prefix that changes the mounts, for giltrace alone."""
    return ["unshare", "-m", "sh", "-c", f'{command} && exec "$@"', "sh"]


class TestPlainUser:
    def test_the_agent_is_enough(self, as_user, plain_user, system_python):
        result = as_user("doctor", "--python", system_python.path)
        assert (result.status, result.stderr) == (0, "")
        table = rows(result.stdout.decode())
        verdict, said = table["rights"]
        assert verdict == "no"
        assert f"user {plain_user.pw_uid}, no capabilities" in said
        assert "run giltrace as root" in said
        for row in ("python", "sites", "agent", "calibration"):
            assert table[row][0] == "ok", row

    def test_setuid_python(self, as_user, open_folder, system_python):
        """Its loader ignores LD_PRELOAD."""
        copy = open_folder / "python3"
        shutil.copy2(system_python.gil_file, copy)
        os.chown(copy, 1, 1)
        copy.chmod(0o6755)
        result = as_user("doctor", "--python", copy)
        assert result.status == CANNOT_TRACE
        verdict, said = rows(result.stdout.decode())["agent"]
        assert verdict == "FAILED"
        assert "setuid" in said and "use a copy" in said

    def test_json(self, as_user, plain_user, system_python):
        result = as_user("doctor", "--json", "--python", system_python.path)
        assert (result.status, result.stderr) == (0, "")
        answer = json.loads(result.stdout)
        check_shape(answer)
        assert answer["ok"] is True
        assert answer["rights"]["uid"] == plain_user.pw_uid
        assert answer["rights"]["capabilities"] == []
        assert answer["rights"]["probes"] is False
        assert "root" in answer["rights"]["problem"]
        assert answer["events"]["context_switch"] is True
        assert answer["events"]["sched_switch"] is False
        assert (answer["states"]["works"], answer["states"]["problem"]) == (True, None)
        assert answer["states"]["stacks"] is False
        assert "root" in answer["states"]["stacks_problem"]
        assert answer["sites"]["take"]
        check_calibration(answer["calibration"], ("acquired", "release"))


class TestEnvironment:
    """It finds what a run from the same shell would."""

    def test_broken_home_of_python(self, doctor, doctor_json, python):
        broken = {"PYTHONHOME": "/nonexistent"}
        result = doctor(python.path, environment=broken)
        assert result.status == CANNOT_TRACE
        verdict, said = rows(result.stdout.decode())["python"]
        assert verdict == "FAILED"
        assert python.path in said and "see that it runs by itself" in said
        answer = doctor_json(python.path, status=CANNOT_TRACE, environment=broken)
        assert "does not start" in answer["python"]["problem"]

    def test_first_python_on_path(self, giltrace, python):
        environment = {**os.environ, "PATH": f"{Path(python.path).parent}:/usr/bin:/bin"}
        result = giltrace.run("doctor", "--json", env=environment)
        assert json.loads(result.stdout)["python"]["version"] == python.version

    @pytest.mark.parametrize("gil", ["0", "1"])
    def test_switch_of_the_gil(self, doctor, doctor_json, gil):
        found = interpreters.free_threaded()
        if not found:
            pytest.skip("no free-threaded Python was found: name one in GILTRACE_PYTHONS")
        status = 0 if gil == "1" else CANNOT_TRACE
        environment = {"PYTHON_GIL": gil}
        answer = doctor_json(found[0].path, status=status, environment=environment)
        assert answer["python"]["free_threaded"] is True
        table = rows(doctor(found[0].path, environment=environment).stdout.decode())
        if gil == "1":
            check_calibration(answer["calibration"])
            assert "its GIL is on" in table["python"][1]
        else:
            assert answer["calibration"]["has_ns"] == 0
            assert "its GIL is off" in table["python"][1]
            assert "PYTHON_GIL=1" in table["calibration"][1], "what to do"

    def test_a_gil_that_is_off_by_default_is_no_mistake_of_giltrace(self, doctor):
        found = interpreters.free_threaded()
        if not found:
            pytest.skip("no free-threaded Python was found: name one in GILTRACE_PYTHONS")
        result = doctor(found[0].path)
        assert result.status == CANNOT_TRACE
        said = rows(result.stdout.decode())["calibration"][1]
        assert "PYTHON_GIL=1" in said
        assert "please report this" not in said
