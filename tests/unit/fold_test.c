/* SPDX-License-Identifier: MIT */
/* Bars that are folded: fewer, and as long as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "render/page_lanes.h"

#define ORIGIN UINT64_C(1000003)
#define THREADS 3
#define KINDS 20
#define GILS 3

struct bars {
	GT_ARRAY(struct gt_bar) bars;
};

static void add_bar(const struct gt_bar *bar, void *context)
{
	struct bars *bars = context;
	struct gt_bar *copy = gt_array_push(&bars->bars);

	assert_non_null(copy);
	*copy = *bar;
}

static uint64_t fold(const struct bars *from, uint64_t quantum_ns, struct bars *to)
{
	struct gt_fold folding = {
		.origin_ns = ORIGIN, .quantum_ns = quantum_ns, .emit = add_bar, .context = to};

	gt_array_for_each (&from->bars, bar)
		gt_fold_add(&folding, bar);
	gt_fold_end(&folding);
	return folding.merged;
}

static uint64_t seed;

static uint64_t random_below(uint64_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % limit;
}

/* Bursts of short ones between long ones, of many kinds. */
static void make_bars(struct bars *bars, uint32_t per_thread)
{
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		uint64_t now = ORIGIN + random_below(100);

		for (uint32_t i = 0; i < per_thread; i++) {
			uint64_t most = random_below(20) == 0 ? 30000 : i % 90 < 80 ? 20 : 600;
			struct gt_bar bar = {.thread = thread,
					     .kind = 1 + (uint32_t)random_below(KINDS - 1),
					     .gil = (uint32_t)random_below(GILS),
					     .stack = 1 + i};

			if (random_below(3) == 0)
				now += random_below(most);
			bar.start_ns = now;
			bar.end_ns = now += 1 + random_below(most);
			add_bar(&bar, bars);
		}
	}
}

static void sum_up(const struct bars *bars, uint64_t sums[THREADS][KINDS][GILS])
{
	memset(sums, 0, sizeof(uint64_t[THREADS][KINDS][GILS]));
	gt_array_for_each (&bars->bars, bar)
		sums[bar->thread][bar->kind][bar->gil] += bar->end_ns - bar->start_ns;
}

/* Of each thread and kind as long as before; in order, none over another, none out of its life. */
static void check_fold(const struct bars *before, const struct bars *after, uint64_t quantum_ns,
		       uint64_t merged)
{
	static uint64_t sums[THREADS][KINDS][GILS], folded[THREADS][KINDS][GILS];
	uint32_t thread = GT_NONE, next = 0;
	uint64_t end_ns = 0;

	sum_up(before, sums);
	sum_up(after, folded);
	assert_memory_equal(sums, folded, sizeof(sums));
	assert_true(after->bars.count <= before->bars.count);
	assert_true(merged <= before->bars.count);
	assert_int_equal(merged == 0, before->bars.count == after->bars.count);
	gt_array_for_each (&after->bars, bar) {
		if (bar->thread != thread) {
			assert_true(thread == GT_NONE || bar->thread == thread + 1);
			thread = bar->thread;
			end_ns = ORIGIN;
		}
		assert_true(bar->start_ns >= end_ns);
		assert_true(bar->start_ns < bar->end_ns);
		end_ns = bar->end_ns;
	}
	/* What is as long as a quantum, or lies in two, is there as it was. */
	gt_array_for_each (&before->bars, bar) {
		uint64_t quantum = quantum_ns ? (bar->start_ns - ORIGIN) / quantum_ns : 0;

		if (quantum_ns && bar->end_ns - bar->start_ns < quantum_ns &&
		    (bar->end_ns - ORIGIN - 1) / quantum_ns == quantum)
			continue;
		while (next < after->bars.count &&
		       memcmp(&after->bars.items[next], bar, sizeof(*bar)) != 0)
			next++;
		assert_true(next < after->bars.count);
	}
}

static void test_sums_stay(void **state)
{
	(void)state;
	for (seed = 1; seed < 12; seed++) {
		uint64_t first = seed;
		struct bars bars = {0};
		uint32_t count = UINT32_MAX;

		make_bars(&bars, 500);
		for (unsigned shift = 0; shift < 30; shift++) {
			struct bars folded = {0};
			uint64_t merged = fold(&bars, UINT64_C(1) << shift, &folded);

			check_fold(&bars, &folded, UINT64_C(1) << shift, merged);
			if (shift == 0)
				assert_int_equal(folded.bars.count, bars.bars.count);
			count = folded.bars.count;
			gt_array_clear(&folded.bars);
		}
		/* All lies in one quantum: what is left are the kinds, and more where they are
		 * many. */
		assert_true(count <= THREADS * (KINDS - 1) * GILS);
		gt_array_clear(&bars.bars);
		seed = first;
	}
}

