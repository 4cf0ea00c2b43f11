"""Runs a program to which perf_event_open is refused, as Docker's default filter does."""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SYSCALL = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
LOAD_NUMBER, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSE, ALLOW = 0x00050000 | 1, 0x7FFF0000  # 1: EPERM

instructions = [
    (LOAD_NUMBER, 0, 0, 0),
    (JUMP_EQUAL, 0, 1, SYSCALL),
    (RETURN, 0, 0, REFUSE),
    (RETURN, 0, 0, ALLOW),
]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in instructions))
filter_ = struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(program))
libc = ctypes.CDLL(None, use_errno=True)
for arguments in (
    (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
    (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(filter_), 0, 0),
):
    if libc.prctl(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "prctl")
os.execv(sys.argv[1], sys.argv[1:])
