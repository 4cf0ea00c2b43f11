"""A small service: one thread reads, three parse, one compresses what comes out. For the picture."""

import ctypes
import queue
import threading
import time
import zlib

DONE = object()
SECONDS = 0.8


def start(name, function, *arguments):
    def run():
        # Python itself tells the kernel the names of its threads only from 3.14 on.
        ctypes.CDLL(None).prctl(15, name.encode())  # PR_SET_NAME
        function(*arguments)

    thread = threading.Thread(target=run, name=name)
    thread.start()
    return thread


def read(requests):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        time.sleep(0.003)
        requests.put(b"key=value&" * 400)
    for _ in range(3):
        requests.put(DONE)


def parse(requests, results):
    for request in iter(requests.get, DONE):
        results.put({n: pair.split(b"=") for n, pair in enumerate(request.split(b"&"))})
        sum(i * i for i in range(60000))


def compress(results):
    for result in iter(results.get, DONE):
        zlib.compress(repr(result).encode() * 8, 6)


if __name__ == "__main__":
    requests, results = queue.Queue(), queue.Queue()
    compressor = start("compressor", compress, results)
    parsers = [start("parser-%d" % n, parse, requests, results) for n in (1, 2, 3)]
    start("reader", read, requests).join()
    for parser in parsers:
        parser.join()
    results.put(DONE)
    compressor.join()
