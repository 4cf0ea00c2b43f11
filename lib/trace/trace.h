/* SPDX-License-Identifier: MIT */
/*
 * The model: processes, threads and GILs, and what each thread was doing with the GIL at each
 * nanosecond of its life. Events are fed in time order; the intervals of a thread then follow one
 * another without a gap from its start to its end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/macros.h"
#include "trace/event.h"
#include "trace/sleep_reasons.h"

#define GT_NONE UINT32_MAX

enum gt_interval_kind {
	GT_INTERVAL_NO,	  /* neither has nor wants the GIL */
	GT_INTERVAL_WAIT, /* wants it */
	GT_INTERVAL_HAS,
	GT_INTERVAL_UNKNOWN, /* events were lost */
};

struct gt_interval {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t gil : 29; /* GT_INTERVAL_NO_GIL when there is none, or it is not known which */
	uint32_t kind : 3;
};

#define GT_INTERVAL_NO_GIL ((UINT32_C(1) << 29) - 1)

/* What the scheduler did with a thread. */
enum gt_state_kind {
	GT_STATE_SLEEPING, /* off the CPU of its own will, until it is woken; where wake-ups were
			      not recorded, until it runs again */
	GT_STATE_RUNNABLE, /* wants a CPU: it was preempted, woken, or is new */
	GT_STATE_RUNNING,
	GT_STATE_UNKNOWN, /* before the first record of a thread that was there already, and where
			     records were lost or do not fit one another */
	GT_STATE_UNINTERRUPTIBLE, /* sleeping, and no signal ends it: for a disk, mostly. Only told
				     where stacks were recorded */
};

struct gt_state_interval {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t stack; /* where it left the CPU; GT_STACK_NONE: not known, or it is running */
	uint8_t kind;	/* enum gt_state_kind */
	uint8_t reason; /* SLEEPING, UNINTERRUPTIBLE: enum gt_sleep_reason */
	bool preempted; /* RUNNABLE: it would have gone on; else it is new, or was woken */
};

/* "S(GIL)", "R" …: what people call a state; NULL for running. TEXT is room for it. */
#define GT_STATE_NAME_SIZE 24
const char *gt_state_name(const struct gt_state_interval *state, char text[GT_STATE_NAME_SIZE]);

/* How much memory a process had from a moment on. */
struct gt_memory_point {
	uint64_t time_ns;
	uint64_t resident_bytes;
	uint32_t process;
};

#define GT_COUNTERS_MAX 24

struct gt_process {
	uint32_t pid, ppid;
	uint32_t parent;		    /* index, or GT_NONE */
	uint32_t main_thread;		    /* index, or GT_NONE when it was not seen */
	uint32_t first_thread, last_thread; /* in the order of their births; GT_NONE: none */
	uint32_t first_gil, last_gil;	    /* likewise */
	uint64_t start_ns, end_ns;
	char *command;		   /* comm of its main thread */
	uint32_t python;	   /* index; GT_NONE: it maps no interpreter that is known */
	bool maps_other_python;	   /* another one, which was not probed */
	bool maps_replaced_python; /* a file that has taken the place of the one with the probes */
	bool not_watched;	   /* it ran an interpreter that is known, and told nothing of it */
	uint64_t gil_events;
	uint64_t resident_max_bytes; /* 0: not told */
};

struct gt_thread {
	uint32_t tid;
	uint32_t process;
	uint32_t next_in_process; /* index, or GT_NONE */
	char *name;		  /* as the kernel has it: any bytes but NUL */
	uint64_t start_ns, end_ns;
	uint64_t takes, acquired, releases, switched; /* as many as were seen */
	uint64_t contended; /* acquisitions while which another thread held the GIL */
	/* Where states were recorded: how often it left the CPU, and came to another one. */
	uint64_t voluntary_switches, involuntary_switches, migrations;
	/*
	 * Of each of the trace's counters, an estimate where it did not count all the time; -1 when
	 * it was not told.
	 */
	double counts[GT_COUNTERS_MAX];
};

struct gt_gil {
	uint32_t process;
	uint32_t next_in_process; /* index, or GT_NONE */
	uint64_t address;	  /* of its condition variable, which names it */
};

