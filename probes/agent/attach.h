/* SPDX-License-Identifier: MIT */
/* What an attached process knows of giltrace's memory and of its own code. */
#pragma once

#include <pthread.h>

#include "probes/agent/agent.h"

/* In a page that is zero again in the child of any fork, whoever calls it, and however. */
struct gt_agent_process {
	uint32_t number; /* 0: nothing was noted here yet */
	uint32_t pid;	 /* as gt_agent_identify() has found it; 0: not known */
	uint32_t ppid, ptid;
};

/* Written once, before the program's own code runs. All zero in a process that is left alone. */
struct gt_agent {
	struct gt_agent_shared *shared;
	struct gt_agent_process *process;
	uint32_t clock, chunk_count;
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
