"""The shape of what giltrace writes."""

import fcntl
import os
import pty
import re
import struct
import termios

import pytest

from runner import load_chrome, program

NUMBER, TEXT, LIST, TRUTH = int, str, list, bool
MAYBE_NUMBER = (int, type(None))

SUMMARY = {
    "schema": NUMBER,
    "giltrace": TEXT,
    "command": LIST,
    "clock": TEXT,
    "start_ns": NUMBER,
    "end_ns": NUMBER,
    "exit_status": NUMBER,
    "probe": TEXT,
    "found_by": TEXT,
    "events": NUMBER,
    "lost": NUMBER,
    "inferred": NUMBER,
    "state_lost": type(None),
    "wakeups_lost": type(None),
    "sleeps_compared": type(None),
    "sleeps_disagreed": type(None),
    "counters": type(None),
    "probe_cost_ns": MAYBE_NUMBER,
    "kept_ns": MAYBE_NUMBER,
    "processes": LIST,
    "blame": LIST,
}
PROCESS = {
    "pid": NUMBER,
    "ppid": NUMBER,
    "command": TEXT,
    "python": dict,
    "resident_max_bytes": type(None),
    "gils": LIST,
    "threads": LIST,
}
PYTHON = {"path": TEXT, "version": TEXT, "build_id": (str, type(None))}
GIL = {"id": NUMBER, "address": TEXT, "held_ns": NUMBER, "waited_ns": NUMBER}
THREAD = {
    "tid": NUMBER,
    "name": TEXT,
    "main": TRUTH,
    "start_ns": NUMBER,
    "end_ns": NUMBER,
    "total_ns": NUMBER,
    "no_gil_ns": NUMBER,
    "has_gil_ns": NUMBER,
    "gil_wait_ns": NUMBER,
    "unknown_ns": NUMBER,
    "acquired": NUMBER,
    "contended": NUMBER,
    "switched": NUMBER,
    "wait_max_ns": NUMBER,
    "wait_p50_ns": NUMBER,
    "wait_p99_ns": NUMBER,
    "state": type(None),
    "counters": type(None),
}
BLAME = {"pid": NUMBER, "waiter": NUMBER, "holder": MAYBE_NUMBER, "ns": NUMBER}


def check_shape(value, shape):
    assert list(value) == list(shape)
    for key, kind in shape.items():
        assert isinstance(value[key], kind), f"{key} is {value[key]!r}"
        assert isinstance(value[key], bool) == (kind is bool), f"{key} is {value[key]!r}"


@pytest.fixture
def traced(giltrace, python):
    return giltrace.workload(python, "busy_threads", 0.5, 2)


def test_summary_json(giltrace, interpreter):
    result = giltrace.workload(interpreter, "busy_threads", 0.3, 2)
    summary = result.summary
    check_shape(summary, SUMMARY)
    assert (summary["schema"], summary["giltrace"]) == (1, "0.1.0")
    assert (summary["clock"], summary["probe"]) == ("CLOCK_MONOTONIC", "uprobe")
    assert summary["found_by"] == "symbols"
    assert summary["command"][-2:] == ["0.3", "2"]
    (process,) = summary["processes"]
    check_shape(process, PROCESS)
    check_shape(process["python"], PYTHON)
    assert process["python"]["path"] == interpreter.path
    assert process["python"]["version"] == interpreter.version
    (gil,) = process["gils"]
    check_shape(gil, GIL)
    assert re.fullmatch("0x[0-9a-f]+", gil["address"])
    assert len(process["threads"]) == 3
    for thread in process["threads"]:
        check_shape(thread, THREAD)
        assert summary["start_ns"] <= thread["start_ns"] <= thread["end_ns"] <= summary["end_ns"]
        assert thread["wait_p50_ns"] <= thread["wait_p99_ns"] <= thread["wait_max_ns"]
        assert thread["wait_max_ns"] <= thread["gil_wait_ns"]
    for blame in summary["blame"]:
        check_shape(blame, BLAME)


