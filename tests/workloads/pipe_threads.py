"""Three threads that pass a byte on to one another through pipes as fast as they can.

Arguments: seconds (default 2), threads (default 3). Prints how many times a byte was passed on.
"""

import os
import sys
import threading
import time

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
pipes = [os.pipe() for _ in range(count)]
passed = [0] * count


def pass_on(i):
    source, target = pipes[i][0], pipes[(i + 1) % count][1]
    end = time.monotonic() + seconds
    while True:
        byte = os.read(source, 1)
        if not byte:
            break
        passed[i] += 1
        if time.monotonic() >= end:
            break
        os.write(target, byte)
    # The next one reads to the end, and so on.
    os.close(target)


threads = [threading.Thread(target=pass_on, args=(i,)) for i in range(count)]
for thread in threads:
    thread.start()
# A byte for each, so that they need not wait for one another all the time.
for _, target in pipes:
    os.write(target, b".")
for thread in threads:
    thread.join()
print(sum(passed))
