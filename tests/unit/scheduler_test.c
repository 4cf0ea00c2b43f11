/* SPDX-License-Identifier: MIT */
/* On and off CPU, from lists of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macros.h"
#include "trace/stats.h"
#include "trace/trace.h"

#define PID 100
#define COND UINT64_C(0x5000)
#define SWITCH_COND (COND + 0x58)

static struct gt_trace *new_trace(void)
{
	struct gt_trace *trace = gt_trace_new();

	assert_non_null(trace);
	return trace;
}

static void feed(struct gt_trace *trace, struct gt_event event)
{
	event.ring = GT_EVENT_NO_RING;
	assert_int_equal(gt_trace_feed(trace, &event), 0);
}

static void comm(struct gt_trace *trace, uint64_t time_ns, bool exec)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_COMM,
				      .time_ns = time_ns,
				      .pid = PID,
				      .tid = PID,
				      .comm = {.name = "python3", .exec = exec}});
}

static void fork_task(struct gt_trace *trace, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_FORK,
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = tid,
				      .fork = {.ppid = PID, .ptid = PID}});
}

static void task(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, enum gt_event_type type)
{
	feed(trace, (struct gt_event){.type = type, .time_ns = time_ns, .pid = PID, .tid = tid});
}

static void in(struct gt_trace *trace, uint64_t time_ns, uint32_t tid)
{
	task(trace, time_ns, tid, GT_EVENT_SWITCH_IN);
}

static void out(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, bool preempted)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_SWITCH_OUT,
				      .time_ns = time_ns,
				      .pid = PID,
				      .tid = tid,
				      .on_off.preempted = preempted});
}

static void gil(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, enum gt_event_type type)
{
	feed(trace, (struct gt_event){.type = type,
				      .time_ns = time_ns,
				      .pid = PID,
				      .tid = tid,
				      .lock = type == GT_EVENT_TAKE	  ? 0
					      : type == GT_EVENT_ACQUIRED ? SWITCH_COND
									  : COND});
}

static void lose(struct gt_trace *trace, uint64_t since_ns, uint64_t time_ns, uint64_t count)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_SWITCHES_LOST,
				      .time_ns = time_ns,
				      .gap = {.since_ns = since_ns, .count = count}});
}

static uint32_t find_thread(const struct gt_trace *trace, uint32_t tid)
{
	for (uint32_t i = 0; i < trace->threads.count; i++)
		if (trace->threads.items[i].tid == tid)
			return i;
	fail_msg("no thread %u", tid);
	return 0;
}

/* Both lists of a thread go from its birth to its end without a gap, and the sums are its life. */
static void finish(struct gt_trace *trace, struct gt_stats *stats)
{
	_cleanup_free_ uint64_t *cursor = NULL;

	assert_int_equal(gt_trace_finish(trace), 0);
	assert_int_equal(gt_stats_compute(trace, stats), 0);
	cursor = calloc(trace->threads.count + 1, sizeof(*cursor));
	for (uint32_t i = 0; i < trace->threads.count; i++)
		cursor[i] = trace->threads.items[i].start_ns;
	gt_array_for_each (&trace->states, state) {
		assert_true(state->start_ns < state->end_ns);
		assert_int_equal(state->start_ns, cursor[state->thread]);
		cursor[state->thread] = state->end_ns;
	}
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		const struct gt_thread *thread = &trace->threads.items[i];
		const struct gt_thread_stats *sums = &stats->threads[i];
		uint64_t total_ns = thread->end_ns - thread->start_ns;

		assert_int_equal(sums->no_ns + sums->wait_ns + sums->has_ns + sums->unknown_ns,
				 total_ns);
		assert_true(sums->sleep_gil_ns <= GT_MIN(sums->sleep_ns, sums->wait_ns));
		if (!trace->has_states)
			continue;
		assert_int_equal(cursor[i], thread->end_ns);
		assert_int_equal(sums->running_ns + sums->runnable_ns + sums->sleep_ns +
					 sums->state_unknown_ns,
				 total_ns);
	}
}

static void check(const struct gt_trace *trace, const struct gt_stats *stats, uint32_t tid,
		  uint64_t running_ns, uint64_t runnable_ns, uint64_t sleep_ns, uint64_t unknown_ns)
{
	const struct gt_thread_stats *thread = &stats->threads[find_thread(trace, tid)];

	assert_int_equal(thread->running_ns, running_ns);
	assert_int_equal(thread->runnable_ns, runnable_ns);
	assert_int_equal(thread->sleep_ns, sleep_ns);
	assert_int_equal(thread->state_unknown_ns, unknown_ns);
}

