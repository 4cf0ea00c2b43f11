"""busy_processes.py FACTS SECONDS METHOD: two processes of multiprocessing that only compute."""

import multiprocessing
import sys

import facts


def compute(seconds, results):
    start_ns = facts.now_ns()
    facts.compute_until(start_ns + int(seconds * 1e9))
    results.put(facts.window(start_ns))


def main():
    path, seconds, method = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    context = multiprocessing.get_context(method)
    results = context.SimpleQueue()
    processes = [context.Process(target=compute, args=(seconds, results)) for _ in range(2)]
    for process in processes:
        process.start()
    busy = [results.get() for _ in processes]
    for process in processes:
        process.join()
    facts.write(path, {"busy": busy})


if __name__ == "__main__":
    main()
