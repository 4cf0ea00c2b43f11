/* SPDX-License-Identifier: MIT */
/*
 * Which threads a pass follows, and when: learned from the records of its own rings, in whichever
 * order these are read. A number can be given to a thread of another program, when its own has
 * ended, and come back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"

struct gt_ring_record;

struct gt_followed_thread {
	uint64_t born_ns; /* or the first that was heard of it */
	uint64_t seen_ns; /* alive at this time */
	uint64_t ended_ns;
};

struct gt_followed_threads {
	GT_ARRAY(struct gt_followed_thread) threads;
	struct gt_hash index; /* by thread number */
};

/* Samples have struct gt_sample_ids at IDS_OFFSET. -ENOMEM (logged). */
int gt_followed_threads_note(struct gt_followed_threads *followed,
			     const struct gt_ring_record *record, uint32_t ids_offset);

bool gt_followed_threads_have(const struct gt_followed_threads *followed, uint32_t tid,
			      uint64_t time_ns);

/* Whether there were some, and all have ended. */
bool gt_followed_threads_have_ended(const struct gt_followed_threads *followed);

void gt_followed_threads_clear(struct gt_followed_threads *followed);
