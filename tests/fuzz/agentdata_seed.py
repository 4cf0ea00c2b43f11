#!/usr/bin/env python3
"""Writes a small gil.agent (lib/agentdata/format.h), with a block of each type: a seed for agentdata_fuzz.

agentdata_seed.py OUTPUT
"""

import struct
import sys

THREAD, RECORDS, NAME, END, LOST = range(1, 6)
TAKE, ACQUIRED, RELEASE, SWITCHED = range(1, 5)
VALUES = {TAKE: 0x1234, ACQUIRED: 0x5058, RELEASE: 0x5000, SWITCHED: 0x5088}


def block(kind, thread, content):
    return struct.pack("<IIII", kind, thread, 16 + len(content), 0) + content


def comm(name):
    return name.encode().ljust(16, b"\0")


def thread(number, time, process, pid, tid, ppid, ptid, name):
    numbers = struct.pack("<QIIIIII", time, process, pid, tid, ppid, ptid, 0)
    mapped = struct.pack("<QQQ", 0x10000, 0x1000, 0x1000)
    return block(THREAD, number, numbers + mapped + comm(name))


def records(number, lost, *moments):
    content = b"".join(
        struct.pack("<QQ", kind << 60 | time, VALUES[kind]) for kind, time in moments
    )
    return block(RECORDS, number, struct.pack("<Q", lost) + content)


def main():
    content = struct.pack("<QIIQQ", 0x415441444C4947A9, 1, 32, 0, 0)
    content += thread(1, 1000, 1, 100, 100, 0, 0, "python3")
    content += records(1, 0, (ACQUIRED, 1000), (RELEASE, 1500))
    content += thread(2, 1300, 1, 100, 101, 0, 0, "worker")
    content += records(2, 0, (TAKE, 1300), (ACQUIRED, 1500), (RELEASE, 1700))
    content += block(NAME, 2, struct.pack("<Q", 1600) + comm("renamed"))
    content += records(1, 1, (ACQUIRED, 1800), (RELEASE, 1850), (SWITCHED, 1860))
    content += thread(3, 1900, 2, 200, 200, 100, 101, "child")
    content += records(3, 1, (ACQUIRED, 1950))
    content += block(END, 2, struct.pack("<QQ", 1750, 0))
    content += block(END, 1, struct.pack("<QQ", 2000, 2))
    content += block(LOST, 0, struct.pack("<Q", 3))
    with open(sys.argv[1], "wb") as output:
        output.write(content)


main()