def test_chrome_json(traced):
    chrome = traced.chrome
    assert {"traceEvents", "displayTimeUnit", "viztracer_metadata", "giltrace"} <= set(chrome)
    assert chrome["displayTimeUnit"] in ("ns", "ms")
    assert chrome["giltrace"] == traced.summary
    pid_max = int(open("/proc/sys/kernel/pid_max").read())
    tracks = set()
    for event in chrome["traceEvents"]:
        assert event["ph"] in ("X", "M", "C", "i"), event
        if event["ph"] != "X":
            continue
        assert re.fullmatch(r"\d+\.\d{3}", str(event["ts"]))
        assert re.fullmatch(r"\d+\.\d{3}", str(event["dur"]))
        assert event["tid"] > pid_max
        tracks.add((event["pid"], event["tid"]))
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in chrome["traceEvents"]
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    sorted_tracks = {
        (event["pid"], event["tid"])
        for event in chrome["traceEvents"]
        if event["ph"] == "M" and event["name"] == "thread_sort_index"
    }
    assert tracks <= set(names) and tracks <= sorted_tracks
    assert all(re.fullmatch(r".* \(\d+\) GIL", names[track]) for track in tracks)


def test_table(traced):
    lines = traced.stderr.splitlines()
    heading = next(line for line in lines if "has gil%" in line)
    for column in ("PID", "total(us)", "no gil%", "has gil%", "gil wait%"):
        assert column in heading
    for tid, thread in traced.timeline.threads.items():
        (row,) = (line for line in lines if re.match(rf"\s*{tid}\*?\s", line))
        assert ("*" in row.split()[0] + row.split()[1]) == thread["main"]
        for key in ("no_gil_ns", "has_gil_ns", "gil_wait_ns"):
            assert f"{100 * thread[key] / thread['total_ns']:.1f}" in row


def test_several_outputs(giltrace, python):
    outputs = [giltrace.folder / name for name in ("a.json", "b.json.gz", "c.html")]
    options = [word for path in outputs for word in ("-o", path)]
    result = giltrace.run("-q", *options, "--python", python.path, "-c", "pass")
    assert result.status == 0, result.stderr
    assert load_chrome(outputs[0]) == load_chrome(outputs[1])
    page = outputs[2].read_text()
    assert page.lower().startswith("<!doctype html>")
    assert not (giltrace.folder / "giltrace.html").exists()
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page), "it loads something"


def test_page_is_written_by_default(giltrace, python):
    result = giltrace.run("--python", python.path, "-c", "pass")
    assert (giltrace.folder / "giltrace.html").stat().st_size > 1000
    assert "giltrace.html" in result.stderr


def test_thread_names_are_hostile(giltrace, python):
    """Names are any bytes but NUL; JSON and table must stay what they are."""
    code = (
        "import ctypes, threading, time\n"
        "def f(name):\n"
        "    ctypes.CDLL(None).prctl(15, name); time.sleep(0.05)\n"
        "for name in (b'</script>', b'a\"b\\\\c', b'\\xff\\x01', b'x: (1) [2]', b''):\n"
        "    t = threading.Thread(target=f, args=(name,)); t.start(); t.join()\n"
    )
    result = giltrace.trace("--python", python.path, "-c", code)
    result.timeline.check()
    names = {thread["name"] for thread in result.timeline.threads.values()}
    assert {"</script>", 'a"b\\c', "x: (1) [2]", ""} <= names
    assert "\x01" not in result.stderr, "a terminal would obey it"


def test_outputs_replace_older_files_whole(giltrace, python):
    """A report that fails leaves the file that was there."""
    path = giltrace.folder / "out.json"
    path.write_text("older")
    failed = giltrace.run("-o", path, "--python", python.path, "missing.py")
    assert failed.status == 127
    assert path.read_text() == "older"
    assert giltrace.run("-q", "-o", path, "--python", python.path, "-c", "pass").status == 0
    assert "traceEvents" in load_chrome(path)
    assert [entry.name for entry in giltrace.folder.iterdir()] == ["out.json"]


def run_on_terminal(columns, command):
    """What a command says on a terminal that is this wide."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(command[0], command)
    said = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        said += part
    os.waitpid(pid, 0)
    os.close(terminal)
    return said.decode().replace("\r\n", "\n")


def test_table_fits_the_terminal(giltrace, python):
    data = giltrace.folder / "data"
    name = "import ctypes; ctypes.CDLL(None).prctl(15, b'fifteen-letters')"
    giltrace.run("record", "--keep-data", data, "--python", python.path, "-c", name)
    command = [str(program()), "report", str(data)]
    narrow, wide = (run_on_terminal(columns, command) for columns in (80, 120))
    assert max(map(len, narrow.splitlines())) <= 80
    assert " fifteen-l…\n" in narrow
    assert " fifteen-letters\n" in wide
