/* SPDX-License-Identifier: MIT */
/* What an attached process knows of giltrace's memory and of its own code. */
#pragma once

#include <pthread.h>
#include <time.h>

#include "probes/agent/agent.h"

/*
 * What each moment needs, in one cache line: between two system calls of a program few lines stay
 * near the CPU.
 */
struct gt_agent_hot {
	/* The functions behind this library. */
	int (*lock)(pthread_mutex_t *);
	int (*unlock)(pthread_mutex_t *);
	int (*signal)(pthread_cond_t *);
	int (*timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	/* The kernel's own, without a way through libc, or through whoever stands in front of that.
	 */
	int (*clock_gettime)(clockid_t, struct timespec *);
	struct gt_agent_process *process;
	uint32_t clock; /* enum gt_agent_clock */
} __attribute__((aligned(64)));

extern struct gt_agent_hot gt_agent_hot;

/* In a page that is zero again in the child of any fork, whoever calls it, and however. */
struct gt_agent_process {
	uint32_t number; /* 0: nothing was noted here yet */
	uint32_t pid;	 /* as gt_agent_identify() has found it; 0: not known */
	uint32_t ppid, ptid;
	/* When a GIL was released last. Written and read under the GIL's mutex. */
	uint64_t last_release;
};

/* Written once, before the program's own code runs. All zero in a process that is left alone. */
struct gt_agent {
	struct gt_agent_shared *shared;
	uint32_t chunk_count;
	uint64_t map_start, map_bytes, map_offset;
	uint32_t proc_major, proc_minor; /* of the file system /proc, where it is giltrace's */
	pthread_key_t key;
	uint32_t retake_count;
	uint64_t retakes[GT_AGENT_MAX_RETAKES];
};

extern struct gt_agent gt_agent;

/* The numbers of this thread, and of its process, as they are where giltrace runs; 0: not known. */
void gt_agent_identify(uint32_t *ret_pid, uint32_t *ret_tid);

/* Destructor of the key: tells that the thread ends. */
void gt_agent_end_thread(void *argument);

/*
 * Tells that the program ends now, unless this is a child of vfork, which ends alone: nothing else
 * may change here.
 */
void gt_agent_end_program(void);

/* Finds the functions that calls are passed on to. */
void gt_agent_find_functions(void);
