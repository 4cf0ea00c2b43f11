/* SPDX-License-Identifier: MIT */
/*
 * What lib/trace remembers while events come in, and its parts' calls of one another. Private to
 * the folder.
 */
#pragma once

#include "trace/trace.h"

enum gt_thread_phase {
	GT_PHASE_UNKNOWN, /* its next event will tell */
	GT_PHASE_NO,
	GT_PHASE_WAIT,
	GT_PHASE_HAS,
	GT_PHASE_RELEASED, /* let go; its next event tells whether it was asked to, and so still
			      waits */
};

struct gt_thread_state {
	uint64_t cursor_ns; /* up to here its intervals are written; the phase began here */
	uint64_t want_ns;   /* WAIT: since when, over all parts of the wait */
	enum gt_thread_phase phase;
	uint32_t gil; /* that it has or had last; GT_NONE before */
	bool alive;
	bool asked;	   /* NO: since the end of a requested drop (switched) */
	bool born_holding; /* HAS: since a fork, so that the take which re-creates the GIL is no
			      loss */
	bool lost;	   /* UNKNOWN: nothing is known up to its next event, which tells only of
			      the time behind it */
};

/* The addresses by which the sites of one GIL name it. */
struct gt_gil_name {
	uint32_t gil; /* GT_NONE: known from the parent, not used yet in this process */
	bool has_acquired, has_release, has_switched;
	uint64_t acquired, release, switched;
};

struct gt_gil_state {
	uint32_t holder;      /* thread, or GT_NONE */
	uint32_t last_holder; /* of the last hold that has ended */
	uint64_t last_end_ns;
};

/* A mapped file that may be an interpreter. Whether it is one is asked when the process uses a GIL.
 */
struct gt_interpreter_candidate {
	char *path;
	char *build_id; /* hexadecimal, "" when not known */
	uint64_t start, length, file_offset;
};

/* Whether a process maps an interpreter that is known, by the word of the kernel. */
enum gt_known_python {
	GT_KNOWN_PYTHON_NONE,
	GT_KNOWN_PYTHON_OF_PARENT, /* of which nothing was seen either */
	GT_KNOWN_PYTHON_MAPPED,
};

/* The memory of a process. */
struct gt_memory_state {
	uint64_t bytes[GT_MEMORY_KINDS];
	/* The points of one span of time: see memory.c. */
	bool has_last, has_largest;
	uint64_t start_ns;
	struct gt_memory_point last, largest;
};

struct gt_process_state {
	uint64_t image_gil_events; /* since its last exec */
	enum gt_known_python known_python;
	bool has_agent; /* since its last exec */
	bool is_bare;	/* it has executed a program, of which nothing was mapped yet */
	bool has_maps;	/* since its last exec, by the word of the kernel */
	struct gt_memory_state memory;
	GT_ARRAY(struct gt_gil_name) names;
	GT_ARRAY(uint64_t) retake_addresses;
	GT_ARRAY(struct gt_interpreter_candidate) candidates;
};

/* A time in which any event may be missing. */
struct gt_loss {
	uint64_t start_ns, end_ns;
};

/* What a thread has told of itself just before it leaves its CPU. */
struct gt_leave {
	bool is_told;
	bool is_uninterruptible;
	bool is_woken; /* already */
	uint8_t reason;
	uint32_t stack;
};

struct gt_scheduler_state {
	uint64_t cursor_ns; /* up to here its states are written; the kind began here */
	uint64_t told_ns;   /* time of the last event that told its state */
	enum gt_state_kind kind;
	bool preempted;
	bool is_watched; /* UNKNOWN: no switch since the cursor can be missing */
	uint8_t reason;	 /* SLEEPING, UNINTERRUPTIBLE */
	uint32_t stack;	 /* that it has left its CPU with; GT_STACK_NONE when not known */
	uint32_t cpu;	 /* its last one; GT_EVENT_NO_RING when not known */
	struct gt_leave leave;
};

/* What a thread has counted of one thing, of all CPUs. */
struct gt_count_state {
	uint32_t thread, counter;
	uint64_t value, enabled_ns, running_ns;
};

struct gt_machine {
	struct gt_hash process_by_pid, thread_by_tid;
	/* Parallel to the trace's arrays. */
	GT_ARRAY(struct gt_thread_state) threads;
	GT_ARRAY(struct gt_scheduler_state) schedules; /* one a thread */
	GT_ARRAY(struct gt_gil_state) gils;
	GT_ARRAY(struct gt_process_state) processes;
	GT_ARRAY(uint64_t) ring_last_ns; /* time of the last event of each ring */
	GT_ARRAY(struct gt_loss) losses;
	GT_ARRAY(struct gt_loss) state_losses; /* of context switches */
	/* For each stack of the unwinder what it says a thread waits for; see find_reason(). */
	GT_ARRAY(uint8_t) stack_reasons;
	GT_ARRAY(struct gt_count_state) counts;
	struct gt_hash count_by_thread; /* and counter */
	bool lost_threads; /* whole threads were lost: one without events may be such a one */
	uint64_t now_ns;
};

