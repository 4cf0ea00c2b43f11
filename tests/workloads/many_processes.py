"""many_processes.py FACTS COUNT METHOD: short-lived processes of multiprocessing, four at a time."""

import multiprocessing
import sys

import facts


def work(results):
    results.put(facts.thread_id())


def main():
    path, count, method = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    context = multiprocessing.get_context(method)
    results = context.SimpleQueue()
    tids = []
    for _ in range(count // 4):
        processes = [context.Process(target=work, args=(results,)) for _ in range(4)]
        for process in processes:
            process.start()
        tids += [results.get() for _ in processes]
        for process in processes:
            process.join()
            if process.exitcode != 0:
                sys.exit("a child ended with {}".format(process.exitcode))
    facts.write(path, {"tids": tids})


if __name__ == "__main__":
    main()
