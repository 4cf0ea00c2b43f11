"""The Pythons of this machine that giltrace can be tried on."""

import functools
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_DESCRIBE = """
import json, re, sys
maps = open("/proc/self/maps").read()
libraries = re.findall(r"(/\\S*/libpython[23][^/\\s]*)$", maps, re.M)
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "implementation": sys.implementation.name,
    "executable": sys.executable,
    "gil_file": libraries[0] if libraries else "",
    "free_threaded": "free-threading" in sys.version,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    path: str
    version: str
    gil_file: str  # its libpython, or the program where that is linked in
    stripped: bool

    @property
    def minor(self):
        return int(self.version.split(".")[1])


def _describe(path):
    try:
        done = subprocess.run(
            [path, "-c", _DESCRIBE], capture_output=True, text=True, timeout=20, check=True
        )
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None  # Python 2, a shim of nothing, no Python at all


def _is_stripped(path):
    done = subprocess.run(["nm", path], capture_output=True, text=True)
    return " take_gil" not in done.stdout


def _candidates():
    yield from Path.home().glob(".pyenv/versions/*/bin/python3")
    for folder in os.environ["PATH"].split(":"):
        for path in Path(folder).glob("python3*"):
            if re.fullmatch(r"python3(\.\d+)?", path.name) and "shims" not in path.parts:
                yield path


@functools.cache
def find_interpreters():
    """Every CPython 3 with a GIL, once each, oldest first."""
    found = {}
    for path in _candidates():
        real = os.path.realpath(path)
        if real in found:
            continue
        facts = _describe(str(path))
        if not facts or facts["implementation"] != "cpython" or facts["free_threaded"]:
            continue
        gil_file = facts["gil_file"] or real
        found[real] = Interpreter(
            str(path), facts["version"], gil_file, stripped=_is_stripped(gil_file)
        )
    return sorted(found.values(), key=lambda i: [int(part) for part in i.version.split(".")])


def unstripped():
    return [i for i in find_interpreters() if not i.stripped]


def some(count):
    """A few unstripped ones, from the oldest to the newest."""
    every = unstripped()
    if len(every) <= count:
        return every
    if count == 1:
        return every[-1:]
    return [every[round(n * (len(every) - 1) / (count - 1))] for n in range(count)]
