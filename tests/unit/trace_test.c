/* SPDX-License-Identifier: MIT */
/* The GIL model, fed with lists of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "trace/machine.h"
#include "trace/stats.h"
#include "trace/trace.h"

#define PID 100
#define COND UINT64_C(0x5000)
#define SWITCH_COND (COND + 0x58)
#define SWITCH_MUTEX (COND + 0x88)
#define RETAKE UINT64_C(0x10100) /* where map_python() puts the retake address */

static struct gt_trace *new_trace(void)
{
	struct gt_trace *trace = gt_trace_new();

	assert_non_null(trace);
	return trace;
}

static void feed(struct gt_trace *trace, struct gt_event event)
{
	assert_int_equal(gt_trace_feed(trace, &event), 0);
}

static void start(struct gt_trace *trace, uint64_t time_ns)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_COMM,
				      .time_ns = time_ns,
				      .pid = PID,
				      .tid = PID,
				      .ring = GT_EVENT_NO_RING,
				      .comm = {.name = "python3", .exec = true}});
}

static void fork_task(struct gt_trace *trace, uint64_t time_ns, uint32_t pid, uint32_t tid,
		      uint32_t ppid, uint32_t ptid)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_FORK,
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = tid,
				      .ring = GT_EVENT_NO_RING,
				      .fork = {.ppid = ppid, .ptid = ptid}});
}

static void exit_task(struct gt_trace *trace, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_EXIT,
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = tid,
				      .ring = GT_EVENT_NO_RING});
}

/* A GIL event; VALUE is the caller or the lock. */
static void gil_in(struct gt_trace *trace, uint64_t time_ns, uint32_t pid, uint32_t tid,
		   enum gt_event_type type, uint64_t value)
{
	feed(trace, (struct gt_event){.type = type,
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = tid,
				      .ring = 0,
				      .lock = value});
}

static void gil(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, enum gt_event_type type)
{
	uint64_t value = type == GT_EVENT_TAKE	     ? 0x1234
			 : type == GT_EVENT_ACQUIRED ? SWITCH_COND
			 : type == GT_EVENT_RELEASE  ? COND
						     : SWITCH_MUTEX;

	gil_in(trace, time_ns, PID, tid, type, value);
}

static void map_python_of(struct gt_trace *trace, uint64_t time_ns, uint32_t pid, bool by_agent)
{
	const uint8_t build_id[] = {0xab, 0xcd};

	feed(trace, (struct gt_event){.type = GT_EVENT_MAP,
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = pid,
				      .ring = GT_EVENT_NO_RING,
				      .map = {.start = 0x10000,
					      .length = 0x1000,
					      .file_offset = 0x1000,
					      .path = "/other/root/libpython3.8.so.1.0",
					      .build_id = build_id,
					      .build_id_size = sizeof(build_id),
					      .by_agent = by_agent}});
}

static void map_python(struct gt_trace *trace, uint64_t time_ns)
{
	uint64_t offset = 0x1100;
	struct gt_python python = {.path = (char *)"/opt/libpython3.8.so.1.0",
				   .build_id = (char *)"abcd",
				   .retake_offsets = {.items = &offset, .count = 1}};

	assert_int_equal(gt_trace_add_python(trace, &python), 0);
	map_python_of(trace, time_ns, PID, false);
}

static uint32_t find_thread(const struct gt_trace *trace, uint32_t tid)
{
	for (uint32_t i = 0; i < trace->threads.count; i++)
		if (trace->threads.items[i].tid == tid)
			return i;
	fail_msg("no thread %u", tid);
	return 0;
}

/* What must be true of any trace, whatever was fed. */
static void check_invariants(const struct gt_trace *trace, const struct gt_stats *stats)
{
	_cleanup_free_ uint64_t *cursor = calloc(trace->threads.count + 1, sizeof(*cursor));
	_cleanup_free_ uint64_t *held_until = calloc(trace->gils.count + 1, sizeof(*held_until));
	_cleanup_free_ uint64_t *blamed = calloc(trace->threads.count + 1, sizeof(*blamed));

	for (uint32_t i = 0; i < trace->threads.count; i++)
		cursor[i] = trace->threads.items[i].start_ns;
	gt_array_for_each (&trace->intervals, interval) {
		assert_true(interval->start_ns < interval->end_ns);
		assert_int_equal(interval->start_ns, cursor[interval->thread]);
		cursor[interval->thread] = interval->end_ns;
		if (interval->kind != GT_INTERVAL_HAS)
			continue;
		assert_true(interval->start_ns >= held_until[interval->gil]);
		held_until[interval->gil] = interval->end_ns;
	}
	gt_array_for_each (&stats->blame, blame)
		blamed[blame->waiter] += blame->ns;
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		const struct gt_thread_stats *thread = &stats->threads[i];

		assert_int_equal(cursor[i], trace->threads.items[i].end_ns);
		assert_int_equal(thread->no_ns + thread->wait_ns + thread->has_ns +
					 thread->unknown_ns,
				 trace->threads.items[i].end_ns - trace->threads.items[i].start_ns);
		assert_int_equal(blamed[i], thread->wait_ns);
	}
}

static void finish(struct gt_trace *trace, struct gt_stats *ret)
{
	assert_int_equal(gt_trace_finish(trace), 0);
	assert_int_equal(gt_stats_compute(trace, ret), 0);
	check_invariants(trace, ret);
}

