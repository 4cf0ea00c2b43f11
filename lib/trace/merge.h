/* SPDX-License-Identifier: MIT */
/* One stream of events out of several, in the order of time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"

/*
 * Whatever gives events in time order: 1, or 0 at the end, or a negative errno (logged). What an
 * event points to is valid until the next call.
 */
struct gt_event_source {
	int (*next)(void *object, struct gt_event *ret);
	void *object;
};

#define GT_MERGE_SOURCES 4

/* Zeroed before the first source is added. Needs no clearing. */
struct gt_merge {
	struct gt_merge_input {
		struct gt_event_source source;
		struct gt_event head;
		enum { GT_MERGE_EMPTY, GT_MERGE_HAS_HEAD, GT_MERGE_ENDED } state;
	} inputs[GT_MERGE_SOURCES];
	uint32_t count;
};

/*
 * Adds one of at most GT_MERGE_SOURCES. At equal times those that were added first go first; but
 * the end of a task comes behind all else.
 */
void gt_merge_add(struct gt_merge *merge, struct gt_event_source source);

/* The next event: as that of a source. MERGE is a struct gt_merge. */
int gt_merge_next(void *merge, struct gt_event *ret);
