/* SPDX-License-Identifier: MIT */
#include "trace/stats.h"

#include <errno.h>
#include <string.h>

#include "trace/blame.h"
#include "trace/sleep.h"

/* The waits of all threads, one thread behind the other. */
struct waits {
	uint64_t *ns;
	uint64_t *start; /* of each thread in ns; one more than there are threads */
};

static void waits_clear(struct waits *waits)
{
	free(waits->ns);
	free(waits->start);
}

/*
 * What an acquisition waited: all waiting of the thread since its hold before. Called for each
 * interval in order, it tells at the start of a hold, or at the end of a life, how long that was;
 * -1: no wait is complete here. What comes out of a gap is no acquisition.
 */
struct wait_walk {
	uint64_t pending_ns;
	uint8_t last_kind;
	bool is_waiting; /* the thread's life ended with a wait, as far as is known */
};

static bool walk_wait(struct wait_walk *walk, const struct gt_interval *interval, uint64_t *ret_ns)
{
	bool ends = interval->kind == GT_INTERVAL_HAS && walk->last_kind != GT_INTERVAL_HAS &&
		    walk->last_kind != GT_INTERVAL_UNKNOWN;

	*ret_ns = walk->pending_ns;
	if (interval->kind == GT_INTERVAL_WAIT)
		walk->pending_ns += interval->end_ns - interval->start_ns;
	else if (interval->kind != GT_INTERVAL_NO)
		walk->pending_ns = 0;
	walk->is_waiting = interval->kind == GT_INTERVAL_WAIT;
	walk->last_kind = interval->kind;
	return ends;
}

/* Counts the waits of each thread, or, once there is room for them, writes them down. */
static int walk_waits(const struct gt_trace *trace, struct gt_thread_stats *threads,
		      struct waits *waits)
{
	_cleanup_free_ struct wait_walk *walks = calloc(trace->threads.count + 1, sizeof(*walks));
	uint64_t ns;

	if (!walks)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->threads.count; i++)
		threads[i].waits = 0;
	gt_array_for_each (&trace->intervals, interval) {
		uint32_t thread = interval->thread;

		if (!walk_wait(&walks[thread], interval, &ns))
			continue;
		if (waits->ns)
			waits->ns[waits->start[thread] + threads[thread].waits] = ns;
		threads[thread].waits++;
	}
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		if (!walks[i].is_waiting)
			continue;
		if (waits->ns)
			waits->ns[waits->start[i] + threads[i].waits] = walks[i].pending_ns;
		threads[i].waits++;
	}
	return 0;
}

/*
 * The value that would be at RANK if the values were in order (Hoare's quickselect). Values before
 * it are not larger afterwards, values behind it not smaller.
 */
static uint64_t select_rank(uint64_t *values, uint64_t count, uint64_t rank)
{
	uint64_t low = 0, high = count - 1;

	while (low < high) {
		uint64_t pivot = values[low + (high - low) / 2];
		uint64_t i = low, j = high;

		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			uint64_t value = values[i];

			values[i++] = values[j];
			values[j--] = value;
		}
		if (rank <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[rank];
}

/* Nearest rank: the smallest value that at least PERCENT of all do not exceed. */
static uint64_t percentile(uint64_t *values, uint64_t count, unsigned percent)
{
	return select_rank(values, count, (count * percent + 99) / 100 - 1);
}

static int compute_waits(const struct gt_trace *trace, struct gt_thread_stats *threads)
{
	_cleanup_(waits_clear) struct waits waits = {0};
	uint64_t total = 0;
	int r;

	waits.start = calloc(trace->threads.count + 1, sizeof(*waits.start));
	if (!waits.start)
		return -ENOMEM;
	r = walk_waits(trace, threads, &waits);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		waits.start[i] = total;
		total += threads[i].waits;
	}
	waits.ns = calloc(total + 1, sizeof(*waits.ns));
	if (!waits.ns)
		return -ENOMEM;
	r = walk_waits(trace, threads, &waits);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		uint64_t *ns = waits.ns + waits.start[i];

		if (threads[i].waits == 0)
			continue;
		threads[i].wait_p50_ns = percentile(ns, threads[i].waits, 50);
		threads[i].wait_p99_ns = percentile(ns, threads[i].waits, 99);
		threads[i].wait_max_ns = percentile(ns, threads[i].waits, 100);
	}
	return 0;
}

static void add_interval(struct gt_stats *stats, const struct gt_interval *interval)
{
	struct gt_thread_stats *thread = &stats->threads[interval->thread];
	struct gt_gil_stats *gil =
		interval->gil == GT_INTERVAL_NO_GIL ? NULL : &stats->gils[interval->gil];
	uint64_t ns = interval->end_ns - interval->start_ns;

	switch ((enum gt_interval_kind)interval->kind) {
	case GT_INTERVAL_NO:
		thread->no_ns += ns;
		break;
	case GT_INTERVAL_WAIT:
		thread->wait_ns += ns;
		if (gil)
			gil->waited_ns += ns;
		break;
	case GT_INTERVAL_HAS:
		thread->has_ns += ns;
		if (gil)
			gil->held_ns += ns;
		break;
	case GT_INTERVAL_UNKNOWN:
		thread->unknown_ns += ns;
		break;
	}
}

static int add_states(const struct gt_trace *trace, struct gt_thread_stats *threads)
{
	_cleanup_(gt_sleep_waits_clear) struct gt_sleep_waits waits = {0};
	int r;

	if (trace->states.count == 0)
		return 0;
	r = gt_sleep_waits_find(trace, &waits);
	if (r < 0)
		return r;
	gt_array_for_each (&trace->states, state) {
		struct gt_thread_stats *thread = &threads[state->thread];
		uint64_t ns = state->end_ns - state->start_ns;

		switch ((enum gt_state_kind)state->kind) {
		case GT_STATE_SLEEPING:
			thread->sleep_ns += ns;
			thread->sleep_reason_ns[state->reason] += ns;
			thread->sleep_gil_ns += gt_sleep_waited_ns(&waits, state->thread,
								   state->start_ns, state->end_ns);
			break;
		case GT_STATE_RUNNABLE:
			thread->runnable_ns += ns;
			break;
		case GT_STATE_RUNNING:
			thread->running_ns += ns;
			break;
		case GT_STATE_UNKNOWN:
			thread->state_unknown_ns += ns;
			break;
		case GT_STATE_UNINTERRUPTIBLE:
			thread->uninterruptible_ns += ns;
			thread->uninterruptible_reason_ns[state->reason] += ns;
			break;
		}
	}
	return 0;
}

int gt_stats_compute(const struct gt_trace *trace, struct gt_stats *ret)
{
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	int r;

	stats.threads = calloc(trace->threads.count + 1, sizeof(*stats.threads));
	stats.gils = calloc(trace->gils.count + 1, sizeof(*stats.gils));
	if (!stats.threads || !stats.gils)
		return -ENOMEM;
	gt_array_for_each (&trace->intervals, interval)
		add_interval(&stats, interval);
	r = add_states(trace, stats.threads);
	if (r < 0)
		return r;
	r = compute_waits(trace, stats.threads);
	if (r < 0)
		return r;
	r = gt_blame_compute(trace, &stats);
	if (r < 0)
		return r;
	*ret = stats;
	stats = (struct gt_stats){0};
	return 0;
}

void gt_stats_clear(struct gt_stats *stats)
{
	free(stats->threads);
	free(stats->gils);
	gt_array_clear(&stats->blame);
	*stats = (struct gt_stats){0};
}
