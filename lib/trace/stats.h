/* SPDX-License-Identifier: MIT */
/* Sums over a finished trace: what each thread and each GIL did, and who kept whom waiting. */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/macros.h"
#include "trace/trace.h"

/* The last one is of three days, and of whatever is longer. */
#define GT_STATS_LENGTHS 49

/* Where a length is counted; those of no time are with those of 1 ns. */
static inline unsigned gt_stats_length(uint64_t ns)
{
	unsigned place = 63 - (unsigned)__builtin_clzll(ns | 1);

	return place < GT_STATS_LENGTHS ? place : GT_STATS_LENGTHS - 1;
}

struct gt_thread_stats {
	/* Their sum is the thread's end_ns - start_ns. */
	uint64_t no_ns, wait_ns, has_ns, unknown_ns;
	/*
	 * Over its acquisitions (and a wait that never ended): all the waiting since the hold
	 * before. One that found the GIL free counts with what that took: 0 where only waits are
	 * told (the agent), else the way through take_gil, probes included. Percentiles are
	 * nearest-rank. 0 when there was no acquisition.
	 */
	uint64_t wait_max_ns, wait_p50_ns, wait_p99_ns;
	uint64_t waits; /* how many went into these */
	/*
	 * Over its holds. One that is cut off, by the end of the trace or by a gap, counts with
	 * what is known of it. Holds of at least hold_half_ns are half of the time that it held the
	 * GIL: so long are its bursts, however many short holds there are between them.
	 */
	uint64_t hold_max_ns, hold_p50_ns, hold_half_ns;
	uint64_t holds; /* how many there are */
	/* How many of both last at least 2^i ns, and less than 2^(i+1): see gt_stats_length(). */
	uint32_t hold_lengths[GT_STATS_LENGTHS], wait_lengths[GT_STATS_LENGTHS];
	/*
	 * On and off CPU, where states were recorded, else 0. The first five add up to the thread's
	 * end_ns - start_ns. Where wake-ups were not recorded, sleeping includes the time between
	 * them and the CPU; where stacks were not, it includes the disk.
	 */
	uint64_t running_ns, runnable_ns, sleep_ns, uninterruptible_ns, state_unknown_ns;
	/*
	 * Of sleep_ns, what lies inside of waits for the GIL; where these were not recorded, what
	 * the stacks call so.
	 */
	uint64_t sleep_gil_ns;
	uint64_t sleep_reason_ns[GT_SLEEP_REASONS]; /* whole sleeps by their reasons: sleep_ns */
	uint64_t uninterruptible_reason_ns[GT_SLEEP_REASONS]; /* likewise */
};

struct gt_gil_stats {
	uint64_t held_ns;   /* the sum of the holds, which do not overlap */
	uint64_t waited_ns; /* the sum over all threads */
};

struct gt_blame {
	uint32_t waiter; /* thread */
	uint32_t holder; /* thread, or GT_NONE for time in which nobody held it */
	uint64_t ns;
};

struct gt_stats {
	struct gt_thread_stats *threads; /* one for each of the trace */
	struct gt_gil_stats *gils;	 /* likewise */
	GT_ARRAY(struct gt_blame) blame; /* most first */
};

/* 0 or -ENOMEM. The caller clears RET. */
int gt_stats_compute(const struct gt_trace *trace, struct gt_stats *ret);
void gt_stats_clear(struct gt_stats *stats);