static void test_no_quantum_changes_nothing(void **state)
{
	struct bars bars = {0}, folded = {0};

	(void)state;
	seed = 7;
	make_bars(&bars, 100);
	assert_int_equal(fold(&bars, 0, &folded), 0);
	assert_int_equal(folded.bars.count, bars.bars.count);
	assert_memory_equal(folded.bars.items, bars.bars.items,
			    bars.bars.count * sizeof(*bars.bars.items));
	gt_array_clear(&bars.bars);
	gt_array_clear(&folded.bars);
}

static void test_neighbours_are_merged(void **state)
{
	const struct gt_bar list[] = {
		{.start_ns = ORIGIN + 2, .end_ns = ORIGIN + 4, .kind = 1, .stack = 5},
		{.start_ns = ORIGIN + 5, .end_ns = ORIGIN + 6, .kind = 2, .stack = 6},
		{.start_ns = ORIGIN + 8, .end_ns = ORIGIN + 9, .kind = 1, .stack = 7},
		{.start_ns = ORIGIN + 14, .end_ns = ORIGIN + 18, .kind = 1, .stack = 8},
		{.start_ns = ORIGIN + 18, .end_ns = ORIGIN + 20, .kind = 1, .stack = 9},
	};
	const struct gt_bar expected[] = {
		{.start_ns = ORIGIN + 2, .end_ns = ORIGIN + 5, .kind = 1},
		{.start_ns = ORIGIN + 5, .end_ns = ORIGIN + 6, .kind = 2, .stack = 6},
		{.start_ns = ORIGIN + 14, .end_ns = ORIGIN + 18, .kind = 1, .stack = 8},
		{.start_ns = ORIGIN + 18, .end_ns = ORIGIN + 20, .kind = 1, .stack = 9},
	};
	struct bars bars = {0}, folded = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		add_bar(&list[i], &bars);
	assert_int_equal(fold(&bars, 16, &folded), 2);
	assert_int_equal(folded.bars.count, ARRAY_SIZE(expected));
	assert_memory_equal(folded.bars.items, expected, sizeof(expected));
	gt_array_clear(&bars.bars);
	gt_array_clear(&folded.bars);
}

/* A trace of one thread that takes turns with nobody, and its states. */
static void make_trace(struct gt_trace *trace, uint32_t holds)
{
	struct gt_thread *thread = gt_array_push(&trace->threads);
	struct gt_process *process = gt_array_push(&trace->processes);
	uint64_t now = ORIGIN;

	assert_true(thread && process);
	process->gil_events = 1;
	process->python = process->main_thread = GT_NONE;
	trace->start_ns = ORIGIN;
	trace->events = 1;
	trace->has_states = true;
	for (uint32_t i = 0; i < holds; i++) {
		struct gt_interval *interval = gt_array_push(&trace->intervals);
		struct gt_state_interval *running = gt_array_push(&trace->states);

		assert_true(interval && running);
		running->start_ns = interval->start_ns = now += 1 + random_below(50);
		running->end_ns = interval->end_ns = now += 1 + random_below(50);
		interval->kind = GT_INTERVAL_HAS;
		interval->gil = GT_INTERVAL_NO_GIL;
		running->kind = GT_STATE_RUNNING;
	}
	trace->end_ns = thread->end_ns = now + 10;
}

static void test_shortest_quantum_that_does(void **state)
{
	struct gt_trace *trace = calloc(1, sizeof(*trace));
	struct gt_report_meta meta = {.probe = "uprobe"};
	struct gt_report report = {.trace = trace, .meta = &meta};
	struct gt_page_lanes all = {0};

	(void)state;
	seed = 3;
	assert_non_null(trace);
	make_trace(trace, 3000);
	assert_int_equal(gt_page_lanes_find(&report, &all), 0);
	assert_int_equal(all.quantum_ns, 0);
	assert_int_equal(all.intervals.left, 3000);
	assert_int_equal(all.states.left, 3000);
	for (uint32_t most = 2; most < 7000; most = most * 3 / 2 + 1) {
		struct gt_page_lanes lanes = {0}, finer = {0};

		report.page_slices = most;
		assert_int_equal(gt_page_lanes_find(&report, &lanes), 0);
		assert_true(lanes.intervals.left + lanes.states.left <= most || most >= 6000);
		assert_int_equal(lanes.quantum_ns == 0, most >= 6000);
		assert_int_equal(lanes.intervals.lengths[0], lanes.intervals.left);
		/* One that is half as long would leave too many. */
		if (lanes.quantum_ns > 1) {
			struct bars left = {0};

			finer = lanes;
			finer.quantum_ns /= 2;
			gt_page_bars_walk(&finer, &finer.intervals, add_bar, &left);
			gt_page_bars_walk(&finer, &finer.states, add_bar, &left);
			assert_true(left.bars.count > most);
			gt_array_clear(&left.bars);
		}
		gt_page_lanes_clear(&lanes);
	}
	gt_page_lanes_clear(&all);
	gt_trace_free(trace);
}

