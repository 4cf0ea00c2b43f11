/* SPDX-License-Identifier: MIT */
#include "trace/acquisitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum which { WAITS, HOLDS, WHICH };

/* Lengths of all threads, one thread behind the other. */
struct lengths {
	uint64_t *ns;
	uint64_t *start; /* of each thread in ns; one more than there are threads */
	uint64_t *count; /* of each thread */
};

static void lengths_clear(struct lengths *lengths)
{
	free(lengths->ns);
	free(lengths->start);
	free(lengths->count);
}

/*
 * What an acquisition waited: all waiting of the thread since its hold before. What comes out of a
 * gap is no acquisition, nor is what a child of fork() is born with. A hold may be of several
 * intervals.
 */
struct walk {
	uint64_t wait_ns, hold_ns;
	uint8_t last_kind;
	bool is_waiting; /* the thread's life ended with a wait, as far as is known */
};

/* Counts a length of a thread, or, once there is room for them, writes it down. */
static void add_length(struct lengths *lengths, uint32_t thread, uint64_t ns)
{
	if (lengths->ns)
		lengths->ns[lengths->start[thread] + lengths->count[thread]] = ns;
	lengths->count[thread]++;
}

static void end_hold(struct walk *walk, struct lengths *holds, uint32_t thread)
{
	if (walk->last_kind == GT_INTERVAL_HAS)
		add_length(holds, thread, walk->hold_ns);
	walk->hold_ns = 0;
}

static bool is_acquisition(const struct walk *walk, const struct gt_interval *interval,
			   const struct gt_thread *owner)
{
	return walk->last_kind != GT_INTERVAL_HAS && walk->last_kind != GT_INTERVAL_UNKNOWN &&
	       interval->start_ns > owner->start_ns;
}

static void walk_interval(struct walk *walk, const struct gt_interval *interval,
			  const struct gt_thread *owner, struct lengths lengths[WHICH])
{
	uint64_t ns = interval->end_ns - interval->start_ns;
	uint32_t thread = interval->thread;

	if (interval->kind == GT_INTERVAL_HAS) {
		if (is_acquisition(walk, interval, owner))
			add_length(&lengths[WAITS], thread, walk->wait_ns);
		walk->hold_ns += ns;
	} else {
		end_hold(walk, &lengths[HOLDS], thread);
	}
	if (interval->kind == GT_INTERVAL_WAIT)
		walk->wait_ns += ns;
	else if (interval->kind != GT_INTERVAL_NO)
		walk->wait_ns = 0;
	walk->is_waiting = interval->kind == GT_INTERVAL_WAIT;
	walk->last_kind = interval->kind;
}

static int walk_all(const struct gt_trace *trace, struct lengths lengths[WHICH])
{
	_cleanup_free_ struct walk *walks = calloc(trace->threads.count + 1, sizeof(*walks));

	if (!walks)
		return -ENOMEM;
	for (enum which i = 0; i < WHICH; i++)
		memset(lengths[i].count, 0, trace->threads.count * sizeof(*lengths[i].count));
	gt_array_for_each (&trace->intervals, interval)
		walk_interval(&walks[interval->thread], interval,
			      &trace->threads.items[interval->thread], lengths);
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		end_hold(&walks[i], &lengths[HOLDS], i);
		if (walks[i].is_waiting)
			add_length(&lengths[WAITS], i, walks[i].wait_ns);
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

/* The largest value with which those that are not smaller make half of the sum. */
static uint64_t half_of_sum(uint64_t *values, uint64_t count)
{
	uint64_t low = 0, high = count, need = 0;

	for (uint64_t i = 0; i < count; i++)
		need += values[i];
	need -= need / 2;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2, sum = 0;

		select_rank(values + low, high - low, middle - low);
		for (uint64_t i = middle; i < high; i++)
			sum += values[i];
		if (sum >= need) {
			low = middle;
		} else {
			need -= sum;
			high = middle;
		}
	}
	return values[low];
}

static void describe_waits(struct gt_thread_stats *thread, uint64_t *ns, uint64_t count)
{
	thread->waits = count;
	for (uint64_t i = 0; i < count; i++)
		thread->wait_lengths[gt_stats_length(ns[i])]++;
	if (count == 0)
		return;
	thread->wait_p50_ns = percentile(ns, count, 50);
	thread->wait_p99_ns = percentile(ns, count, 99);
	thread->wait_max_ns = percentile(ns, count, 100);
}

static void describe_holds(struct gt_thread_stats *thread, uint64_t *ns, uint64_t count)
{
	thread->holds = count;
	for (uint64_t i = 0; i < count; i++)
		thread->hold_lengths[gt_stats_length(ns[i])]++;
	if (count == 0)
		return;
	thread->hold_p50_ns = percentile(ns, count, 50);
	thread->hold_max_ns = percentile(ns, count, 100);
	thread->hold_half_ns = half_of_sum(ns, count);
}

static int make_room(const struct gt_trace *trace, struct lengths *lengths)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < trace->threads.count; i++) {
		lengths->start[i] = total;
		total += lengths->count[i];
	}
	lengths->ns = calloc(total + 1, sizeof(*lengths->ns));
	return lengths->ns ? 0 : -ENOMEM;
}

static int compute(const struct gt_trace *trace, struct lengths lengths[WHICH])
{
	int r;

	for (enum which i = 0; i < WHICH; i++) {
		lengths[i].start = calloc(trace->threads.count + 1, sizeof(uint64_t));
		lengths[i].count = calloc(trace->threads.count + 1, sizeof(uint64_t));
		if (!lengths[i].start || !lengths[i].count)
			return -ENOMEM;
	}
	r = walk_all(trace, lengths);
	if (r < 0)
		return r;
	for (enum which i = 0; i < WHICH; i++) {
		r = make_room(trace, &lengths[i]);
		if (r < 0)
			return r;
	}
	return walk_all(trace, lengths);
}

int gt_acquisitions_compute(const struct gt_trace *trace, struct gt_thread_stats *threads)
{
	struct lengths lengths[WHICH] = {0};
	int r = compute(trace, lengths);

	for (uint32_t i = 0; r == 0 && i < trace->threads.count; i++) {
		describe_waits(&threads[i], lengths[WAITS].ns + lengths[WAITS].start[i],
			       lengths[WAITS].count[i]);
		describe_holds(&threads[i], lengths[HOLDS].ns + lengths[HOLDS].start[i],
			       lengths[HOLDS].count[i]);
	}
	for (enum which i = 0; i < WHICH; i++)
		lengths_clear(&lengths[i]);
	return r;
}
