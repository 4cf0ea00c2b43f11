"""Runs giltrace the way a person does, and reads back what it gives."""

import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import hangs
import timeline

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "tests" / "workloads"
TIMEOUT_SECONDS = 120


def program():
    return Path(os.environ.get("GILTRACE", ROOT / "build" / "cmd" / "giltrace"))


def _is_sanitized():
    return program().exists() and b"libasan.so" in program().read_bytes()


# Built so, giltrace itself has no other library in front of it, and takes terabytes of addresses.
unsanitized = pytest.mark.skipif(_is_sanitized(), reason="giltrace is built with a sanitizer")


def under_strace():
    """What giltrace's environment needs there, when it is built to find leaks: that traces, too."""
    return {"ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"}


def agent_file():
    return program().parents[1] / "probes" / "agent" / "libgiltrace-agent.so"


@dataclass
class Result:
    status: int  # as a shell gives it
    stdout: bytes
    stderr: str
    summary: dict = None
    chrome: dict = None
    facts: dict = None
    _timeline: timeline.Timeline = field(default=None, repr=False)

    @property
    def timeline(self):
        if self._timeline is None:
            self._timeline = timeline.Timeline(self.summary, self.chrome)
        return self._timeline


class Giltrace:
    """giltrace in a folder of its own. Remembers the processes it has started."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.facts = folder / "facts.json"
        self.roots = {}  # folders in the roots of interpreters
        self.timelines = True  # whether trace() asks for one: large ones take Python long to read

    def start(self, *arguments, prefix=(), **options):
        """A giltrace that runs on beside the test. PREFIX becomes giltrace in the end by exec."""
        options.setdefault("cwd", self.folder)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        binary = options.pop("binary", program())
        process = subprocess.Popen([*prefix, binary, *arguments], **options)
        self.processes.append(process)
        return process

    def stop(self):
        """Ends what a failed test has left running: the targets first."""
        for process in self.processes:
            if process.poll() is None:
                hangs.end(process)
        for folder in self.roots.values():
            shutil.rmtree(folder)

    def finish(self, process, given=None):
        try:
            stdout, stderr = process.communicate(given, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise hangs.HangError(
                f"giltrace does not end within {TIMEOUT_SECONDS} s\n{hangs.describe(process.pid)}"
            ) from error
        status = process.returncode
        return Result(
            status if status >= 0 else 128 - status,
            stdout or b"",
            (stderr or b"").decode(errors="replace"),
        )

    def run(self, *arguments, given=None, **options):
        """Runs to the end, with no outputs but those that ARGUMENTS ask for."""
        if given is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*arguments, **options), given)

    def outputs(self):
        """Options for the outputs that trace() reads."""
        options = ["--summary-json", self.folder / "summary.json"]
        return [*options, "-o", self.folder / "trace.json"] if self.timelines else options

    def collect(self, result):
        """Reads the outputs, and what the workload wrote of itself."""
        result.summary = json.loads((self.folder / "summary.json").read_bytes())
        if self.timelines:
            result.chrome = load_chrome(self.folder / "trace.json")
        if self.facts.exists():
            result.facts = json.loads(self.facts.read_bytes())
        return result

    def trace(self, *arguments, **options):
        """Runs a program that has to end well, and reads all that there is to know of the run."""
        result = self.run(*self.outputs(), *arguments, **options)
        assert result.status == 0, result.stderr
        return self.collect(result)

    def folder_for(self, interpreter):
        """A folder that the interpreter sees: this one, or one in its own root."""
        if interpreter.root == "/":
            return self.folder
        if interpreter.root not in self.roots:
            self.roots[interpreter.root] = Path(
                tempfile.mkdtemp(prefix="giltrace-test-", dir=f"{interpreter.root}/tmp")
            )
        return self.roots[interpreter.root]

    def script(self, interpreter, name):
        """One of tests/workloads, by the path that the interpreter has for it."""
        if interpreter.root == "/":
            return WORKLOADS / f"{name}.py"
        folder = self.folder_for(interpreter)
        shutil.copytree(WORKLOADS, folder, dirs_exist_ok=True)
        return interpreter.inside(folder / f"{name}.py")

    def workload(self, interpreter, name, *arguments, options=(), **others):
        """Traces one of tests/workloads, whose first argument is the file for its facts."""
        self.facts = self.folder_for(interpreter) / "facts.json"
        return self.trace(
            *options,
            "--python",
            interpreter.path,
            self.script(interpreter, name),
            interpreter.inside(self.facts),
            *map(str, arguments),
            **others,
        )


def load_chrome(path):
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")
    with opened as file:
        return timeline.parse(file.read().decode())


def perf_script(path, fields="tid,time,event"):
    """What stock perf sees in a file: (tid, ns, event) of each sample, in perf's order."""
    done = subprocess.run(
        ["perf", "script", "-i", path, "--ns", "-F", fields],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    samples = re.findall(r"^\s*(\d+)\s+(\d+)\.(\d{9}):\s+(?:\w+:)?(\w+):", done.stdout, re.M)
    return [
        (int(tid), int(seconds) * 10**9 + int(nanoseconds), event)
        for tid, seconds, nanoseconds, event in samples
    ]