static void check_thread(const struct gt_trace *trace, const struct gt_stats *stats, uint32_t tid,
			 uint64_t no_ns, uint64_t wait_ns, uint64_t has_ns, uint64_t unknown_ns)
{
	const struct gt_thread_stats *thread = &stats->threads[find_thread(trace, tid)];

	assert_int_equal(thread->no_ns, no_ns);
	assert_int_equal(thread->wait_ns, wait_ns);
	assert_int_equal(thread->has_ns, has_ns);
	assert_int_equal(thread->unknown_ns, unknown_ns);
}

static uint64_t find_blame(const struct gt_trace *trace, const struct gt_stats *stats,
			   uint32_t waiter, uint32_t holder)
{
	gt_array_for_each (&stats->blame, blame) {
		if (trace->threads.items[blame->waiter].tid != waiter)
			continue;
		if (blame->holder == GT_NONE ? holder == 0
					     : trace->threads.items[blame->holder].tid == holder)
			return blame->ns;
	}
	return 0;
}

static void test_hand_over(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1110, 100, GT_EVENT_ACQUIRED);
	fork_task(trace, 1200, PID, 101, PID, 100);
	gil(trace, 1300, 101, GT_EVENT_TAKE);
	gil(trace, 1500, 100, GT_EVENT_RELEASE);
	gil(trace, 1510, 101, GT_EVENT_ACQUIRED);
	gil(trace, 1600, 101, GT_EVENT_RELEASE);
	exit_task(trace, 1700, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);

	check_thread(trace, &stats, 100, 100 + 500, 10, 390, 0);
	check_thread(trace, &stats, 101, 100 + 100, 210, 90, 0);
	assert_int_equal(find_blame(trace, &stats, 101, 100), 200);
	assert_int_equal(find_blame(trace, &stats, 101, 0), 10);
	assert_int_equal(find_blame(trace, &stats, 100, 0), 10);
	assert_int_equal(trace->threads.items[find_thread(trace, 101)].contended, 1);
	assert_int_equal(trace->threads.items[find_thread(trace, 100)].contended, 0);
	assert_int_equal(trace->gils.count, 1);
	assert_int_equal(trace->gils.items[0].address, COND);
	assert_int_equal(stats.gils[0].held_ns, 480);
	assert_int_equal(stats.gils[0].waited_ns, 220);
	assert_int_equal(trace->inferred, 0);
	assert_int_equal(trace->events, 6);
}

static void test_requested_drop_is_a_wait(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	const struct gt_thread_stats *waits;

	(void)state;
	start(trace, 1000);
	map_python(trace, 1001);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	/* The eval loop's: all from the release to the next acquired, with switched and without. */
	gil(trace, 1200, 100, GT_EVENT_RELEASE);
	gil(trace, 1250, 100, GT_EVENT_SWITCHED);
	gil_in(trace, 1260, PID, 100, GT_EVENT_TAKE, RETAKE);
	gil(trace, 1300, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1400, 100, GT_EVENT_RELEASE);
	gil_in(trace, 1470, PID, 100, GT_EVENT_TAKE, RETAKE);
	gil(trace, 1500, 100, GT_EVENT_ACQUIRED);
	/* Of its own will while a drop was requested: a wait up to switched only. */
	gil(trace, 1600, 100, GT_EVENT_RELEASE);
	gil(trace, 1620, 100, GT_EVENT_SWITCHED);
	gil(trace, 1800, 100, GT_EVENT_TAKE);
	gil(trace, 1805, 100, GT_EVENT_ACQUIRED);
	/* Of its own will, and no request. */
	gil(trace, 1900, 100, GT_EVENT_RELEASE);
	gil(trace, 1950, 100, GT_EVENT_TAKE);
	gil(trace, 1960, 100, GT_EVENT_ACQUIRED);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);

	check_thread(trace, &stats, 100, 100 + 180 + 50, 100 + 100 + 25 + 10, 435, 0);
	waits = &stats.threads[0];
	assert_int_equal(waits->waits, 5);
	assert_int_equal(waits->wait_max_ns, 100);
	assert_int_equal(waits->wait_p50_ns, 25);
	assert_int_equal(waits->wait_p99_ns, 100);
	assert_int_equal(trace->inferred, 0);
}

static void test_take_after_take_starts_anew(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1500, 100, GT_EVENT_TAKE);
	gil(trace, 1510, 100, GT_EVENT_ACQUIRED);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 500, 10, 490, 0);
}

/* Free-threaded, the GIL is off: take_gil returns without it, for good. */
static void test_takes_without_a_gil_are_no_wait(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1500, 100, GT_EVENT_TAKE);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 1000, 0, 0, 0);
}

/* Free-threaded, the GIL was on for a while, and is off when the last take comes. */
static void test_takes_of_a_gil_that_was_turned_off(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1150, 101, GT_EVENT_TAKE);
	gil(trace, 1200, 100, GT_EVENT_RELEASE);
	gil(trace, 1300, 100, GT_EVENT_TAKE);
	exit_task(trace, 2000, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 100 + 800, 0, 100, 0);
	check_thread(trace, &stats, 101, 150 + 800, 50, 0, 0);
}

static void test_exit_ends_a_wait(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	gil(trace, 1000, 100, GT_EVENT_TAKE);
	gil(trace, 1000, 100, GT_EVENT_ACQUIRED);
	fork_task(trace, 1100, PID, 101, PID, 100);
	gil(trace, 1200, 101, GT_EVENT_TAKE);
	exit_task(trace, 1900, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 101, 100, 700, 0, 0);
	assert_int_equal(find_blame(trace, &stats, 101, 100), 700);
	assert_int_equal(stats.threads[find_thread(trace, 101)].wait_max_ns, 700);
}