static void test_a_life(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	fork_task(trace, 1100, PID, 101);
	in(trace, 1150, 101);
	out(trace, 1200, 100, false);
	out(trace, 1300, 101, true);
	in(trace, 1330, 101);
	out(trace, 1400, 101, false);
	in(trace, 1600, 100);
	in(trace, 1650, 101);
	task(trace, 1700, 101, GT_EVENT_EXIT);
	task(trace, 2000, 100, GT_EVENT_EXIT);
	finish(trace, &stats);
	check(trace, &stats, 100, 200 + 400, 0, 400, 0);
	check(trace, &stats, 101, 150 + 70 + 50, 50 + 30, 250, 0);
	assert_true(trace->has_states);
	gt_array_for_each (&trace->states, state) {
		if (state->kind == GT_STATE_RUNNABLE)
			assert_int_equal(state->preempted, state->start_ns == 1300);
		assert_int_equal(state->reason, GT_SLEEP_UNEXPLAINED);
	}
}

static void test_none_recorded(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	fork_task(trace, 1100, PID, 101);
	task(trace, 1700, 101, GT_EVENT_EXIT);
	finish(trace, &stats);
	assert_false(trace->has_states);
	assert_int_equal(trace->states.count, 0);
}

/* A short program on a CPU of its own is never switched. */
static void test_recorded_without_a_switch(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	trace->has_states = true;
	comm(trace, 1000, true);
	task(trace, 1700, 100, GT_EVENT_EXIT);
	finish(trace, &stats);
	check(trace, &stats, 100, 700, 0, 0, 0);
}

static void test_unknown_before_the_first_record(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	/* As perf record -p tells of what was there before. */
	comm(trace, 0, false);
	fork_task(trace, 0, PID, 101);
	gil(trace, 1000, 100, GT_EVENT_TAKE);
	task(trace, 1000, 102, GT_EVENT_TAKE);
	/* Born before the trace, it need not be waiting for its first CPU. */
	in(trace, 1100, 101);
	out(trace, 1200, 100, false);
	in(trace, 1300, 102);
	in(trace, 1500, 100);
	task(trace, 2000, 102, GT_EVENT_EXIT);
	task(trace, 2000, 101, GT_EVENT_EXIT);
	task(trace, 2000, 100, GT_EVENT_EXIT);
	finish(trace, &stats);
	check(trace, &stats, 100, 500, 0, 300, 200);
	check(trace, &stats, 101, 900, 0, 0, 100);
	check(trace, &stats, 102, 700, 0, 0, 300);
}

static void test_switches_that_do_not_fit(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	in(trace, 1100, 100); /* it was running: an out was not seen */
	out(trace, 1200, 100, false);
	out(trace, 1300, 100, true); /* it was off: an in was not seen */
	in(trace, 1400, 100);
	/* Late, and told already. */
	out(trace, 1390, 100, false);
	out(trace, 1500, 100, false);
	in(trace, 1600, 100);
	task(trace, 1590, 100, GT_EVENT_EXIT);
	/* Behind the end of its life. */
	out(trace, 1610, 100, false);
	finish(trace, &stats);
	check(trace, &stats, 100, 100 + 100, 100, 100, 100 + 100);
	assert_int_equal(trace->threads.count, 1);
	assert_int_equal(trace->threads.items[0].end_ns, 1600);
}

static void test_exec_ends_other_threads(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	fork_task(trace, 1100, PID, 101);
	in(trace, 1200, 101);
	out(trace, 1300, 100, false);
	/* 101 calls exec: the main thread has ended before, and 101 goes on by its number. */
	task(trace, 1400, 100, GT_EVENT_EXIT);
	comm(trace, 1500, true);
	out(trace, 1600, 100, true);
	task(trace, 2000, 100, GT_EVENT_EXIT);
	finish(trace, &stats);
	check(trace, &stats, 100, 300 + 100, 400, 100, 100);
	check(trace, &stats, 101, 300, 100, 0, 0);
}

static void test_sleep_for_the_gil(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	const struct gt_thread_stats *thread;
	uint32_t for_gil = 0;

	(void)test_state;
	comm(trace, 1000, true);
	fork_task(trace, 1000, PID, 101);
	in(trace, 1000, 101);
	gil(trace, 1000, 100, GT_EVENT_TAKE);
	gil(trace, 1000, 100, GT_EVENT_ACQUIRED);
	/* Sleeps inside of the wait, twice. */
	gil(trace, 1100, 101, GT_EVENT_TAKE);
	out(trace, 1110, 101, false);
	in(trace, 1200, 101);
	out(trace, 1210, 101, false);
	gil(trace, 1300, 100, GT_EVENT_RELEASE);
	in(trace, 1310, 101);
	gil(trace, 1320, 101, GT_EVENT_ACQUIRED);
	gil(trace, 1330, 101, GT_EVENT_RELEASE);
	/* A sleep of which less than half is in a wait, and one of which more is: each as a whole.
	 */
	gil(trace, 1400, 100, GT_EVENT_TAKE);
	gil(trace, 1400, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1400, 101, GT_EVENT_TAKE);
	out(trace, 1470, 101, false);
	gil(trace, 1500, 100, GT_EVENT_RELEASE);
	gil(trace, 1510, 101, GT_EVENT_ACQUIRED);
	in(trace, 1600, 101);
	out(trace, 1601, 101, false);
	gil(trace, 1610, 101, GT_EVENT_RELEASE);
	gil(trace, 1610, 100, GT_EVENT_TAKE);
	gil(trace, 1610, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1620, 101, GT_EVENT_TAKE);
	gil(trace, 1700, 100, GT_EVENT_RELEASE);
	gil(trace, 1700, 101, GT_EVENT_ACQUIRED);
	in(trace, 1702, 101);
	task(trace, 2000, 101, GT_EVENT_EXIT);
	task(trace, 2000, 100, GT_EVENT_EXIT);
	finish(trace, &stats);

	thread = &stats.threads[find_thread(trace, 101)];
	assert_int_equal(thread->sleep_ns, 90 + 100 + 130 + 101);
	assert_int_equal(thread->sleep_gil_ns, 90 + 100 + 40 + 80);
	gt_array_for_each (&trace->states, state) {
		if (state->reason != GT_SLEEP_GIL)
			continue;
		assert_int_equal(state->kind, GT_STATE_SLEEPING);
		assert_true(state->start_ns == 1110 || state->start_ns == 1210 ||
			    state->start_ns == 1601);
		for_gil++;
	}
	assert_int_equal(for_gil, 3);
}

