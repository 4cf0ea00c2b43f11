/* SPDX-License-Identifier: MIT */
/*
 * Puts records into time order. A round of a recording is one run of nearly sorted times for each
 * ring, so keys are put into place as they come, and runs are merged when a round is over.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"

struct gt_sort_key {
	uint64_t time_ns;
	uint64_t position; /* the caller's: where the record is */
};

struct gt_sorter {
	GT_ARRAY(struct gt_sort_key) keys;
	GT_ARRAY(struct gt_sort_key) spare; /* the other side of a merge */
	GT_ARRAY(uint32_t) runs;	    /* where in keys each sorted run starts */
	uint32_t head;			    /* the next key to give */
	uint32_t ready;			    /* the end of those that may be given */
	uint64_t given_until_ns;	    /* the latest time that was ever made ready */
	uint64_t late; /* keys that came after a later one had been made ready */
};

/* Adds a key; keys of the same time keep the order in which they were added. 0 or -ENOMEM. */
int gt_sorter_add(struct gt_sorter *sorter, uint64_t time_ns, uint64_t position);

/* Makes the keys up to LIMIT_NS ready. 0 or -ENOMEM. */
int gt_sorter_release(struct gt_sorter *sorter, uint64_t limit_ns);

/* Makes the earlier half of the keys ready. 0 or -ENOMEM. */
int gt_sorter_release_half(struct gt_sorter *sorter);

/* Forgets the keys that were given. Keys can be added again only after this. */
void gt_sorter_compact(struct gt_sorter *sorter);

/* The next key that is ready, or NULL. */
static inline const struct gt_sort_key *gt_sorter_next(struct gt_sorter *sorter)
{
	if (sorter->head == sorter->ready)
		return NULL;
	return &sorter->keys.items[sorter->head++];
}

void gt_sorter_clear(struct gt_sorter *sorter);