static void test_second_holder_proves_a_release(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	gil(trace, 1000, 100, GT_EVENT_TAKE);
	gil(trace, 1000, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1100, 101, GT_EVENT_TAKE);
	gil(trace, 1200, 101, GT_EVENT_ACQUIRED);
	gil(trace, 1300, 100, GT_EVENT_TAKE);
	exit_task(trace, 2000, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 100, 700, 200, 0);
	check_thread(trace, &stats, 101, 100, 100, 800, 0);
	assert_int_equal(trace->inferred, 1);
}

static void test_release_proves_a_hold(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	gil(trace, 1000, 100, GT_EVENT_TAKE);
	gil(trace, 1000, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1100, 101, GT_EVENT_TAKE);
	gil(trace, 1400, 100, GT_EVENT_RELEASE);
	gil(trace, 1600, 101, GT_EVENT_RELEASE);
	exit_task(trace, 2000, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	/* It waited until the other one let go, and had it then. */
	check_thread(trace, &stats, 101, 100 + 400, 300, 200, 0);
	assert_int_equal(trace->inferred, 1);
}

static void test_fork_child_starts_with_the_gil(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	gil(trace, 1000, 100, GT_EVENT_TAKE);
	gil(trace, 1000, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1001, 100, GT_EVENT_RELEASE);
	gil(trace, 1001, 100, GT_EVENT_TAKE);
	gil(trace, 1001, 100, GT_EVENT_ACQUIRED);
	fork_task(trace, 1100, 200, 200, PID, 100);
	gil_in(trace, 1150, 200, 200, GT_EVENT_TAKE, 0);
	gil_in(trace, 1160, 200, 200, GT_EVENT_ACQUIRED, SWITCH_COND);
	gil_in(trace, 1300, 200, 200, GT_EVENT_RELEASE, COND);
	exit_task(trace, 1400, 200, 200);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 200, 100, 10, 50 + 140, 0);
	check_thread(trace, &stats, 100, 0, 0, 1000, 0);
	assert_int_equal(trace->inferred, 0);
	assert_int_equal(trace->gils.count, 2);
	assert_int_equal(trace->gils.items[1].address, COND);
	assert_string_equal(trace->processes.items[1].command, "python3");
	assert_int_equal(trace->processes.items[1].parent, 0);
}

static void test_loss_is_unknown(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	fork_task(trace, 1000, PID, 102, PID, 100);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	/* The ring's last event before the gap. */
	gil(trace, 1200, 101, GT_EVENT_TAKE);
	feed(trace,
	     (struct gt_event){.type = GT_EVENT_LOST, .time_ns = 1500, .ring = 0, .lost = 7});
	/* 101 comes out of it waiting, 100 holding, and 102 says nothing any more. */
	gil(trace, 1600, 100, GT_EVENT_RELEASE);
	gil(trace, 1700, 101, GT_EVENT_ACQUIRED);
	exit_task(trace, 2000, PID, 102);
	exit_task(trace, 2000, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 100 + 400, 0, 100 + 100, 300);
	check_thread(trace, &stats, 101, 200, 200, 300, 300);
	check_thread(trace, &stats, 102, 200, 0, 0, 800);
	assert_int_equal(trace->lost, 7);
}

static void test_exec_forgets(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	start(trace, 1500);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 600, 0, 400, 0);
	check_thread(trace, &stats, 101, 500, 0, 0, 0);
	assert_int_equal(trace->inferred, 0);
}

static void test_gils_are_told_apart(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	/* A sub-interpreter's GIL, at the same time. */
	gil_in(trace, 1200, PID, 101, GT_EVENT_TAKE, 0);
	gil_in(trace, 1200, PID, 101, GT_EVENT_ACQUIRED, 0x9058);
	gil_in(trace, 1300, PID, 101, GT_EVENT_RELEASE, 0x9000);
	/* Another lock's signal, at a site that looks like the GIL's. */
	gil_in(trace, 1310, PID, 101, GT_EVENT_RELEASE, 0x7000);
	gil(trace, 1400, 100, GT_EVENT_RELEASE);
	exit_task(trace, 2000, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	assert_int_equal(trace->gils.count, 2);
	assert_int_equal(trace->gils.items[1].address, 0x9000);
	assert_int_equal(stats.gils[0].held_ns, 300);
	assert_int_equal(stats.gils[1].held_ns, 100);
	assert_int_equal(trace->foreign, 1);
	assert_int_equal(trace->inferred, 0);
}

/* 3.6: cond, switch_cond and switch_mutex are variables of their own. */
static void test_separate_variables_are_one_gil(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	gil_in(trace, 1100, PID, 100, GT_EVENT_TAKE, 0);
	gil_in(trace, 1100, PID, 100, GT_EVENT_ACQUIRED, 0x8000);
	gil_in(trace, 1150, PID, 101, GT_EVENT_TAKE, 0);
	gil_in(trace, 1200, PID, 100, GT_EVENT_RELEASE, 0x6000);
	gil_in(trace, 1220, PID, 101, GT_EVENT_ACQUIRED, 0x8000);
	gil_in(trace, 1230, PID, 100, GT_EVENT_SWITCHED, 0x7000);
	gil_in(trace, 1300, PID, 101, GT_EVENT_RELEASE, 0x6000);
	gil_in(trace, 1400, PID, 101, GT_EVENT_SWITCHED, 0x7000);
	exit_task(trace, 2000, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	assert_int_equal(trace->gils.count, 1);
	assert_int_equal(trace->gils.items[0].address, 0x6000);
	check_thread(trace, &stats, 100, 100 + 770, 30, 100, 0);
	check_thread(trace, &stats, 101, 150 + 600, 70 + 100, 80, 0);
	assert_int_equal(trace->foreign, 0);
}

static void test_tasks_from_before_begin_with_the_trace(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	/* As perf record -p tells of them: without a time. */
	feed(trace, (struct gt_event){.type = GT_EVENT_COMM,
				      .pid = PID,
				      .tid = PID,
				      .ring = GT_EVENT_NO_RING,
				      .comm = {.name = "python3"}});
	fork_task(trace, 0, PID, 101, PID, 100);
	gil(trace, 5000, 100, GT_EVENT_RELEASE);
	gil(trace, 6000, 100, GT_EVENT_TAKE);
	finish(trace, &stats);
	assert_int_equal(trace->start_ns, 5000);
	assert_int_equal(trace->threads.items[0].start_ns, 5000);
	check_thread(trace, &stats, 100, 1000, 0, 0, 0);
}

/* Where a take is told only when it waits. */
static struct gt_trace *new_agent_trace(void)
{
	struct gt_trace *trace = new_trace();

	trace->takes_are_waits = true;
	return trace;
}

static void lose(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, uint64_t count)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_LOST,
				      .time_ns = time_ns,
				      .pid = tid ? PID : 0,
				      .tid = tid,
				      .ring = GT_EVENT_NO_RING,
				      .lost = count});
}