/*
 * An interpreter, as far as the model has to know it: which file it is, and where in it take_gil
 * returns to after a requested drop (see lib/python/gil_sites.h).
 */
struct gt_python {
	char *path;	/* the file with the GIL: libpython, or the program */
	char *program;	/* what people call it by; NULL when not known */
	char *build_id; /* hexadecimal; "" when not known */
	char *version;	/* "3.11.7"; NULL when not known */
	GT_ARRAY(uint64_t) retake_offsets;
};

struct gt_unwinder;

struct gt_trace {
	/*
	 * Set before the first event where a take is told only when it waits (the agent): acquired
	 * without take has then not waited.
	 */
	bool takes_are_waits;
	/*
	 * Set before the first event where an interpreter that is known and shows no event was not
	 * watched: the agent has to get into each process by itself, and the GIL is in use.
	 */
	bool silence_is_blindness;
	GT_ARRAY(struct gt_python) pythons;
	GT_ARRAY(struct gt_process) processes;
	GT_ARRAY(struct gt_thread) threads;
	GT_ARRAY(struct gt_gil) gils;
	GT_ARRAY(struct gt_interval) intervals; /* of each thread in time order */
	/*
	 * Whether STATES is known. Set by the first context switch; to be set before the first
	 * event where they were recorded, because a program may end without any.
	 */
	bool has_states;
	GT_ARRAY(struct gt_state_interval) states; /* of each thread in time order, without a gap */
	uint64_t state_lost;			   /* context switches */
	/*
	 * To be set before the first event where stacks were recorded, else NULL: sleeps have
	 * reasons then. Borrowed.
	 */
	struct gt_unwinder *unwinder;
	/*
	 * To be set before the first event where the four moments were not recorded: the stacks
	 * alone tell then which sleeps are for the GIL.
	 */
	bool without_gil;
	bool has_wakeups; /* likewise, where a sleep ends when the thread is woken */
	bool has_cpus;	  /* set by context switches that tell their CPU: migrations are known */
	uint64_t wakeups_lost;
	/*
	 * Sleeps of which the stack, and the four moments, tell whether they are for the GIL; and
	 * how many of them the two do not agree on.
	 */
	uint64_t sleeps_compared, sleeps_disagreed;
	/* What was counted: "minor-faults" … Owned. */
	char *counters[GT_COUNTERS_MAX];
	uint32_t counter_count;
	GT_ARRAY(struct gt_memory_point) memory; /* in time order */
	uint64_t start_ns, end_ns;
	uint64_t events; /* take, acquired, release and switched */
	uint64_t lost;
	bool is_cut;		    /* what came behind a moment is not known of the GIL */
	uint64_t inferred;	    /* moments that were not seen but proved by others */
	uint64_t foreign;	    /* signals at a site that were for another lock than a GIL */
	struct gt_machine *machine; /* private to lib/trace; NULL after gt_trace_finish() */
};

/* A new, empty trace; NULL when out of memory. */
struct gt_trace *gt_trace_new(void);
void gt_trace_free(struct gt_trace *trace);
GT_DEFINE_CLEANUP(struct gt_trace *, gt_trace_free)

/*
 * Makes an interpreter known (copied), before the first event. One that is not, and that a process
 * maps, is looked up in the file system. 0 or -ENOMEM.
 */
int gt_trace_add_python(struct gt_trace *trace, const struct gt_python *python);

/* Takes the next event; time never goes back by more than a reader's late records. 0 or -ENOMEM. */
int gt_trace_feed(struct gt_trace *trace, const struct gt_event *event);

/*
 * Behind the last event: the first process has ended at TIME_NS, whatever the events say. The
 * kernel tells a user no more of a program that has got rights of its own; so nothing is known of
 * what lies between. Does nothing when the end was seen. 0 or -ENOMEM.
 */
int gt_trace_end_first(struct gt_trace *trace, uint64_t time_ns);

/* Ends what is still open at the last event's time. 0 or -ENOMEM. */
int gt_trace_finish(struct gt_trace *trace);
