/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder's memory: the newest blocks of records, until the end shows which of them are
 * to be written. They are thrown away many at a time, and so a little later than they might be.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agentdata/format.h"
#include "base/array.h"

/* Blocks one behind the other. */
struct gt_agent_window_part {
	uint8_t *data;
	uint32_t used;	    /* bytes */
	uint64_t opened_ns; /* when it was begun */
	uint64_t newest_ns; /* of its records */
};

struct gt_agent_window {
	uint64_t keep_ns;
	GT_ARRAY(struct gt_agent_window_part) parts;
	uint32_t first;	    /* of them that is still there */
	uint64_t newest_ns; /* the newest record of all */
	uint64_t thrown_ns; /* the newest one that was thrown away */
	uint64_t max_parts; /* more are not kept, even when they are young */
};

void gt_agent_window_start(struct gt_agent_window *window, uint64_t keep_ns);
void gt_agent_window_clear(struct gt_agent_window *window);

/* Room for a block of BYTES, at NOW_NS; NULL when out of memory. */
void *gt_agent_window_reserve(struct gt_agent_window *window, uint32_t bytes, uint64_t now_ns);

/* Keeps what was reserved last, which became BYTES long. */
void gt_agent_window_commit(struct gt_agent_window *window, uint32_t bytes, uint64_t newest_ns);

/*
 * Throws away what is too old when the newest record is: the program may end with it, long before
 * the next one would have come.
 */
void gt_agent_window_age(struct gt_agent_window *window);

/*
 * Takes the records from before START_NS out of a block. False when none is left. What was lost
 * before the others is then lost before the window.
 */
bool gt_agent_window_trim(struct gt_agent_records_block *block, uint64_t start_ns);
