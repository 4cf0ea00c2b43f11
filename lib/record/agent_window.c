/* SPDX-License-Identifier: MIT */
#include "record/agent_window.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "probes/agent/layout.h"

#define PART_BYTES (UINT32_C(1) << 20)

/* A window is thrown away in so many pieces, however few records there are in it. */
#define PARTS_PER_WINDOW 16

/* 4 GiB: a long window of the busiest program. */
#define MAX_PARTS 4096

void gt_agent_window_start(struct gt_agent_window *window, uint64_t keep_ns)
{
	*window = (struct gt_agent_window){.keep_ns = keep_ns, .max_parts = MAX_PARTS};
}

void gt_agent_window_clear(struct gt_agent_window *window)
{
	for (uint32_t i = window->first; i < window->parts.count; i++)
		free(window->parts.items[i].data);
	gt_array_clear(&window->parts);
	window->first = 0;
}

static void throw_first_away(struct gt_agent_window *window)
{
	struct gt_agent_window_part *part = &window->parts.items[window->first++];

	window->thrown_ns = GT_MAX(window->thrown_ns, part->newest_ns);
	free(part->data);
	part->data = NULL;
	/* The items in front are moved away when they are the most. */
	if (window->first > window->parts.count / 2) {
		window->parts.count -= window->first;
		memmove(window->parts.items, window->parts.items + window->first,
			window->parts.count * sizeof(*window->parts.items));
		window->first = 0;
	}
}

void gt_agent_window_age(struct gt_agent_window *window)
{
	while (window->first < window->parts.count &&
	       window->parts.items[window->first].newest_ns + window->keep_ns < window->newest_ns)
		throw_first_away(window);
}

void *gt_agent_window_reserve(struct gt_agent_window *window, uint32_t bytes, uint64_t now_ns)
{
	struct gt_agent_window_part *part = NULL;

	if (window->first < window->parts.count) {
		part = &window->parts.items[window->parts.count - 1];
		if (part->used + bytes <= PART_BYTES &&
		    now_ns < part->opened_ns + window->keep_ns / PARTS_PER_WINDOW)
			return part->data + part->used;
	}
	if (window->parts.count - window->first >= window->max_parts)
		throw_first_away(window);
	part = gt_array_push(&window->parts);
	if (!part)
		return NULL;
	part->opened_ns = now_ns;
	part->data = malloc(PART_BYTES);
	if (!part->data) {
		window->parts.count--;
		return NULL;
	}
	return part->data;
}

void gt_agent_window_commit(struct gt_agent_window *window, uint32_t bytes, uint64_t newest_ns)
{
	struct gt_agent_window_part *part = &window->parts.items[window->parts.count - 1];

	part->used += bytes;
	part->newest_ns = GT_MAX(part->newest_ns, newest_ns);
	window->newest_ns = GT_MAX(window->newest_ns, newest_ns);
}

bool gt_agent_window_trim(struct gt_agent_records_block *block, uint64_t start_ns)
{
	struct gt_agent_record *records = (struct gt_agent_record *)(block + 1);
	uint32_t count =
		(block->block.bytes - (uint32_t)sizeof(*block)) / (uint32_t)sizeof(*records);
	uint32_t old = 0;

	while (old < count && (records[old].time & GT_AGENT_TIME_MASK) < start_ns)
		old++;
	if (old == count)
		return false;
	if (old > 0) {
		memmove(records, records + old, (count - old) * sizeof(*records));
		block->block.bytes -= old * (uint32_t)sizeof(*records);
		block->lost_before = 0;
	}
	return true;
}
