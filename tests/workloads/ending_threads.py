"""ending_threads.py FACTS SECONDS: threads that end all the time, while two others only switch."""

import sys
import threading
import time

import facts

path, seconds = sys.argv[1], float(sys.argv[2])
end_ns = facts.now_ns() + int(seconds * 1e9)
turns = [threading.Semaphore(0), threading.Semaphore(0)]
ended = 0


def switch(mine, other):
    while facts.now_ns() < end_ns:
        other.release()
        mine.acquire(timeout=0.1)


switching = [threading.Thread(target=switch, args=order) for order in (turns, turns[::-1])]
for thread in switching:
    thread.start()
while facts.now_ns() < end_ns:
    ending = [threading.Thread(target=time.sleep, args=(1e-4,)) for _ in range(4)]
    for thread in ending:
        thread.start()
    for thread in ending:
        thread.join()
    ended += len(ending)
for thread in switching:
    thread.join()
facts.write(path, {"ended": ended})
