/* SPDX-License-Identifier: MIT */
/* The threads that agents have told of: who they are, what they are called, whether they live. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "probes/agent/layout.h"

struct gt_agent_file;

/* What a chunk says of its thread. */
struct gt_agent_identity {
	uint32_t process, pid, tid, ppid, ptid;
	uint32_t unused; /* they are compared as bytes */
	uint64_t map_start, map_bytes, map_offset;
};

struct gt_agent_thread {
	struct gt_agent_identity identity;
	char comm[GT_AGENT_COMM_BYTES];
	char exit_comm[GT_AGENT_COMM_BYTES]; /* valid with exit_ns */
	uint32_t number;		     /* its name in the memory and in the file */
	uint32_t chunks;		     /* that it has, or that are not read yet */
	uint64_t first_ns;		     /* its first record */
	uint64_t last_ns;		     /* its last one */
	uint64_t exit_ns; /* when it ended, by its own word; 0: it has not said so */
	uint64_t dead_ns; /* when that was noticed */
	uint64_t lost;	  /* records behind its last one, so far */
	uint64_t carried; /* of them, those that its next chunk does not know of */
	bool has_records; /* first_ns is valid */
	bool is_told;	  /* the file has its identity as it is */
	bool has_moved;	  /* it has written records since it was last asked for its name */
	bool is_dead;
	bool has_ended;	   /* nothing more is taken of it */
	bool is_in_window; /* of what is kept at the end */
};

/* What the first chunk that told of a process's pid has said. */
struct gt_agent_process {
	uint32_t number;
	uint32_t pid; /* 0: not known */
};

struct gt_agent_threads {
	GT_ARRAY(struct gt_agent_thread) items;
	GT_ARRAY(struct gt_agent_process) processes;
	GT_ARRAY(uint32_t) living; /* indices of those that have not ended */
	struct gt_hash by_number;
	struct gt_hash by_tid; /* known pid and tid to the newest thread that has them */
	struct gt_hash process_by_number;
	struct gt_hash process_by_pid; /* known pid to the newest process that has it */
	uint64_t checked_ns, named_ns, looked_for_zombies_ns;
};

void gt_agent_threads_clear(struct gt_agent_threads *threads);

/*
 * The index of the thread that CHUNK is of, new or known. -EINVAL for no thread, for one that has
 * ended, for more than there can be, and for a chunk that contradicts what others have said of the
 * same thread or process; -ENOMEM (logged).
 */
int gt_agent_threads_add(struct gt_agent_threads *threads, const struct gt_agent_chunk *chunk,
			 uint32_t *ret_index);

/*
 * Notes that THREAD has ended at EXIT_NS, by its own word, and its name then, of
 * GT_AGENT_COMM_BYTES;
 * "": the one that it had.
 */
void gt_agent_thread_set_exit(struct gt_agent_thread *thread, const char *comm, uint64_t exit_ns);

/* Puts THREAD's block in front of its first record. -errno, logged. */
int gt_agent_thread_tell(struct gt_agent_thread *thread, struct gt_agent_file *file);

/* Now and then: looks for names that have changed, and for threads that are gone. -errno, logged.
 */
int gt_agent_threads_tend(struct gt_agent_threads *threads, struct gt_agent_file *file,
			  uint64_t now_ns);

/* Looks for threads that are gone, at once. */
void gt_agent_threads_find_dead(struct gt_agent_threads *threads, uint64_t now_ns);

/* The first moment that any thread has told of, and the last one. */
void gt_agent_threads_span(const struct gt_agent_threads *threads, uint64_t *ret_first_ns,
			   uint64_t *ret_last_ns);

/*
 * Puts what the file is to say of threads at its end. Of a window that starts at WINDOW_START_NS,
 * the threads that were still there then, and its records.
 */
int gt_agent_threads_finish(struct gt_agent_threads *threads, struct gt_agent_file *file,
			    uint64_t window_start_ns);