static void test_loss_is_unknown(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	fork_task(trace, 1000, PID, 101);
	fork_task(trace, 1000, PID, 102);
	fork_task(trace, 1000, PID, 103);
	in(trace, 1000, 101);
	in(trace, 1000, 102);
	in(trace, 1000, 103);
	out(trace, 1250, 103, false);
	task(trace, 1400, 103, GT_EVENT_EXIT);
	out(trace, 1500, 101, false);
	lose(trace, 1200, 1600, 7);
	/* 101 leaves a CPU: since the gap it had one. 102 gets one: nobody knows since when it had
	 * none. The main thread says nothing any more. */
	out(trace, 1700, 101, false);
	in(trace, 1800, 102);
	in(trace, 1900, 101);
	task(trace, 2000, 102, GT_EVENT_EXIT);
	task(trace, 2000, 101, GT_EVENT_EXIT);
	task(trace, 2000, 100, GT_EVENT_EXIT);
	finish(trace, &stats);
	check(trace, &stats, 100, 200, 0, 0, 800);
	check(trace, &stats, 101, 200 + 100 + 100, 0, 200, 400);
	check(trace, &stats, 102, 200 + 200, 0, 0, 600);
	check(trace, &stats, 103, 200, 0, 0, 200);
	assert_int_equal(trace->state_lost, 7);
	/* The GIL's counts are another matter. */
	assert_int_equal(trace->lost, 0);
	assert_int_equal(stats.threads[0].unknown_ns, 0);
}

static void test_losses_that_overlap(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	lose(trace, 1100, 1200, 1);
	lose(trace, 1500, 1600, 1);
	lose(trace, 1550, 1700, 1);
	lose(trace, 1400, 1800, 1);
	out(trace, 2000, 100, false);
	task(trace, 2500, 100, GT_EVENT_EXIT);
	finish(trace, &stats);
	/* Behind each gap it ran on, as its next switch shows; but between two gaps nothing tells.
	 */
	check(trace, &stats, 100, 100 + 200, 0, 500, 700);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

static void test_invariants_survive_nonsense(void **test_state)
{
	(void)test_state;
	for (uint64_t round = 1; round <= 200; round++) {
		_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
		_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
		uint64_t seed = round, now = 1000;

		comm(trace, now, true);
		for (int i = 0; i < 2000; i++) {
			uint32_t choice = next_random(&seed) % 100;
			uint32_t tid = PID + next_random(&seed) % 4;
			/* Some records are late. */
			uint64_t time_ns = now - next_random(&seed) % (round % 2 ? 3 : 200);

			now += next_random(&seed) % 50;
			if (choice < 25)
				in(trace, time_ns, tid);
			else if (choice < 50)
				out(trace, time_ns, tid, choice % 2);
			else if (choice < 88)
				gil(trace, time_ns, tid,
				    (enum gt_event_type)(GT_EVENT_TAKE + choice % 4));
			else if (choice < 92)
				fork_task(trace, time_ns, choice % 2 ? PID : tid, tid);
			else if (choice < 96)
				task(trace, time_ns, tid, GT_EVENT_EXIT);
			else if (choice < 97)
				lose(trace, time_ns - choice, time_ns, 1);
			else if (choice < 98)
				task(trace, time_ns, tid, GT_EVENT_LOST);
			else
				comm(trace, time_ns, choice % 2);
		}
		finish(trace, &stats);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_life),
		cmocka_unit_test(test_none_recorded),
		cmocka_unit_test(test_recorded_without_a_switch),
		cmocka_unit_test(test_unknown_before_the_first_record),
		cmocka_unit_test(test_switches_that_do_not_fit),
		cmocka_unit_test(test_exec_ends_other_threads),
		cmocka_unit_test(test_sleep_for_the_gil),
		cmocka_unit_test(test_loss_is_unknown),
		cmocka_unit_test(test_losses_that_overlap),
		cmocka_unit_test(test_invariants_survive_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
