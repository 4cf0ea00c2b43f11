"""wait_for_signal.py READY: makes the file READY, then computes until it is interrupted; exits 3.

SIGTERM is turned into exit status 4. It does not outlive a test by more than a minute.
"""

import signal
import sys


def on_terminate(_number, _frame):
    sys.exit(4)


signal.alarm(60)
signal.signal(signal.SIGTERM, on_terminate)
open(sys.argv[1], "w").close()
try:
    while True:
        sum(range(1000))
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(3)
