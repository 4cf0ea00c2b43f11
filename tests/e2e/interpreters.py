"""The Pythons of this machine that giltrace can be tried on."""

import contextlib
import functools
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_DESCRIBE = """
import json, os, sys
print(json.dumps({
    "pid": os.getpid(),
    "version": "%d.%d.%d" % sys.version_info[:3],
    "implementation": sys.implementation.name,
    "free_threaded": "free-threading" in sys.version,
}))
sys.stdout.flush()
sys.stdin.read()
"""


@dataclass(frozen=True)
class Interpreter:
    path: str  # what is run: the program, or a wrapper of it
    version: str
    gil_file: str  # its libpython, or the program where that is linked in
    stripped: bool
    free_threaded: bool
    root: str  # "/", or the directory that it sees as that

    @property
    def minor(self):
        return int(self.version.split(".")[1])

    @property
    def name(self):
        """What tells it from others in the name of a test."""
        kinds = [("stripped", self.stripped), ("root", self.root != "/")]
        return "-".join([self.version, *(kind for kind, is_so in kinds if is_so)])

    def inside(self, path):
        """A file's path as the interpreter sees it."""
        return Path("/") / Path(path).relative_to(self.root)


def _look_at(pid):
    """What a process runs, by paths of this root: its own need not lead anywhere here."""
    maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    libraries = re.findall(r"(/\S*/libpython[23][^/\s]*)$", maps, re.M)
    libraries = [path for path in libraries if "/libpython3.so" not in path]
    program = os.readlink(f"/proc/{pid}/exe")
    return (libraries or [program])[0], os.readlink(f"/proc/{pid}/root")


def _describe(path):
    command = ["timeout", "20", path, "-c", _DESCRIBE]
    with (
        # Python 2, a shim of nothing, no Python at all.
        contextlib.suppress(OSError, ValueError, LookupError),
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process,
    ):
        facts = json.loads(process.stdout.readline())
        gil_file, root = _look_at(facts["pid"])
        if facts["implementation"] == "cpython":
            return Interpreter(
                path=str(path),
                version=facts["version"],
                gil_file=gil_file,
                stripped=_is_stripped(gil_file),
                free_threaded=facts["free_threaded"],
                root=root,
            )
    return None


def _is_stripped(path):
    done = subprocess.run(["nm", path], capture_output=True, text=True)
    return " take_gil" not in done.stdout


def _candidates():
    yield from Path.home().glob(".pyenv/versions/*/bin/python3")
    for folder in os.environ["PATH"].split(":"):
        for path in Path(folder).glob("python3*"):
            if re.fullmatch(r"python3(\.\d+)?", path.name) and "shims" not in path.parts:
                yield path
    # Wrappers that scripts/get-pythons makes, and what the caller names.
    yield from Path.home().glob(".cache/giltrace/roots/*/run-python3*")
    for path in os.environ.get("GILTRACE_PYTHONS", "").split(":"):
        if path:
            yield Path(path)


@functools.cache
def _find():
    """Every CPython 3, once each, oldest first."""
    found, seen = {}, set()
    for path in _candidates():
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        interpreter = _describe(str(path))
        if interpreter:
            file = os.stat(interpreter.gil_file)
            found.setdefault((file.st_dev, file.st_ino), interpreter)
    return sorted(found.values(), key=lambda i: [int(part) for part in i.version.split(".")])


def find_interpreters():
    """Those whose GIL is always on."""
    return [i for i in _find() if not i.free_threaded]


def free_threaded():
    return [i for i in _find() if i.free_threaded]


def unstripped():
    return [i for i in find_interpreters() if not i.stripped]


def of_one_file():
    """Those that run as a copy of that file anywhere: no libpython, no root of their own."""
    return [
        i for i in find_interpreters() if i.root == "/" and i.gil_file == os.path.realpath(i.path)
    ]


def every(limit):
    """All of them; no more than a few unstripped ones where there is a limit."""
    found = find_interpreters()
    return found if len(found) <= limit else some(limit)


def some(count):
    """A few unstripped ones, from the oldest to the newest."""
    found = unstripped()
    if len(found) <= count:
        return found
    if count == 1:
        return found[-1:]
    return [found[round(n * (len(found) - 1) / (count - 1))] for n in range(count)]
