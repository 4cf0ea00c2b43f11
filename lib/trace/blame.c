/* SPDX-License-Identifier: MIT */
#include "trace/blame.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

/* The holds of one GIL. They do not overlap, and are in order. */
struct holds {
	GT_ARRAY(uint32_t) intervals;
	uint32_t hint; /* the first that matters is near it, because waits are about in order */
};

struct blamer {
	const struct gt_trace *trace;
	struct holds *holds;  /* one for each GIL */
	struct gt_hash index; /* waiter and holder → blame */
	struct gt_stats *stats;
};

static void blamer_clear(struct blamer *blamer)
{
	for (uint32_t i = 0; blamer->holds && i < blamer->trace->gils.count; i++)
		gt_array_clear(&blamer->holds[i].intervals);
	free(blamer->holds);
	gt_hash_clear(&blamer->index);
}

static int collect_holds(struct blamer *blamer)
{
	const struct gt_trace *trace = blamer->trace;

	for (uint32_t i = 0; i < trace->intervals.count; i++) {
		const struct gt_interval *interval = &trace->intervals.items[i];
		uint32_t *hold;

		if (interval->kind != GT_INTERVAL_HAS || interval->gil == GT_INTERVAL_NO_GIL)
			continue;
		hold = gt_array_push(&blamer->holds[interval->gil].intervals);
		if (!hold)
			return -ENOMEM;
		*hold = i;
	}
	return 0;
}

static int add_blame(struct blamer *blamer, uint32_t waiter, uint32_t holder, uint64_t ns)
{
	uint64_t key = (uint64_t)waiter << 32 | holder;
	uint32_t i = gt_hash_get(&blamer->index, key);

	if (ns == 0)
		return 0;
	if (i == GT_HASH_NONE) {
		struct gt_blame *blame = gt_array_push(&blamer->stats->blame);
		int r;

		if (!blame)
			return -ENOMEM;
		blame->waiter = waiter;
		blame->holder = holder;
		i = blamer->stats->blame.count - 1;
		r = gt_hash_set(&blamer->index, key, i);
		if (r < 0)
			return r;
	}
	blamer->stats->blame.items[i].ns += ns;
	return 0;
}

static int blame_wait(struct blamer *blamer, const struct gt_interval *wait)
{
	const struct gt_interval *all = blamer->trace->intervals.items;
	uint64_t free_ns = wait->end_ns - wait->start_ns;
	struct holds *holds;
	uint32_t i;
	int r;

	if (wait->gil == GT_INTERVAL_NO_GIL)
		return add_blame(blamer, wait->thread, GT_NONE, free_ns);

	holds = &blamer->holds[wait->gil];
	i = holds->hint;
	while (i > 0 && all[holds->intervals.items[i - 1]].end_ns > wait->start_ns)
		i--;
	while (i < holds->intervals.count &&
	       all[holds->intervals.items[i]].end_ns <= wait->start_ns)
		i++;
	holds->hint = i;
	for (; i < holds->intervals.count; i++) {
		const struct gt_interval *hold = &all[holds->intervals.items[i]];
		uint64_t start_ns = GT_MAX(hold->start_ns, wait->start_ns);
		uint64_t end_ns = GT_MIN(hold->end_ns, wait->end_ns);

		if (start_ns >= end_ns)
			break;
		free_ns -= end_ns - start_ns;
		r = add_blame(blamer, wait->thread, hold->thread, end_ns - start_ns);
		if (r < 0)
			return r;
	}
	return add_blame(blamer, wait->thread, GT_NONE, free_ns);
}

static int by_time(const void *left, const void *right)
{
	const struct gt_blame *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->waiter != b->waiter)
		return a->waiter < b->waiter ? -1 : 1;
	return a->holder < b->holder ? -1 : a->holder > b->holder;
}

int gt_blame_compute(const struct gt_trace *trace, struct gt_stats *stats)
{
	_cleanup_(blamer_clear) struct blamer blamer = {.trace = trace, .stats = stats};
	int r;

	blamer.holds = calloc(trace->gils.count + 1, sizeof(*blamer.holds));
	if (!blamer.holds)
		return -ENOMEM;
	r = collect_holds(&blamer);
	if (r < 0)
		return r;
	gt_array_for_each (&trace->intervals, interval) {
		if (interval->kind != GT_INTERVAL_WAIT)
			continue;
		r = blame_wait(&blamer, interval);
		if (r < 0)
			return r;
	}
	if (stats->blame.count > 1)
		qsort(stats->blame.items, stats->blame.count, sizeof(*stats->blame.items), by_time);
	return 0;
}
