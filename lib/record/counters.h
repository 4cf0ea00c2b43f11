/* SPDX-License-Identifier: MIT */
/*
 * What each thread has counted. The kernel tells it when a thread ends, event by event and CPU by
 * CPU, but not of the first thread: its events are those that were opened, and are no copies. It
 * has what all of them have counted and no other one has told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "record/event_set.h"

struct gt_followed_threads;
struct gt_pass_output;
struct gt_pass_rings;
struct gt_ring_record;

struct gt_counters {
	const struct gt_event_set *set;
	uint32_t first, count; /* which of the set's events they are */
	uint32_t pid;	       /* of the first thread */
	bool has_first;	       /* it has told of itself: kernels before 6.12 swap events */
	struct gt_hash index;  /* identifier → what was told of it */
	struct gt_event_count *told;
};

/* The last COUNT events of SET. -ENOMEM (logged). */
int gt_counters_init(struct gt_counters *counters, const struct gt_event_set *set, uint32_t count,
		     pid_t pid);
void gt_counters_clear(struct gt_counters *counters);

/*
 * Adds up what PERF_RECORD_READ tells. False when that need not be in the file: that a thread was
 * not on one CPU more. (Of the first CPU it is: it says that the thread was asked.) Where it was
 * and counted nothing, is: a reader would take the time for one in which it could not count.
 */
bool gt_counters_note(struct gt_counters *counters, const struct gt_ring_record *record);

/*
 * When all is over, writes what the first thread has counted; nothing when that is not known,
 * because records were lost or another thread goes on. Logs what failed.
 */
int gt_counters_add_first(struct gt_counters *counters, const struct gt_pass_rings *rings,
			  const struct gt_followed_threads *followed,
			  struct gt_pass_output *output);
