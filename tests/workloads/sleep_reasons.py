"""sleep_reasons.py FACTS SECONDS FOLDER: threads that wait, one after another, each for something else.

FOLDER is where a file can be read that the page cache does not hold.
"""

import os
import queue
import select
import socket
import subprocess
import sys
import threading
import time

import facts

path, seconds, folder = sys.argv[1], float(sys.argv[2]), sys.argv[3]
waits = {}
begun_ns = 0


def begin():
    """What came before, was not the wait: on a busy machine it may take as long."""
    global begun_ns
    begun_ns = facts.now_ns()


def later(function, *arguments):
    """Lets another thread do what the waiting one waits for."""
    threading.Timer(seconds, function, arguments).start()
    begin()


def sleep():
    time.sleep(seconds)


def lock():
    held = threading.Lock()
    held.acquire()
    later(held.release)
    held.acquire()


def lock_with_timeout():
    held = threading.Lock()
    held.acquire()
    held.acquire(timeout=seconds)


def queue_get():
    items = queue.Queue()
    later(items.put, 1)
    items.get()


def select_pipe():
    reader, _ = os.pipe()
    select.select([reader], [], [], seconds)


def poll_pipe():
    reader, _ = os.pipe()
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.poll(seconds * 1000)


def epoll_pipe():
    reader, _ = os.pipe()
    with select.epoll() as epoll:
        epoll.register(reader, select.EPOLLIN)
        epoll.poll(seconds)


def read_pipe():
    reader, writer = os.pipe()
    later(os.write, writer, b"x")
    os.read(reader, 1)


def write_pipe():
    reader, writer = os.pipe()
    later(os.read, reader, 1 << 16)
    os.write(writer, b"x" * ((1 << 16) + 1))  # more than a pipe holds


def receive():
    ours, theirs = socket.socketpair()
    later(theirs.send, b"x")
    ours.recv(1)


def accept():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        address = server.getsockname()
        later(lambda: socket.create_connection(address).close())
        server.accept()[0].close()


def open_pipe():
    name = os.path.join(folder, "pipe")
    os.mkfifo(name)
    later(os.open, name, os.O_WRONLY)
    os.open(name, os.O_RDONLY)
    os.unlink(name)


def child():
    process = subprocess.Popen(["sleep", str(seconds)])
    begin()
    process.wait()


def disk():
    name = os.path.join(folder, "cold")
    with open(name, "wb") as file:
        file.write(os.urandom(1 << 20) * 48)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begin()
    with open(name, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        while file.read(1 << 16):
            pass
    os.unlink(name)


def measure(function):
    def run():
        begin()
        function()
        waits[function.__name__] = facts.window(begun_ns)

    return run


for function in (
    sleep,
    lock,
    lock_with_timeout,
    queue_get,
    select_pipe,
    poll_pipe,
    epoll_pipe,
    read_pipe,
    write_pipe,
    receive,
    accept,
    open_pipe,
    child,
    disk,
):
    facts.run_threads([measure(function)])
facts.write(path, waits)
