"""What a giltrace that does not end, and all that it has started, are doing; and how they end."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

_STATUS = ("Name", "State", "SigPnd", "ShdPnd", "SigBlk", "voluntary", "nonvoluntary")


class HangError(Exception):
    """No AssertionError: a test that may be tried once more must not try this."""


def _read(path):
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        return f"{error.strerror}\n"


def _threads(pid):
    with contextlib.suppress(OSError):
        return sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda path: int(path.name))
    return []


def descendants(pid):
    """PID's children, theirs, and so on."""
    found = []
    for thread in _threads(pid):
        for child in _read(thread / "children").split():
            if child.isdigit():
                found += [int(child), *descendants(int(child))]
    return found


def _ticks(thread):
    """How long it has run, in user space and in the kernel."""
    fields = _read(thread / "stat").rpartition(")")[2].split()
    return (int(fields[11]), int(fields[12])) if len(fields) > 12 else (0, 0)


def _describe_thread(thread, before):
    user, kernel = (now - then for now, then in zip(_ticks(thread), before, strict=False))
    status = _read(thread / "status").splitlines()
    lines = [
        f"  thread {thread.name}: ran {user} ticks, and {kernel} in the kernel, since the first look",
        "    " + ", ".join(line.replace("\t", " ") for line in status if line.startswith(_STATUS)),
        f"    syscall {_read(thread / 'syscall').strip()}, wchan {_read(thread / 'wchan').strip()}",
        *(f"    {line}" for line in _read(thread / "stack").splitlines()),
    ]
    return "\n".join(lines)


def _user_stacks(pid):
    """Where a debugger is installed: what the kernel does not tell."""
    if not shutil.which("gdb"):
        return ""
    command = ["gdb", "-p", str(pid), "-nx", "-batch", "-ex", "thread apply all backtrace"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20
        )
        return "".join(f"  {line}\n" for line in done.stdout.splitlines() if line[:1] == "#")
    return "  gdb did not end\n"


def describe(pid):
    """Of PID and its descendants, all threads."""
    pids = [pid, *descendants(pid)]
    before = {thread: _ticks(thread) for process in pids for thread in _threads(process)}
    time.sleep(0.5)
    parts = []
    for process in pids:
        command = _read(Path(f"/proc/{process}/cmdline")).replace("\0", " ")
        parts.append(f"process {process}: {command}")
        parts += [
            _describe_thread(thread, before.get(thread, (0, 0))) for thread in _threads(process)
        ]
    # A process that cannot be stopped would make the debugger wait: the first one last.
    parts.append(f"user space of {pid}:\n{_user_stacks(pid)}")
    return "\n".join(parts)


def end(process):
    """Ends PROCESS, a giltrace: by asking, without its targets, or by force."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=10)
        return
    # It waits for its target. Without that, it can still remove its probes.
    targets = descendants(process.pid)
    _kill(targets)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=10)
        return
    _kill([*targets, *descendants(process.pid)])
    process.kill()
    process.wait()


def _kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