static void test_acquired_without_take_has_not_waited(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	const struct gt_thread_stats *waits = NULL;

	(void)state;
	start(trace, 1000);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1200, 100, GT_EVENT_RELEASE);
	gil(trace, 1250, 100, GT_EVENT_ACQUIRED);
	fork_task(trace, 1300, PID, 101, PID, 100);
	gil(trace, 1310, 101, GT_EVENT_TAKE);
	gil(trace, 1400, 100, GT_EVENT_RELEASE);
	gil(trace, 1410, 101, GT_EVENT_ACQUIRED);
	gil(trace, 1500, 101, GT_EVENT_RELEASE);
	gil(trace, 1600, 101, GT_EVENT_ACQUIRED);
	exit_task(trace, 1700, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 100 + 50 + 600, 0, 100 + 150, 0);
	check_thread(trace, &stats, 101, 10 + 100, 100, 90 + 100, 0);
	assert_int_equal(trace->inferred, 0);
	assert_int_equal(trace->threads.items[0].contended, 0);
	assert_int_equal(trace->threads.items[1].contended, 1);
	/* Acquisitions that have not waited count as such. */
	waits = &stats.threads[find_thread(trace, 101)];
	assert_int_equal(waits->waits, 2);
	assert_int_equal(waits->wait_p50_ns, 0);
	assert_int_equal(waits->wait_max_ns, 100);
	waits = &stats.threads[find_thread(trace, 100)];
	assert_int_equal(waits->waits, 2);
	assert_int_equal(waits->wait_max_ns, 0);
}

/* Up to 3.12 a requested drop is followed by a take from the retake address, waiting or not. From
 * 3.13 on switched tells of all of it, and the thread may then find the GIL free. */
static void test_requested_drops_where_takes_are_waits(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	map_python(trace, 1001);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1200, 100, GT_EVENT_RELEASE);
	gil(trace, 1250, 100, GT_EVENT_SWITCHED);
	gil_in(trace, 1260, PID, 100, GT_EVENT_TAKE, RETAKE);
	gil(trace, 1300, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1400, 100, GT_EVENT_RELEASE);
	gil_in(trace, 1470, PID, 100, GT_EVENT_TAKE, RETAKE);
	gil(trace, 1500, 100, GT_EVENT_ACQUIRED);
	/* 3.13: without a take, and with one. */
	gil(trace, 1600, 100, GT_EVENT_RELEASE);
	gil(trace, 1690, 100, GT_EVENT_SWITCHED);
	gil(trace, 1691, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1700, 100, GT_EVENT_RELEASE);
	gil(trace, 1740, 100, GT_EVENT_SWITCHED);
	gil(trace, 1741, 100, GT_EVENT_TAKE);
	gil(trace, 1800, 100, GT_EVENT_ACQUIRED);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 100 + 1 + 1, 100 + 100 + 90 + 40 + 59, 509, 0);
	assert_int_equal(stats.threads[0].waits, 5);
	assert_int_equal(stats.threads[0].wait_max_ns, 100);
	assert_int_equal(stats.threads[0].wait_p50_ns, 99);
	assert_int_equal(trace->inferred, 0);
}

static void test_loss_of_one_thread(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	fork_task(trace, 1000, PID, 102, PID, 100);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1200, 100, GT_EVENT_RELEASE);
	gil(trace, 1300, 100, GT_EVENT_ACQUIRED);
	lose(trace, 1300, 100, 7);
	/* Whatever 100 has: another one can have it now. */
	gil(trace, 1400, 101, GT_EVENT_ACQUIRED);
	gil(trace, 1500, 101, GT_EVENT_RELEASE);
	gil(trace, 1600, 100, GT_EVENT_RELEASE);
	gil(trace, 1700, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1800, 100, GT_EVENT_RELEASE);
	lose(trace, 1800, 100, 2);
	exit_task(trace, 2000, PID, 102);
	exit_task(trace, 2000, PID, 101);
	exit_task(trace, 2000, PID, 100);
	/* Of one that has ended: nothing more than the count. */
	lose(trace, 2000, 101, 3);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 100 + 100 + 100, 0, 100 + 100, 300 + 200);
	check_thread(trace, &stats, 101, 400 + 500, 0, 100, 0);
	check_thread(trace, &stats, 102, 1000, 0, 0, 0);
	assert_int_equal(trace->lost, 12);
	assert_int_equal(trace->threads.count, 3);
	/* The first of 100; that which came out of the gap is none. */
	assert_int_equal(stats.threads[0].waits, 2);
}

