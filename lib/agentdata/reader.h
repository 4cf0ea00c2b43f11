/* SPDX-License-Identifier: MIT */
/* What the files of the reader share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agentdata/agentdata.h"
#include "agentdata/format.h"
#include "base/array.h"
#include "base/hash.h"
#include "probes/agent/layout.h"

#define GT_READER_NONE UINT32_MAX

/* A process as far as its threads tell of it. */
struct gt_reader_process {
	uint32_t pid;
	bool pid_is_made_up;
	uint32_t living;      /* threads that have been seen, and have not ended */
	bool main_is_living;  /* it has been told of, and not of its end */
	bool main_is_guessed; /* it was made up: none of its records was seen yet */
	bool is_replaced;     /* by an exec, or by a process that got its number */
	uint64_t map_start;   /* that was told last; 0: none */
};

struct gt_reader_thread {
	GT_ARRAY(uint64_t) blocks; /* their offsets in the file */
	uint32_t next_block;
	const struct gt_agent_block *block;		    /* being told; NULL: all are */
	const struct gt_agent_record *record, *records_end; /* of a block of records */
	uint64_t last_ns;				    /* of what was given last */
	uint64_t lost;	  /* the block's, to be told before its records */
	uint32_t process; /* index; GT_READER_NONE before its first block */
	uint32_t pid, tid;
	bool is_living;
};

/* A thread's next moment, in the heap. */
struct gt_reader_key {
	uint64_t time_ns;
	uint32_t rank; /* of moments of one time, the least first */
	uint32_t thread;
};

/* The most that one block is turned into. */
#define GT_READER_MAX_EVENTS 6

struct gt_agentdata {
	char *path, *gil_file;
	uint8_t build_id[GT_AGENT_BUILD_ID_BYTES];
	uint32_t build_id_bytes;
	bool gil_events_only;

	const uint8_t *map;
	uint64_t map_bytes;
	uint64_t size;	       /* up to the end of the last whole block */
	uint64_t done;	       /* bytes of the blocks that were begun */
	uint64_t lost_threads; /* records of threads that are not told of; told at the end */
	bool has_orphans;      /* a block of no thread was seen, and told of */
	bool has_unsound;      /* likewise a record of no kind */
	uint64_t latest_ns;
	bool is_cut; /* told at the end, and then false */
	struct gt_agent_file_header header;

	GT_ARRAY(struct gt_reader_thread) threads;
	GT_ARRAY(struct gt_reader_process) processes;
	struct gt_hash thread_by_number, process_by_number;
	struct gt_hash process_by_pid, thread_by_tid; /* the newest ones of these numbers */

	struct gt_reader_key *heap;
	uint32_t heap_count;

	/* Events of one block, given before anything else. */
	struct gt_event queue[GT_READER_MAX_EVENTS];
	uint32_t queue_count, queue_next;
	char name[sizeof(((struct gt_agent_thread_block *)NULL)->comm) + 1];
};

/* Logs what is wrong at OFFSET of the file, and returns -EBADMSG. */
int gt_agentdata_broken(const struct gt_agentdata *data, uint64_t offset, const char *format, ...)
	_printf_(3, 4);

/* The same as a warning, of something without which the rest can be read. */
void gt_agentdata_warn(const struct gt_agentdata *data, uint64_t offset, const char *format, ...)
	_printf_(3, 4);

/* The records that a block holds or tells to be lost. */
uint64_t gt_agentdata_count_records(const struct gt_agent_block *block);

/* Leaves out what is still to come of a thread: it counts as lost. */
void gt_agentdata_leave_out(struct gt_agentdata *data, struct gt_reader_thread *thread);

/* blocks.c: maps the file, and finds the blocks of each thread. Sizes are right afterwards. */
int gt_agentdata_map(struct gt_agentdata *data);

/* The block at OFFSET, which is aligned in memory as it is in the file. */
static inline const struct gt_agent_block *gt_agentdata_block(const struct gt_agentdata *data,
							      uint64_t offset)
{
	return (const struct gt_agent_block *)(const void *)(data->map + offset);
}

/*
 * tasks.c: what a block that is no block of records says of its thread, as events in the queue.
 * Each returns 0 or a negative errno (logged).
 */
int gt_agentdata_tell_thread(struct gt_agentdata *data, uint32_t thread_index,
			     const struct gt_agent_thread_block *told, uint64_t time_ns);
void gt_agentdata_tell_name(struct gt_agentdata *data, uint32_t thread,
			    const struct gt_agent_name_block *block, uint64_t time_ns);
void gt_agentdata_tell_end(struct gt_agentdata *data, uint32_t thread,
			   const struct gt_agent_end_block *block, uint64_t time_ns);
