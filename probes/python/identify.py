# SPDX-License-Identifier: MIT
"""Tells, on standard output, which Python runs it: giltrace passes it with -c.

It has to run under every Python, also those that giltrace then refuses. The answer is bytes, because
paths need not be text: a line that starts it, fields that each end in NUL, and a line that ends it.
"""

import sys

# "" is the current folder, and what lies there must not stand in for the standard library.
path = sys.path
sys.path = [folder for folder in path if folder]
import os  # noqa: E402


def encode(text):
    return text if isinstance(text, bytes) else os.fsencode(text)


def implementation():
    if "__pypy__" in sys.builtin_module_names:
        return "pypy"
    return getattr(sys, "implementation", None) and sys.implementation.name or "cpython"


def library():
    """The libpython that is mapped, as the kernel names it. libpython3.so is an empty shell."""
    with open("/proc/self/maps", "rb") as maps:
        for line in maps:
            fields = line.rstrip(b"\n").split(None, 5)
            name = fields[5].replace(b"\\012", b"\n") if len(fields) == 6 else b""
            if os.path.basename(name).startswith((b"libpython3.", b"libpython2.")):
                if not os.path.basename(name).startswith(b"libpython3.so"):
                    return name
    return b""


def has_module(name):
    """As python -m looks for it, but without importing anything."""
    from importlib import util

    sys.path = path
    try:
        return util.find_spec(name) is not None
    except ValueError:
        return name in sys.modules


def environment():
    try:
        with open("/proc/self/environ", "rb") as environ:
            return environ.read()
    except OSError:
        # The kernel hides that of a program which is setuid, or has capabilities.
        return b"".join(name + b"=" + os.environb[name] + b"\0" for name in os.environb)


fields = [
    ".".join(str(part) for part in sys.version_info[:3]),
    implementation(),
    sys.executable or "",
    os.readlink("/proc/self/exe"),
    library(),
]
if len(sys.argv) > 2 and sys.version_info[0] > 2:
    fields.append("yes" if has_module(sys.argv[2]) else "no")
else:
    fields.append("")
fields.append("yes" if getattr(sys, "_is_gil_enabled", lambda: True)() else "no")
variables = environment()
fields.append(str(len(variables)))

answer = b"\ngiltrace-identity 1\n"
answer += b"".join(encode(field) + b"\0" for field in fields)
answer += variables + b"\ngiltrace-identity end\n"
output = getattr(sys.stdout, "buffer", sys.stdout)
output.write(answer)
output.flush()
# giltrace looks at this process while it lives: until then, its end of this socket stays open.
try:
    os.write(int(sys.argv[1]), b".")
    os.read(int(sys.argv[1]), 1)
except (OSError, IndexError):
    pass
# Not through the exit handlers, nor into an interactive session (PYTHONINSPECT).
os._exit(0)
