/* SPDX-License-Identifier: MIT */
/* How long threads held the GIL, and waited for it, each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trace/stats.h"

static void add_thread(struct gt_trace *trace)
{
	struct gt_thread *thread;

	if (trace->processes.count == 0)
		assert_non_null(gt_array_push(&trace->processes));
	thread = gt_array_push(&trace->threads);
	assert_non_null(thread);
	thread->tid = trace->threads.count;
}

/* The next interval of a thread: behind its last one. */
static void add(struct gt_trace *trace, uint32_t thread, enum gt_interval_kind kind, uint64_t ns)
{
	struct gt_thread *owner = &trace->threads.items[thread];
	struct gt_interval *interval = gt_array_push(&trace->intervals);

	assert_non_null(interval);
	interval->thread = thread;
	interval->gil = GT_INTERVAL_NO_GIL;
	interval->kind = (unsigned int)kind & 7;
	interval->start_ns = owner->end_ns;
	interval->end_ns = owner->end_ns += ns;
}

static void test_lengths_have_their_places(void **state)
{
	(void)state;
	assert_int_equal(gt_stats_length(0), 0);
	assert_int_equal(gt_stats_length(1), 0);
	assert_int_equal(gt_stats_length(2), 1);
	assert_int_equal(gt_stats_length(3), 1);
	assert_int_equal(gt_stats_length(4), 2);
	assert_int_equal(gt_stats_length(1023), 9);
	assert_int_equal(gt_stats_length(1024), 10);
	assert_int_equal(gt_stats_length(UINT64_MAX), GT_STATS_LENGTHS - 1);
}

static void test_holds_and_waits_are_counted(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = calloc(1, sizeof(*trace));
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	const struct gt_thread_stats *thread;

	(void)state;
	assert_non_null(trace);
	for (int i = 0; i < 3; i++)
		add_thread(trace);
	add(trace, 0, GT_INTERVAL_NO, 7);
	add(trace, 0, GT_INTERVAL_HAS, 100); /* waited for nothing */
	add(trace, 0, GT_INTERVAL_WAIT, 10);
	add(trace, 0, GT_INTERVAL_NO, 5);
	add(trace, 0, GT_INTERVAL_WAIT, 30);
	add(trace, 0, GT_INTERVAL_HAS, 6); /* one hold of two intervals, that waited for 40 */
	add(trace, 0, GT_INTERVAL_HAS, 3);
	add(trace, 0, GT_INTERVAL_UNKNOWN, 50);
	add(trace, 0, GT_INTERVAL_HAS, 20);   /* out of a gap: no acquisition */
	add(trace, 0, GT_INTERVAL_WAIT, 600); /* without an end */
	add(trace, 1, GT_INTERVAL_NO, 1000);
	/* Another's are between its own; its last hold is cut off. */
	add(trace, 1, GT_INTERVAL_WAIT, 1);
	add(trace, 2, GT_INTERVAL_HAS, 4);
	add(trace, 1, GT_INTERVAL_HAS, 8);
	assert_int_equal(gt_stats_compute(trace, &stats), 0);

	thread = &stats.threads[0];
	assert_int_equal(thread->holds, 3);
	assert_int_equal(thread->hold_lengths[6], 1); /* 100 */
	assert_int_equal(thread->hold_lengths[4], 1); /* 20 */
	assert_int_equal(thread->hold_lengths[3], 1); /* 9 */
	assert_int_equal(thread->hold_p50_ns, 20);
	assert_int_equal(thread->hold_max_ns, 100);
	assert_int_equal(thread->hold_half_ns, 100);
	assert_int_equal(thread->waits, 3);
	assert_int_equal(thread->wait_lengths[0], 1);
	assert_int_equal(thread->wait_lengths[5], 1);
	assert_int_equal(thread->wait_lengths[9], 1);
	assert_int_equal(thread->wait_max_ns, 600);
	assert_int_equal(stats.threads[1].holds, 1);
	assert_int_equal(stats.threads[1].hold_half_ns, 8);
	assert_int_equal(stats.threads[1].wait_lengths[0], 1);
	/* It was born with it: it has waited for nothing. */
	assert_int_equal(stats.threads[2].hold_max_ns, 4);
	assert_int_equal(stats.threads[2].waits, 0);
}

static int by_length(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? 1 : -(left > right);
}

/* Against their definitions, for all sizes of lists. */
static void test_half_of_the_time(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (uint32_t count = 1; count <= 200; count += 3) {
		_cleanup_(gt_trace_freep) struct gt_trace *trace = calloc(1, sizeof(*trace));
		_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
		uint64_t lengths[200], total = 0, sum = 0, places = 0;
		uint32_t i = 0;

		assert_non_null(trace);
		add_thread(trace);
		for (uint32_t k = 0; k < count; k++) {
			seed = seed * 48271 % 0x7fffffff;
			lengths[k] = 1 + (seed % 10 == 0 ? seed % 100000 : seed % 50);
			total += lengths[k];
			add(trace, 0, GT_INTERVAL_HAS, lengths[k]);
			add(trace, 0, GT_INTERVAL_NO, 1);
		}
		assert_int_equal(gt_stats_compute(trace, &stats), 0);
		qsort(lengths, count, sizeof(*lengths), by_length);
		for (i = 0; sum + lengths[i] < total - total / 2; i++)
			sum += lengths[i];
		assert_int_equal(stats.threads[0].hold_half_ns, lengths[i]);
		assert_int_equal(stats.threads[0].hold_max_ns, lengths[0]);
		assert_int_equal(stats.threads[0].hold_p50_ns, lengths[count - (count + 1) / 2]);
		for (i = 0; i < GT_STATS_LENGTHS; i++)
			places += stats.threads[0].hold_lengths[i];
		assert_int_equal(places, count);
		assert_int_equal(stats.threads[0].holds, count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths_have_their_places),
		cmocka_unit_test(test_holds_and_waits_are_counted),
		cmocka_unit_test(test_half_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
