"""Threads that are busy all over the standard library, and in NumPy where there is one.

    library_mix.py ROUNDS [children]

All is imported first; then it waits for a line on stdin. With "children", it also starts programs.
"""

import concurrent.futures
import decimal
import hashlib
import json
import queue
import re
import socket
import subprocess
import sys
import threading
import time
import zlib

try:
    import numpy
except ImportError:
    numpy = None

TEXT = json.dumps({"numbers": list(range(500)), "word": "x" * 1000})


def chew():
    for _ in range(8):
        json.loads(TEXT)
        hashlib.sha256(zlib.compress(TEXT.encode() * 20)).hexdigest()
        re.findall(r"[0-9]+, [0-9]+", TEXT)
        decimal.Decimal(2).sqrt()
        sorted(TEXT, key=lambda letter: -ord(letter))
        time.sleep(0)


def talk():
    here, there = socket.socketpair()

    def echo():
        for _ in range(50):
            there.sendall(there.recv(100))

    thread = threading.Thread(target=echo)
    thread.start()
    for _ in range(50):
        here.sendall(b"x" * 100)
        here.recv(100)
    thread.join()
    here.close()
    there.close()


def pass_on():
    jobs = queue.Queue(maxsize=2)

    def take_all():
        while jobs.get() is not None:
            time.sleep(0.0001)

    thread = threading.Thread(target=take_all)
    thread.start()
    for number in range(50):
        jobs.put(number)
    jobs.put(None)
    thread.join()


def count():
    if numpy is not None:
        numbers = numpy.arange(200000, dtype=float)
        for _ in range(5):
            numpy.sort(numbers[::-1] * 1.5).sum()


def start():
    if "children" in sys.argv:
        subprocess.call(["true"])


def work():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        rounds = range(int(sys.argv[1]))
        kinds = (chew, talk, pass_on, count, start)
        for done in [pool.submit(kind) for _ in rounds for kind in kinds]:
            done.result()


print("ready", flush=True)
sys.stdin.readline()
work()