static void check_moved(const struct gt_page_lanes *lanes, const struct gt_page_bars *bars,
			const struct gt_page_lanes *moved, const struct gt_page_bars *moved_bars,
			uint64_t by_ns)
{
	struct bars left = {0}, moved_left = {0};

	gt_page_bars_walk(lanes, bars, add_bar, &left);
	gt_page_bars_walk(moved, moved_bars, add_bar, &moved_left);
	assert_int_equal(left.bars.count, moved_left.bars.count);
	assert_int_equal(bars->merged, moved_bars->merged);
	gt_array_for_each (&left.bars, bar) {
		bar->start_ns += by_ns;
		bar->end_ns += by_ns;
	}
	assert_memory_equal(left.bars.items, moved_left.bars.items,
			    left.bars.count * sizeof(*left.bars.items));
	gt_array_clear(&left.bars);
	gt_array_clear(&moved_left.bars);
}

static void move(struct gt_trace *trace, uint64_t by_ns)
{
	trace->start_ns += by_ns;
	trace->end_ns += by_ns;
	trace->threads.items[0].start_ns += by_ns;
	trace->threads.items[0].end_ns += by_ns;
	gt_array_for_each (&trace->intervals, interval) {
		interval->start_ns += by_ns;
		interval->end_ns += by_ns;
	}
	gt_array_for_each (&trace->states, state) {
		state->start_ns += by_ns;
		state->end_ns += by_ns;
	}
}

/* Whenever it was, and were it at the end of all time: as many are left, at the same places. */
static void test_time_of_day_changes_nothing(void **state)
{
	const uint64_t duration_ns = 200000,
		       starts_ns[] = {0, INT64_MAX - duration_ns / 2, UINT64_MAX - duration_ns};
	struct gt_report_meta meta = {.probe = "uprobe"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts_ns); i++)
		for (uint32_t most = 1; most < 4000; most *= 5) {
			struct gt_trace *trace = calloc(1, sizeof(*trace));
			struct gt_trace *moved = calloc(1, sizeof(*moved));
			struct gt_report report = {
				.trace = trace, .meta = &meta, .page_slices = most};
			struct gt_page_lanes lanes = {0}, moved_lanes = {0};
			uint64_t by_ns = starts_ns[i] - ORIGIN;

			assert_true(trace && moved);
			seed = 5;
			make_trace(trace, 1500);
			seed = 5;
			make_trace(moved, 1500);
			assert_true(trace->end_ns - trace->start_ns <= duration_ns);
			/* What has no length is in no page. */
			trace->intervals.items[700].end_ns = trace->intervals.items[700].start_ns;
			moved->intervals.items[700].end_ns = moved->intervals.items[700].start_ns;
			move(moved, by_ns);
			assert_int_equal(gt_page_lanes_find(&report, &lanes), 0);
			report.trace = moved;
			assert_int_equal(gt_page_lanes_find(&report, &moved_lanes), 0);
			assert_int_equal(lanes.intervals.count, 1499);
			assert_int_equal(lanes.quantum_ns, moved_lanes.quantum_ns);
			/* Fewer than one of each there cannot be. */
			assert_true(lanes.intervals.left + lanes.states.left <= GT_MAX(most, 2u));
			check_moved(&lanes, &lanes.intervals, &moved_lanes, &moved_lanes.intervals,
				    by_ns);
			check_moved(&lanes, &lanes.states, &moved_lanes, &moved_lanes.states,
				    by_ns);
			gt_page_lanes_clear(&lanes);
			gt_page_lanes_clear(&moved_lanes);
			gt_trace_free(trace);
			gt_trace_free(moved);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_stay),
		cmocka_unit_test(test_no_quantum_changes_nothing),
		cmocka_unit_test(test_neighbours_are_merged),
		cmocka_unit_test(test_shortest_quantum_that_does),
		cmocka_unit_test(test_time_of_day_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
