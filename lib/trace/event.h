/* SPDX-License-Identifier: MIT */
/*
 * What happened, one moment at a time: the one stream that every way of recording is turned into,
 * and the only thing that the model sees.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gt_stack_sample;

enum gt_event_type {
	GT_EVENT_FORK, /* a process or thread was born */
	GT_EVENT_EXIT,
	GT_EVENT_COMM, /* it got a name, perhaps by exec */
	GT_EVENT_MAP,  /* a process mapped a file's code */
	GT_EVENT_LOST, /* events of one ring were lost before this moment; with a tid: of that
			  thread alone, between this moment and its next event; from an agent
			  without a tid: all those of some threads */
	GT_EVENT_CUT,  /* the GIL's events end here, and the program did not */
	/* The scheduler: of a thread of its own pid and tid. */
	GT_EVENT_SWITCH_IN,
	GT_EVENT_SWITCH_OUT,
	GT_EVENT_SWITCHES_LOST, /* of any threads, between an earlier moment and this one */
	GT_EVENT_LEAVE,		/* about to be switched out: in which state, and from where */
	GT_EVENT_WAKEUP,	/* what it slept for is there; the pid is not told (0) */
	GT_EVENT_WAKEUPS_LOST,	/* of any threads */
	/* What is counted besides. */
	GT_EVENT_COUNT,	 /* a part of what a thread has counted in its life */
	GT_EVENT_MEMORY, /* how much of one kind a process has in memory now */
	/* The four moments of the GIL. */
	GT_EVENT_TAKE,
	GT_EVENT_ACQUIRED,
	GT_EVENT_RELEASE,
	GT_EVENT_SWITCHED,
};

#define GT_EVENT_NO_RING UINT32_MAX

/* Of pages, as the kernel numbers them (MM_FILEPAGES …); 2 are swapped out. */
#define GT_MEMORY_KINDS 4

struct gt_event {
	uint64_t time_ns;
	uint32_t pid, tid; /* of the child for FORK */
	enum gt_event_type type;
	uint32_t ring; /* GT_EVENT_NO_RING when not known */
	union {
		uint64_t caller; /* TAKE: the return address of the call */
		uint64_t lock;	 /* ACQUIRED, RELEASE, SWITCHED: the first argument at the site */
		uint64_t lost;	 /* LOST: how many */
		struct {
			bool preempted; /* OUT: it would have gone on */
			uint32_t cpu;	/* GT_EVENT_NO_RING when not known */
		} on_off;		/* SWITCH_IN, SWITCH_OUT */
		struct {
			uint64_t since_ns, count;
		} gap; /* SWITCHES_LOST; WAKEUPS_LOST: the count alone */
		struct {
			const struct gt_stack_sample *stack;
			bool is_uninterruptible; /* a sleep that no signal ends */
			bool is_stopped;	 /* by a signal, or a debugger */
		} leave;
		struct {
			const char *counter; /* "minor-faults" */
			uint64_t value;
			/*
			 * How long the thread ran while this part could have counted, and how long
			 * it did; 0: not told. Parts of several CPUs share the first.
			 */
			uint64_t enabled_ns, running_ns;
		} count;
		struct {
			uint32_t kind; /* of the pages: 0 of files, 1 anonymous, 3 shared */
			uint64_t bytes;
		} memory;
		struct {
			uint32_t ppid, ptid;
		} fork;
		struct {
			const char *name; /* valid during the call only, as every pointer here */
			bool exec;
		} comm;
		struct {
			uint64_t start, length, file_offset;
			const char *path;
			const uint8_t *build_id; /* NULL when not known */
			uint32_t build_id_size;
			bool by_agent; /* which is there, then */
		} map;
	};
};
