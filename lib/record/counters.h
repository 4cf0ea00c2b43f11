/* SPDX-License-Identifier: MIT */
/*
 * What each thread has counted. The kernel tells it when a thread ends, event by event and CPU by
 * CPU, but not of the first thread: its events are those that were opened, and are no copies. It
 * has what all of them have counted and no other one has told.
 *
 * Each counter has rings of its own. A thread that ends on one CPU tells what it has counted on all
 * of them, and writes to the rings of the others; but only the CPU that a ring belongs to may write
 * to it, or two do at once, and what is in it is no list of records any more. (perf record -s has
 * the same trouble.) Where nothing but such last words of one counter are written to a ring, its
 * threads take turns: each holds the counter's lock then, from Linux 5.13 on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/event_set.h"
#include "record/pass_rings.h"

struct gt_followed_threads;
struct gt_pass_output;
struct gt_pass_spec;
struct gt_ring_record;

struct gt_counter {
	struct gt_event_set set; /* of one event */
	struct gt_pass_rings rings;
	struct gt_event_count *told; /* of all threads together, one for each ring */
};

struct gt_counters {
	struct gt_counter *items;
	uint32_t count;
	uint32_t pid;	/* of the first thread */
	bool has_first; /* it has told of itself: kernels before 6.12 swap events */
	bool is_behind; /* a ring was more than a quarter full */
};

/*
 * Opens those of SPEC on PID, for a pass whose own rings are of PASS_RING_BYTES. Logs what failed;
 * COUNTERS can be closed also then.
 */
int gt_counters_open(struct gt_counters *counters, const struct gt_pass_spec *spec,
		     uint64_t pass_ring_bytes, pid_t pid);
void gt_counters_disable(struct gt_counters *counters);
void gt_counters_close(struct gt_counters *counters);

/*
 * Adds up what PERF_RECORD_READ tells, from ring RING of COUNTER. False when that need not be in
 * the file: that a thread was not on one CPU more. (Of the first CPU it is: it says that the thread
 * was asked.) Where it was and counted nothing, is: a reader would take the time for one in which
 * it could not count.
 */
bool gt_counters_note(struct gt_counters *counters, uint32_t counter, uint32_t ring,
		      const struct gt_ring_record *record);

/* To be called before the pass's own rings are read, as for wake-ups. */
void gt_counters_begin(struct gt_counters *counters);

/* Writes what threads tell, and what was lost. Logs what failed. */
int gt_counters_drain(struct gt_counters *counters, struct gt_pass_output *output);

/* See gt_pass_rings_lost() and gt_pass_rings_add_untold(). */
uint64_t gt_counters_lost(const struct gt_counters *counters);
int gt_counters_add_untold(struct gt_counters *counters, struct gt_pass_output *output);

/*
 * When all is over, writes what the first thread has counted; nothing when that is not known,
 * because records were lost, here or by the pass (HAS_LOST), or another thread goes on. Logs what
 * failed.
 */
int gt_counters_add_first(struct gt_counters *counters, bool has_lost,
			  const struct gt_followed_threads *followed,
			  struct gt_pass_output *output);
