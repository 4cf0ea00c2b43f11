/* SPDX-License-Identifier: MIT */
/* Empties the chunks of the agents' memory into the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "record/agent_clock.h"
#include "record/agent_file.h"
#include "record/agent_memory.h"
#include "record/agent_threads.h"

/* How far a chunk has been read. Its head is read once, when it was taken. */
struct gt_agent_chunk_reading {
	bool is_open;	 /* somebody has it, and thread is valid */
	bool is_ignored; /* of nobody whom records are taken of: what it holds is lost */
	bool is_done;	 /* nothing more will come */
	bool is_emptied; /* offered to its thread a second time */
	bool had_hole;	 /* its thread may yet write to it */
	bool has_waited; /* hole_ns is valid */
	uint32_t thread;
	uint32_t position;	/* of the next record */
	uint64_t lost_before;	/* the next record */
	uint64_t emptied_start; /* its first record's time, when it was emptied */
	uint64_t hole_ns;	/* since when it has ended in a hole */
};

/* A chunk to be read, in the order of its thread's chunks. */
struct gt_agent_chunk_turn {
	uint32_t thread, chunk;
	uint64_t start; /* of its first record, in ns; UINT64_MAX when there is none to be read */
};

struct gt_agent_drain {
	struct gt_agent_memory *memory;
	struct gt_agent_file *file;
	struct gt_agent_threads *threads;
	struct gt_agent_converter *converter;
	struct gt_agent_chunk_reading *chunks; /* of memory->chunk_count */
	GT_ARRAY(struct gt_agent_chunk_turn) turns;
	uint64_t bytes; /* that the last run has read, in whole chunks that it gave back */
	uint64_t lost;	/* in chunks that were ignored */
};

/* All that it works with is borrowed. Logs what failed. */
int gt_agent_drain_init(struct gt_agent_drain *drain);
void gt_agent_drain_clear(struct gt_agent_drain *drain);

/*
 * Reads what was written up to now. IS_LAST: there will be no other time, so that nothing is waited
 * for. -errno (logged) when the file cannot be written.
 */
int gt_agent_drain_run(struct gt_agent_drain *drain, bool is_last);
