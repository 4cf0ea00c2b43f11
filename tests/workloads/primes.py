"""Counts the primes below 20,000 three times: in one thread, two threads, two processes."""

import multiprocessing
import sys
import threading
import time

LIMIT = 20000


def count_primes(start, end):
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(max(start, 2), end))


def count_all_often(times=8):
    for _ in range(times):
        count_primes(0, LIMIT)


def in_one_thread():
    count_all_often()
    count_all_often()


def in_two(kind):
    workers = [kind(target=count_all_often) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    started = time.monotonic()
    way = sys.argv[1]
    if way == "one":
        in_one_thread()
    else:
        in_two({"threads": threading.Thread, "processes": multiprocessing.Process}[way])
    print("%s: %.2f s" % (way, time.monotonic() - started))
