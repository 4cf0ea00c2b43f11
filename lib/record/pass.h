/* SPDX-License-Identifier: MIT */
/*
 * One recording pass: a set of tracepoints and the task records of one process and its children,
 * per-CPU rings, and the perf.data file that they are written to. Several passes can record the
 * same execution at once; none can make another lose events.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"
#include "record/session.h"

struct gt_pass;

/* How the user's part of a stack is recorded. */
enum gt_call_graph {
	GT_CALL_GRAPH_DWARF, /* as bytes, to be unwound when it is read */
	GT_CALL_GRAPH_FP,    /* as the kernel walks it by frame pointers */
};

struct gt_pass_tracepoint {
	const char *system; /* "giltrace_4711" */
	const char *name;   /* "acquired" */
	bool has_stack;	    /* its samples bring the stack that the spec describes */
	uint32_t period;    /* one sample for so many of them; 0: for each */
};

/*
 * Counted for each thread by itself, and told when it ends: in PERF_RECORD_READ, one for each CPU
 * that it has counted something on. A thread's count is their sum. The first thread's follow at the
 * end, when all other threads are known to have told theirs.
 *
 * Each has the thread's whole time as the time enabled, and as the time running only what it ran on
 * that CPU: whether the counter had to be shared is told by the sum of the latter against one of
 * the former.
 */
struct gt_pass_counter {
	const char *name; /* "minor-faults" */
	uint32_t type;	  /* PERF_TYPE_* */
	uint64_t config;
	bool user_only;
};

struct gt_pass_spec {
	const char *path;    /* of the perf.data file; made, or emptied */
	const char *what;    /* for messages: "the GIL events" */
	const char *tracefs; /* mount point, for ids and formats; NULL without tracepoints */
	const char *probed;  /* the file that uprobes among the tracepoints are in, or NULL */
	const struct gt_pass_tracepoint *tracepoints;
	uint32_t tracepoint_count;
	/* Also record when threads get on and off a CPU. Without tracepoints, a plain user may. */
	bool context_switches;
	/*
	 * Also record when they are woken, by whomever (sched_waking). It is recorded of the whole
	 * system, in rings of its own, and only what is about the pass's threads is written.
	 */
	bool wakeups;
	enum gt_call_graph call_graph; /* of tracepoints that have a stack */
	uint32_t stack_bytes; /* how much of it is copied: at most 65528, a multiple of 8 */
	const struct gt_pass_counter *counters;
	uint32_t counter_count;
	/*
	 * Where to keep the files that are mapped as code and are gone, or replaced, when the pass
	 * ends: a directory, which is made when there is one. NULL: nowhere.
	 */
	const char *kept_files;
	uint64_t ring_bytes; /* of each CPU's ring; rounded up to a power of two */
	/* Without the rights for such rings, smaller ones are taken, and nothing is said. */
	bool may_shrink_rings;
	char *const *command; /* the recorder's, for the header; NULL-terminated; borrowed */
};

/*
 * How much of a stack to copy, when nobody asks for another size: some 65 frames of C. Python from
 * 3.11 on, 25 calls deep, fits in; before, each call takes 600 to 700 bytes, and the outer end of
 * stacks more than ten calls deep is cut. Twice as much loses samples of threads that do nothing
 * but switch.
 */
#define GT_PASS_DEFAULT_STACK_BYTES 8192u

/*
 * How large each CPU's ring should be for stacks of the default size, on a machine with CPU_COUNT
 * of them. Three threads that do nothing but pass bytes through pipes write up to 180 MB a second
 * and CPU: 32 MiB hold what comes until the next drain, and while that waits for the disk. All
 * rings together take no more than 512 MiB, nor a sixteenth of the memory.
 */
uint64_t gt_pass_stack_ring_bytes(uint32_t cpu_count);

struct gt_pass_counts {
	uint64_t samples; /* written, of all tracepoints */
	uint64_t lost;	  /* that the kernel had to drop, wake-ups apart */
	uint64_t lost_wakeups;
	uint64_t bytes; /* written to the file, of records and their header */
};

/*
 * Whether the kernel names threads as they are named here: in a PID namespace other than the first
 * one it does not, and gt_pass_open() refuses to record wake-ups. What else may stand against them,
 * only trying tells.
 */
bool gt_pass_may_record_wakeups(void);

/*
 * Opens the events on PID (a child that has not called exec yet; they start at its exec, and follow
 * its children), maps the rings and starts the file. Logs what failed and what to do; a caller that
 * can do without the pass, or without a part of it, captures that. -EACCES or -EPERM without
 * rights, -ENOSYS where there are no perf events, -EOPNOTSUPP for wake-ups in a PID namespace,
 * -EMFILE, -ENOMEM …; for a counter that this machine does not have, -ENOENT, -EOPNOTSUPP, …
 */
int gt_pass_open(const struct gt_pass_spec *spec, pid_t pid, struct gt_pass **ret);

/*
 * Writes what the rings hold to the file. Nothing wakes the caller: it drains on a timer, every
 * 50 ms, with small rings more often. -errno (logged, once) when the file cannot be written.
 */
int gt_pass_drain(struct gt_pass *pass);

/*
 * How many milliseconds the rings can be left alone after the last drain: 0 when one was more than
 * a quarter full.
 */
uint32_t gt_pass_rest_ms(const struct gt_pass *pass);

/* What a session drains. */
struct gt_session_source gt_pass_source(struct gt_pass *pass);

/*
 * Stops the events, drains for the last time, adds what was lost without a record of it, and writes
 * the header's features. The file is complete afterwards.
 */
int gt_pass_finish(struct gt_pass *pass, struct gt_pass_counts *ret_counts);

/* Frees everything; a file that was not finished is left as it is. */
void gt_pass_close(struct gt_pass *pass);
GT_DEFINE_CLEANUP(struct gt_pass *, gt_pass_close)