/* Each event that a thread can come out of a gap with: it tells of what is behind it only. */
static void test_ways_out_of_a_gap(void **state)
{
	static const struct {
		enum gt_event_type type;
		uint64_t no_ns, wait_ns, has_ns;
	} ways[] = {
		{GT_EVENT_TAKE, 0, 500, 0},
		{GT_EVENT_ACQUIRED, 0, 0, 500},
		{GT_EVENT_RELEASE, 500, 0, 0},
		{GT_EVENT_SWITCHED, 500, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
		_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

		start(trace, 1000);
		gil(trace, 1000, 100, GT_EVENT_ACQUIRED);
		lose(trace, 1000, 100, 1);
		gil(trace, 1500, 100, ways[i].type);
		exit_task(trace, 2000, PID, 100);
		finish(trace, &stats);
		check_thread(trace, &stats, 100, ways[i].no_ns, ways[i].wait_ns, ways[i].has_ns,
			     500);
	}
}

/* Of an interpreter's thread that shows nothing, while threads went unseen, nothing is known. */
static void test_loss_of_whole_threads(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	fork_task(trace, 1000, 200, 200, PID, 100);
	map_python(trace, 1000);
	fork_task(trace, 1000, PID, 101, PID, 100);
	fork_task(trace, 1000, PID, 102, PID, 100);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	exit_task(trace, 1500, PID, 101);
	exit_task(trace, 2000, 200, 200);
	exit_task(trace, 2000, PID, 100);
	lose(trace, 2000, 0, 9);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 100, 0, 900, 0);
	check_thread(trace, &stats, 101, 0, 0, 0, 500);
	check_thread(trace, &stats, 102, 0, 0, 0, 1000);
	/* No Python. */
	check_thread(trace, &stats, 200, 1000, 0, 0, 0);
	assert_int_equal(trace->lost, 9);
}

static void exec_task(struct gt_trace *trace, uint64_t time_ns, uint32_t pid)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_COMM,
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = pid,
				      .ring = GT_EVENT_NO_RING,
				      .comm = {.name = "program", .exec = true}});
}

static const struct gt_process *find_process(const struct gt_trace *trace, uint32_t pid)
{
	return &trace->processes.items[trace->threads.items[find_thread(trace, pid)].process];
}

/* A Python that the agent did not get into tells nothing, which is not to be taken for rest. */
static void test_python_that_was_not_watched(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	trace->silence_is_blindness = true;
	start(trace, 1000);
	map_python(trace, 1000);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1150, 100, GT_EVENT_RELEASE);
	/* Forked, and idle: it has its parent's agent. */
	fork_task(trace, 1200, 200, 200, PID, 100);
	/* Started without it; and its own child, which has none either. */
	fork_task(trace, 1200, 300, 300, PID, 100);
	exec_task(trace, 1250, 300);
	map_python_of(trace, 1250, 300, false);
	fork_task(trace, 1300, 300, 301, 300, 300);
	fork_task(trace, 1300, 400, 400, 300, 300);
	fork_task(trace, 1300, 410, 410, 300, 300);
	exec_task(trace, 1350, 410);
	/* It has nothing to say, but the agent is there. */
	fork_task(trace, 1350, 500, 500, PID, 100);
	exec_task(trace, 1350, 500);
	map_python_of(trace, 1350, 500, false);
	map_python_of(trace, 1360, 500, true);
	/* From such a Python to no Python. */
	fork_task(trace, 1400, 600, 600, PID, 100);
	exec_task(trace, 1400, 600);
	map_python_of(trace, 1400, 600, false);
	exec_task(trace, 1500, 600);
	exit_task(trace, 1900, 300, 301);
	for (uint32_t pid = 100; pid <= 600; pid += 100)
		exit_task(trace, 2000, pid, pid);
	exit_task(trace, 2000, 410, 410);
	finish(trace, &stats);
	check_thread(trace, &stats, 200, 800, 0, 0, 0);
	check_thread(trace, &stats, 300, 50, 0, 0, 750);
	check_thread(trace, &stats, 301, 0, 0, 0, 600);
	check_thread(trace, &stats, 400, 0, 0, 0, 700);
	check_thread(trace, &stats, 410, 700, 0, 0, 0);
	check_thread(trace, &stats, 500, 650, 0, 0, 0);
	check_thread(trace, &stats, 600, 500, 0, 0, 100);
	assert_false(find_process(trace, 100)->not_watched);
	assert_false(find_process(trace, 200)->not_watched);
	assert_true(find_process(trace, 300)->not_watched);
	assert_true(find_process(trace, 400)->not_watched);
	assert_false(find_process(trace, 410)->not_watched);
	assert_false(find_process(trace, 500)->not_watched);
	assert_true(find_process(trace, 600)->not_watched);
}

/* Behind the end of the GIL's events, lives go on of which nothing is known. */
static void test_events_that_were_cut_off(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	trace->silence_is_blindness = true;
	start(trace, 1000);
	map_python(trace, 1000);
	gil(trace, 1000, 100, GT_EVENT_ACQUIRED);
	fork_task(trace, 1100, PID, 101, PID, 100);
	fork_task(trace, 1100, PID, 102, PID, 100);
	gil(trace, 1200, 101, GT_EVENT_TAKE);
	feed(trace,
	     (struct gt_event){.type = GT_EVENT_CUT, .time_ns = 1500, .ring = GT_EVENT_NO_RING});
	fork_task(trace, 1600, PID, 103, PID, 100);
	fork_task(trace, 1600, 200, 200, PID, 100);
	exec_task(trace, 1700, 200);
	map_python_of(trace, 1700, 200, false);
	exit_task(trace, 2000, PID, 101);
	exit_task(trace, 2000, 200, 200);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 0, 0, 500, 500);
	check_thread(trace, &stats, 101, 100, 300, 0, 500);
	/* Whether it has had any events is not known. */
	check_thread(trace, &stats, 102, 0, 0, 0, 900);
	check_thread(trace, &stats, 103, 0, 0, 0, 400);
	check_thread(trace, &stats, 200, 0, 0, 0, 400);
	assert_true(trace->is_cut);
	assert_false(find_process(trace, 200)->not_watched);
}