/* gil.c: the four moments, and what ends or interrupts them. Each returns 0 or -ENOMEM. */
int gt_gil_event(struct gt_trace *trace, uint32_t thread, const struct gt_event *event);
/* Writes the current phase up to TIME_NS, and goes to NEXT. */
int gt_gil_end_phase(struct gt_trace *trace, uint32_t thread, uint64_t time_ns,
		     enum gt_thread_phase next);
/* The events of one thread that are missing begin behind TIME_NS. */
int gt_gil_lose(struct gt_trace *trace, uint32_t thread, uint64_t time_ns);
/* The child of a fork starts as its parent's thread left it. */
int gt_gil_fork(struct gt_trace *trace, uint32_t parent_thread, uint32_t child_thread);

/* gil_identity.c: which GIL the address at a site names. */
int gt_gil_identify(struct gt_trace *trace, uint32_t thread, const struct gt_event *event,
		    uint32_t *ret_gil);
int gt_gil_identity_fork(struct gt_trace *trace, uint32_t parent, uint32_t child);
/* A new GIL of PROCESS, held by nobody. */
int gt_gil_new(struct gt_trace *trace, uint32_t process, uint32_t *ret_gil);

/* interpreters.c: which interpreter a process maps, and where. */
int gt_interpreter_map(struct gt_trace *trace, uint32_t process, const struct gt_event *event);
/* At the first sign of a GIL in a process: looks at what it has mapped. */
int gt_interpreter_look_up(struct gt_trace *trace, uint32_t process);
int gt_interpreter_fork(struct gt_trace *trace, uint32_t parent, uint32_t child);
void gt_interpreter_forget(struct gt_process_state *process);
/* Whether a process now runs an interpreter that has no probes, as far as its name tells. */
bool gt_interpreter_is_other(const struct gt_trace *trace, uint32_t process);
/* Whether it runs one that is known, and nobody has watched it, as far as can be told by now. */
bool gt_interpreter_is_unwatched(const struct gt_trace *trace, uint32_t process);
bool gt_is_retake(const struct gt_trace *trace, uint32_t process, uint64_t caller);

/*
 * scheduler.c: what the scheduler did with each thread. Those that can fail return 0 or -ENOMEM.
 */
/* For each new thread; nothing is known of it yet. */
int gt_scheduler_add(struct gt_trace *trace);
/* The threads that are there begin with the trace. */
void gt_scheduler_begin(struct gt_trace *trace, uint64_t time_ns);
/* THREAD was born: it waits for a CPU. At 0 it was so before the trace, and nobody knows. */
void gt_scheduler_fork(struct gt_trace *trace, uint32_t thread, uint64_t time_ns);
/* Who calls exec is running. */
int gt_scheduler_exec(struct gt_trace *trace, uint32_t thread, uint64_t time_ns);
int gt_scheduler_event(struct gt_trace *trace, uint32_t thread, const struct gt_event *event);
/* THREAD is about to leave its CPU. */
int gt_scheduler_leave(struct gt_trace *trace, uint32_t thread, const struct gt_event *event);
int gt_scheduler_wakeup(struct gt_trace *trace, uint32_t thread, uint64_t time_ns);
/* Up to where the states of THREAD are written: its life cannot end before. */
uint64_t gt_scheduler_cursor(const struct gt_trace *trace, uint32_t thread);
int gt_scheduler_end(struct gt_trace *trace, uint32_t thread, uint64_t time_ns);
int gt_scheduler_loss(struct gt_trace *trace, const struct gt_event *event);
/* When all threads have ended, and the GIL's intervals are as they will be. */
int gt_scheduler_finish(struct gt_trace *trace);

/*
 * spaces.c: what is mapped, for the unwinder, where there is one. A space has the number of its
 * process. 0 or -ENOMEM.
 */
int gt_space_map(struct gt_trace *trace, uint32_t process, const struct gt_event *event);
int gt_space_fork(struct gt_trace *trace, uint32_t parent, uint32_t child);
void gt_space_exec(struct gt_trace *trace, uint32_t process);

/* counts.c: what threads have counted in their lives. 0 or -ENOMEM. */
int gt_count_event(struct gt_trace *trace, uint32_t thread, const struct gt_event *event);
/* For each new thread: nothing is told yet. */
void gt_count_add(struct gt_trace *trace, uint32_t thread);
void gt_count_finish(struct gt_trace *trace);

/* memory.c: what processes have in memory. 0 or -ENOMEM. */
int gt_memory_event(struct gt_trace *trace, uint32_t process, const struct gt_event *event);
/* A child begins with what its parent has, whether it touches that or not. */
void gt_memory_fork(struct gt_trace *trace, uint32_t parent, uint32_t child);
void gt_memory_exec(struct gt_trace *trace, uint32_t process);
int gt_memory_finish(struct gt_trace *trace);

/* loss.c */
int gt_loss_event(struct gt_trace *trace, const struct gt_event *event);
/* All of the GIL that comes behind is not known, of any thread. */
int gt_loss_of_rest(struct gt_trace *trace, const struct gt_event *event);
/* Events of one thread were lost. */
int gt_loss_of_thread(struct gt_trace *trace, uint32_t thread, const struct gt_event *event);
int gt_loss_apply(struct gt_trace *trace);