/* A program that got rights of its own is not told of to its end, which giltrace has seen. */
static void test_end_that_no_event_tells(void **state)
{
	for (int i = 0; i < 2; i++) {
		_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
		_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
		bool was_seen = i == 1;

		start(trace, 1000);
		map_python(trace, 1000);
		gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
		gil(trace, 1300, 100, GT_EVENT_RELEASE);
		if (was_seen)
			exit_task(trace, 1400, PID, 100);
		assert_int_equal(gt_trace_end_first(trace, 2000), 0);
		finish(trace, &stats);
		assert_int_equal(trace->end_ns, was_seen ? 1400 : 2000);
		check_thread(trace, &stats, 100, was_seen ? 200 : 100, 0, 200, was_seen ? 0 : 700);
	}
	(void)state;
}

/* What the kernel tells at that exec: an end, before anything of the program is mapped. */
static void test_end_in_an_exec(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	exit_task(trace, 1005, PID, 100);
	assert_int_equal(gt_trace_end_first(trace, 2000), 0);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 5, 0, 0, 995);
}

/* Two sources tell of it, at different times; a fork, of all of it again. */
static void test_map_twice(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	map_python(trace, 1000);
	map_python(trace, 1100);
	assert_int_equal(trace->machine->processes.items[0].retake_addresses.count, 1);
	fork_task(trace, 1200, 200, 200, PID, 100);
	assert_int_equal(trace->machine->processes.items[1].retake_addresses.count, 1);
	finish(trace, &stats);
}

/* A child is forked by the thread that has the GIL, and takes it anew, without a take. */
static void test_fork_where_takes_are_waits(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_agent_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	gil(trace, 1000, 100, GT_EVENT_ACQUIRED);
	gil(trace, 1001, 100, GT_EVENT_RELEASE);
	gil(trace, 1002, 100, GT_EVENT_ACQUIRED);
	fork_task(trace, 1100, 200, 200, PID, 100);
	gil_in(trace, 1160, 200, 200, GT_EVENT_ACQUIRED, SWITCH_COND);
	gil_in(trace, 1300, 200, 200, GT_EVENT_RELEASE, COND);
	exit_task(trace, 1400, 200, 200);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 200, 100, 0, 200, 0);
	assert_int_equal(trace->inferred, 0);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

static void test_replaced_interpreter_is_noticed(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	struct gt_python python = {.path = (char *)"/opt/libpython3.8.so.1.0",
				   .build_id = (char *)"abce"};

	(void)state;
	assert_int_equal(gt_trace_add_python(trace, &python), 0);
	start(trace, 1000);
	feed(trace, (struct gt_event){.type = GT_EVENT_MAP,
				      .time_ns = 1001,
				      .pid = PID,
				      .tid = PID,
				      .ring = GT_EVENT_NO_RING,
				      .map = {.length = 0x1000,
					      .path = "/opt/libpython3.8.so.1.0",
					      .build_id = (const uint8_t *)"\xab\xcd",
					      .build_id_size = 2}});
	exit_task(trace, 2000, PID, PID);
	finish(trace, &stats);
	assert_true(trace->processes.items[0].maps_replaced_python);
	assert_true(trace->processes.items[0].maps_other_python);
	assert_int_equal(trace->processes.items[0].python, GT_NONE);
	check_thread(trace, &stats, PID, 0, 0, 0, 1000);
}

/* What another Python does behind an exec or a fork and exec has no probes. */
static void test_exec_of_another_python_is_unknown(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)state;
	start(trace, 1000);
	map_python(trace, 1000);
	gil(trace, 1100, 100, GT_EVENT_TAKE);
	gil(trace, 1100, 100, GT_EVENT_ACQUIRED);
	start(trace, 1500);
	feed(trace, (struct gt_event){.type = GT_EVENT_MAP,
				      .time_ns = 1501,
				      .pid = PID,
				      .tid = PID,
				      .ring = GT_EVENT_NO_RING,
				      .map = {.length = 0x1000, .path = "/usr/bin/python3.12"}});
	fork_task(trace, 1600, PID, 101, PID, 100);
	exit_task(trace, 1900, PID, 101);
	exit_task(trace, 2000, PID, 100);
	finish(trace, &stats);
	check_thread(trace, &stats, 100, 100, 0, 400, 500);
	check_thread(trace, &stats, 101, 0, 0, 0, 300);
	assert_true(trace->processes.items[0].maps_other_python);
}

/* Nonsense must not break what is always true. */
static void test_invariants_survive_nonsense(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= 400; round++) {
		_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
		_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
		uint64_t seed = round, now = 1000;

		trace->takes_are_waits = round > 200;
		trace->silence_is_blindness = round > 300;
		start(trace, now);
		map_python(trace, now);
		for (int i = 0; i < 2000; i++) {
			uint32_t choice = next_random(&seed) % 100;
			uint32_t pid = PID + next_random(&seed) % 3 * 10;
			uint32_t tid = pid + next_random(&seed) % 4;
			uint64_t lock = next_random(&seed) % 8 ? 0 : 0x1000;
			if (i == 1500 && round > 350)
				feed(trace, (struct gt_event){.type = GT_EVENT_CUT,
							      .time_ns = now,
							      .ring = GT_EVENT_NO_RING});
			/* Some records are late. */
			uint64_t time_ns = now - next_random(&seed) % (round % 2 ? 3 : 200);

			now += next_random(&seed) % 50;
			if (choice < 25)
				gil_in(trace, time_ns, pid, tid, GT_EVENT_TAKE,
				       choice < 8 ? RETAKE : 0);
			else if (choice < 50)
				gil_in(trace, time_ns, pid, tid, GT_EVENT_ACQUIRED,
				       SWITCH_COND + lock);
			else if (choice < 75)
				gil_in(trace, time_ns, pid, tid, GT_EVENT_RELEASE, COND + lock);
			else if (choice < 88)
				gil_in(trace, time_ns, pid, tid, GT_EVENT_SWITCHED,
				       SWITCH_MUTEX + lock);
			else if (choice < 92)
				fork_task(trace, time_ns, pid, tid, PID, PID + 1);
			else if (choice < 96)
				exit_task(trace, time_ns, pid, tid);
			else if (choice < 98 && round % 3)
				feed(trace, (struct gt_event){.type = GT_EVENT_LOST,
							      .time_ns = time_ns,
							      .pid = pid,
							      .tid = tid,
							      .ring = GT_EVENT_NO_RING,
							      .lost = 1});
			else if (choice < 98)
				feed(trace, (struct gt_event){.type = GT_EVENT_LOST,
							      .time_ns = time_ns,
							      .ring = choice % 2,
							      .lost = 1});
			else
				start(trace, time_ns);
		}
		finish(trace, &stats);
	}
}

#define SIMULATED_THREADS 5

/* One execution with one GIL, as the ways of capture tell of it. */
struct simulation {
	struct gt_trace *uprobes, *agent, *lossy;
	uint64_t seed, now_ns;
	enum { IDLE, WAITING, HOLDING } states[SIMULATED_THREADS];
	uint32_t holder; /* SIMULATED_THREADS: nobody */
	uint32_t gap;	 /* events of the last thread that are still to be lost */
};

/* The last thread has gaps, which are told at its last event before them. */
static void tell(struct simulation *simulation, uint32_t thread, enum gt_event_type type,
		 uint64_t caller, bool by_agent)
{
	uint64_t value = type == GT_EVENT_TAKE	     ? caller
			 : type == GT_EVENT_ACQUIRED ? SWITCH_COND
			 : type == GT_EVENT_RELEASE  ? COND
						     : SWITCH_MUTEX;
	uint64_t now_ns = simulation->now_ns;

	gil_in(simulation->uprobes, now_ns, PID, PID + thread, type, value);
	if (!by_agent)
		return;
	gil_in(simulation->agent, now_ns, PID, PID + thread, type, value);
	if (thread == SIMULATED_THREADS - 1 && simulation->gap > 0) {
		simulation->gap--;
		return;
	}
	gil_in(simulation->lossy, now_ns, PID, PID + thread, type, value);
	if (thread == SIMULATED_THREADS - 1 && next_random(&simulation->seed) % 50 == 0) {
		simulation->gap = 1 + next_random(&simulation->seed) % 5;
		lose(simulation->lossy, now_ns, PID + thread, simulation->gap);
	}
}

static void simulate_step(struct simulation *simulation)
{
	uint32_t thread = next_random(&simulation->seed) % SIMULATED_THREADS;
	bool is_free = simulation->holder == SIMULATED_THREADS;
	uint32_t kind;

	simulation->now_ns += 1 + next_random(&simulation->seed) % 100;
	switch (simulation->states[thread]) {
	case IDLE:
		tell(simulation, thread, GT_EVENT_TAKE, 0x1234, !is_free);
		simulation->states[thread] = WAITING;
		if (!is_free)
			return;
		break;
	case WAITING:
		if (!is_free)
			return;
		break;
	case HOLDING:
		tell(simulation, thread, GT_EVENT_RELEASE, 0, true);
		simulation->holder = SIMULATED_THREADS;
		simulation->states[thread] = IDLE;
		kind = next_random(&simulation->seed) % 4;
		simulation->now_ns += 1 + next_random(&simulation->seed) % 100;
		if (kind % 2)
			tell(simulation, thread, GT_EVENT_SWITCHED, 0, true);
		if (kind < 2)
			return;
		tell(simulation, thread, GT_EVENT_TAKE, RETAKE, true);
		simulation->states[thread] = WAITING;
		return;
	}
	tell(simulation, thread, GT_EVENT_ACQUIRED, 0, true);
	simulation->states[thread] = HOLDING;
	simulation->holder = thread;
}

/* Nobody is left waiting: of a GIL that is free at the end, the ways of capture think differently.
 */
static void end_simulation(struct simulation *simulation)
{
	if (simulation->holder < SIMULATED_THREADS)
		tell(simulation, simulation->holder, GT_EVENT_RELEASE, 0, true);
	for (uint32_t i = 0; i < SIMULATED_THREADS; i++) {
		if (simulation->states[i] != WAITING)
			continue;
		simulation->now_ns += 10;
		tell(simulation, i, GT_EVENT_ACQUIRED, 0, true);
		simulation->now_ns += 10;
		tell(simulation, i, GT_EVENT_RELEASE, 0, true);
	}
	simulation->now_ns += 10;
}

static void begin_simulation(struct gt_trace *trace)
{
	start(trace, 1000);
	map_python(trace, 1000);
	for (uint32_t i = 1; i < SIMULATED_THREADS; i++)
		fork_task(trace, 1000, PID, PID + i, PID, PID);
}

/*
 * Where only waits have a take, all figures are the same, to the nanosecond. And losses of one
 * thread change nothing of the others, and never make up a hold of its own.
 */
static void test_ways_of_capture_agree(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= 30; round++) {
		_cleanup_(gt_trace_freep) struct gt_trace *uprobes = new_trace();
		_cleanup_(gt_trace_freep) struct gt_trace *agent = new_agent_trace();
		_cleanup_(gt_trace_freep) struct gt_trace *lossy = new_agent_trace();
		_cleanup_(gt_stats_clear) struct gt_stats a = {0}, b = {0}, c = {0};
		struct simulation simulation = {.uprobes = uprobes,
						.agent = agent,
						.lossy = lossy,
						.seed = round,
						.now_ns = 1000,
						.holder = SIMULATED_THREADS};

		begin_simulation(uprobes);
		begin_simulation(agent);
		begin_simulation(lossy);
		for (int i = 0; i < 5000; i++)
			simulate_step(&simulation);
		end_simulation(&simulation);
		exit_task(uprobes, simulation.now_ns, PID, PID);
		exit_task(agent, simulation.now_ns, PID, PID);
		exit_task(lossy, simulation.now_ns, PID, PID);
		finish(uprobes, &a);
		finish(agent, &b);
		finish(lossy, &c);
		for (uint32_t i = 0; i < SIMULATED_THREADS; i++) {
			assert_memory_equal(&a.threads[i], &b.threads[i], sizeof(a.threads[i]));
			assert_int_equal(uprobes->threads.items[i].contended,
					 agent->threads.items[i].contended);
			assert_int_equal(uprobes->threads.items[i].acquired,
					 agent->threads.items[i].acquired);
			if (i == SIMULATED_THREADS - 1)
				break;
			assert_memory_equal(&a.threads[i], &c.threads[i], sizeof(a.threads[i]));
		}
		assert_int_equal(agent->inferred, 0);
		assert_true(lossy->lost > 0);
		assert_true(c.threads[SIMULATED_THREADS - 1].has_ns <=
			    a.threads[SIMULATED_THREADS - 1].has_ns);
		assert_true(c.threads[SIMULATED_THREADS - 1].no_ns <=
			    a.threads[SIMULATED_THREADS - 1].no_ns);
		assert_true(c.threads[SIMULATED_THREADS - 1].wait_ns <=
			    a.threads[SIMULATED_THREADS - 1].wait_ns);
		assert_true(c.threads[SIMULATED_THREADS - 1].unknown_ns > 0);
	}
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void test_percentiles_are_nearest_rank(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= 250; count += 7) {
		_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
		_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
		uint64_t waits[256], now = 1000, seed = count;

		start(trace, now);
		for (uint32_t i = 0; i < count; i++) {
			waits[i] = 1 + next_random(&seed) % 40;
			gil(trace, now += 5, 100, GT_EVENT_TAKE);
			gil(trace, now += waits[i], 100, GT_EVENT_ACQUIRED);
			gil(trace, now += 5, 100, GT_EVENT_RELEASE);
		}
		finish(trace, &stats);
		qsort(waits, count, sizeof(*waits), by_value);
		assert_int_equal(stats.threads[0].waits, count);
		assert_int_equal(stats.threads[0].wait_p50_ns, waits[(count * 50 + 99) / 100 - 1]);
		assert_int_equal(stats.threads[0].wait_p99_ns, waits[(count * 99 + 99) / 100 - 1]);
		assert_int_equal(stats.threads[0].wait_max_ns, waits[count - 1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hand_over),
		cmocka_unit_test(test_requested_drop_is_a_wait),
		cmocka_unit_test(test_take_after_take_starts_anew),
		cmocka_unit_test(test_takes_without_a_gil_are_no_wait),
		cmocka_unit_test(test_takes_of_a_gil_that_was_turned_off),
		cmocka_unit_test(test_exit_ends_a_wait),
		cmocka_unit_test(test_second_holder_proves_a_release),
		cmocka_unit_test(test_release_proves_a_hold),
		cmocka_unit_test(test_fork_child_starts_with_the_gil),
		cmocka_unit_test(test_loss_is_unknown),
		cmocka_unit_test(test_exec_forgets),
		cmocka_unit_test(test_gils_are_told_apart),
		cmocka_unit_test(test_separate_variables_are_one_gil),
		cmocka_unit_test(test_tasks_from_before_begin_with_the_trace),
		cmocka_unit_test(test_replaced_interpreter_is_noticed),
		cmocka_unit_test(test_exec_of_another_python_is_unknown),
		cmocka_unit_test(test_acquired_without_take_has_not_waited),
		cmocka_unit_test(test_requested_drops_where_takes_are_waits),
		cmocka_unit_test(test_loss_of_one_thread),
		cmocka_unit_test(test_ways_out_of_a_gap),
		cmocka_unit_test(test_loss_of_whole_threads),
		cmocka_unit_test(test_python_that_was_not_watched),
		cmocka_unit_test(test_events_that_were_cut_off),
		cmocka_unit_test(test_end_that_no_event_tells),
		cmocka_unit_test(test_end_in_an_exec),
		cmocka_unit_test(test_map_twice),
		cmocka_unit_test(test_fork_where_takes_are_waits),
		cmocka_unit_test(test_invariants_survive_nonsense),
		cmocka_unit_test(test_ways_of_capture_agree),
		cmocka_unit_test(test_percentiles_are_nearest_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
