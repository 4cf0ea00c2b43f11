/* SPDX-License-Identifier: MIT */
/* On and off CPU, from lists of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macros.h"
#include "fake_unwinder.h"
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
	if ((event.type == GT_EVENT_SWITCH_IN || event.type == GT_EVENT_SWITCH_OUT) &&
	    event.on_off.cpu == 0)
		event.on_off.cpu = GT_EVENT_NO_RING;
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

static void on_cpu(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, enum gt_event_type type,
		   uint32_t cpu)
{
	feed(trace,
	     (struct gt_event){
		     .type = type, .time_ns = time_ns, .pid = PID, .tid = tid, .on_off.cpu = cpu});
}

#define UNINTERRUPTIBLE 1
#define STOPPED 2

static void leave(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, const char *functions,
		  unsigned how)
{
	struct gt_stack_sample sample = fake_sample(functions);

	feed(trace, (struct gt_event){.type = GT_EVENT_LEAVE,
				      .time_ns = time_ns,
				      .pid = PID,
				      .tid = tid,
				      .leave = {.stack = &sample,
						.is_uninterruptible = how & UNINTERRUPTIBLE,
						.is_stopped = how & STOPPED}});
}

/* Leaves its CPU of its own will, with a stack. */
static void sleep_in(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, const char *functions)
{
	leave(trace, time_ns - 1, tid, functions, 0);
	out(trace, time_ns, tid, false);
}

static void wake(struct gt_trace *trace, uint64_t time_ns, uint32_t tid)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_WAKEUP, .time_ns = time_ns, .tid = tid});
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

static void check_reasons(const uint64_t *ns, uint64_t sum_ns)
{
	for (uint32_t reason = 0; reason < GT_SLEEP_REASONS; reason++)
		sum_ns -= ns[reason];
	assert_int_equal(sum_ns, 0);
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
		assert_true(sums->sleep_gil_ns <= sums->sleep_ns);
		assert_true(trace->without_gil || sums->sleep_gil_ns <= sums->wait_ns);
		if (!trace->has_states)
			continue;
		assert_int_equal(cursor[i], thread->end_ns);
		assert_int_equal(sums->running_ns + sums->runnable_ns + sums->sleep_ns +
					 sums->uninterruptible_ns + sums->state_unknown_ns,
				 total_ns);
		check_reasons(sums->sleep_reason_ns, sums->sleep_ns);
		check_reasons(sums->uninterruptible_reason_ns, sums->uninterruptible_ns);
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

/* What the states of a thread are called, with when each begins and its innermost function. */
static void check_states(const struct gt_trace *trace, uint32_t tid, const char *expected)
{
	const struct gt_stacks *stacks =
		trace->unwinder ? gt_unwinder_stacks(trace->unwinder) : NULL;
	uint32_t thread = find_thread(trace, tid);
	char text[1024] = "", name[GT_STATE_NAME_SIZE];

	gt_array_for_each (&trace->states, state) {
		const char *known = gt_state_name(state, name);

		if (state->thread != thread)
			continue;
		sprintf(text + strlen(text), "%s%llu %s", text[0] ? ", " : "",
			(unsigned long long)state->start_ns, known ? known : "on");
		if (state->stack != GT_STACK_NONE)
			sprintf(text + strlen(text), " %s",
				gt_stacks_top(stacks, state->stack)->name);
	}
	assert_string_equal(text, expected);
}

#define IN_READ "schedule pipe_read ksys_read | read"
#define IN_SELECT "schedule do_select | select"
#define IN_TAKE_GIL "schedule futex_wait do_futex | pthread_cond_timedwait !f"
#define IN_LOCK "schedule futex_wait do_futex | sem_wait PyThread_acquire_lock_timed"
#define IN_STOP "schedule do_signal_stop get_signal ksys_read | read"
#define IN_PAGE_FAULT "schedule io_schedule exc_page_fault | !f"

static void test_reasons(void **test_state)
{
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	const struct gt_thread_stats *thread;

	(void)test_state;
	trace->unwinder = unwinder;
	comm(trace, 1000, true);
	sleep_in(trace, 1100, PID, IN_READ);
	in(trace, 1200, PID);
	leave(trace, 1299, PID, IN_PAGE_FAULT, UNINTERRUPTIBLE);
	out(trace, 1300, PID, false);
	in(trace, 1400, PID);
	/* Preempted: from where, is known as well. */
	leave(trace, 1499, PID, "exit_to_user_mode_loop | f", 0);
	out(trace, 1500, PID, true);
	in(trace, 1600, PID);
	leave(trace, 1699, PID, IN_READ, STOPPED);
	out(trace, 1700, PID, false);
	in(trace, 1710, PID);
	leave(trace, 1719, PID, IN_STOP, STOPPED);
	out(trace, 1720, PID, false);
	in(trace, 1800, PID);
	/* A page was missing: a signal would end a wait for a lock. */
	leave(trace, 1850, PID, IN_LOCK, UNINTERRUPTIBLE);
	out(trace, 1851, PID, false);
	in(trace, 1870, PID);
	/* What was told before another event is not of the next switch. */
	leave(trace, 1900, PID, IN_READ, UNINTERRUPTIBLE);
	in(trace, 1910, PID);
	out(trace, 1920, PID, false);
	in(trace, 1930, PID);
	leave(trace, 1940, PID, IN_READ, UNINTERRUPTIBLE);
	leave(trace, 1941, PID, IN_SELECT, 0);
	out(trace, 1942, PID, false);
	/* Of nobody that is known, and late. */
	leave(trace, 1943, 999, IN_READ, 0);
	leave(trace, 1900, PID, IN_READ, UNINTERRUPTIBLE);
	in(trace, 1950, PID);
	leave(trace, 1959, PID, "schedule __wait_for_common __do_sys_vfork | vfork",
	      UNINTERRUPTIBLE);
	out(trace, 1960, PID, false);
	task(trace, 2000, PID, GT_EVENT_EXIT);
	finish(trace, &stats);
	check_states(trace, PID,
		     "1000 on, 1100 S(read) schedule, 1200 on, 1300 D(disk) schedule, 1400 on, "
		     "1500 R exit_to_user_mode_loop, 1600 on, 1700 S schedule, 1710 on, "
		     "1720 S(signal) schedule, 1800 on, "
		     "1851 D schedule, 1870 state unknown, 1910 on, 1920 S, 1930 on, 1942 S(poll) "
		     "schedule, "
		     "1950 on, 1960 S(wait) schedule");
	assert_int_equal(trace->threads.count, 1);
	thread = &stats.threads[0];
	assert_int_equal(thread->sleep_reason_ns[GT_SLEEP_READ], 100);
	assert_int_equal(thread->sleep_reason_ns[GT_SLEEP_POLL], 8);
	assert_int_equal(thread->uninterruptible_reason_ns[GT_SLEEP_DISK], 100);
	assert_int_equal(thread->uninterruptible_ns, 119);
	assert_int_equal(trace->threads.items[0].voluntary_switches, 8);
	assert_int_equal(trace->threads.items[0].involuntary_switches, 1);
}

/* Then nothing is told of the disk, and it stays among the sleeps. */
static void test_no_reasons_without_stacks(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	leave(trace, 1099, PID, IN_PAGE_FAULT, UNINTERRUPTIBLE);
	out(trace, 1100, PID, false);
	task(trace, 2000, PID, GT_EVENT_EXIT);
	finish(trace, &stats);
	check_states(trace, PID, "1000 on, 1100 S");
}

static void test_wakeups(void **test_state)
{
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	trace->unwinder = unwinder;
	trace->has_wakeups = true;
	comm(trace, 1000, true);
	sleep_in(trace, 1100, PID, IN_READ);
	wake(trace, 1150, PID);
	wake(trace, 1160, PID);
	in(trace, 1200, PID);
	/* It runs already; nobody knows the other one. */
	wake(trace, 1210, PID);
	wake(trace, 1220, 999);
	leave(trace, 1299, PID, IN_PAGE_FAULT, UNINTERRUPTIBLE);
	out(trace, 1300, PID, false);
	/* Late. */
	wake(trace, 1290, PID);
	wake(trace, 1350, PID);
	in(trace, 1400, PID);
	/* The waker is faster than the sleeper. */
	leave(trace, 1500, PID, IN_SELECT, 0);
	wake(trace, 1501, PID);
	out(trace, 1502, PID, false);
	in(trace, 1600, PID);
	sleep_in(trace, 1700, PID, IN_READ);
	feed(trace,
	     (struct gt_event){.type = GT_EVENT_WAKEUPS_LOST, .time_ns = 1750, .gap.count = 3});
	in(trace, 1800, PID);
	task(trace, 2000, PID, GT_EVENT_EXIT);
	wake(trace, 2001, PID);
	finish(trace, &stats);
	check_states(trace, PID,
		     "1000 on, 1100 S(read) schedule, 1150 R schedule, 1200 on, "
		     "1300 D(disk) schedule, 1350 R schedule, 1400 on, 1502 R schedule, 1600 on, "
		     "1700 S(read) schedule, 1800 on");
	check(trace, &stats, PID, 100 + 100 + 102 + 100 + 200, 50 + 50 + 98, 150, 0);
	assert_int_equal(trace->wakeups_lost, 3);
	gt_array_for_each (&trace->states, state)
		assert_false(state->preempted);
}

/* Those of other threads than were recorded say nothing of the others. */
static void test_wakeups_that_were_not_recorded(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	out(trace, 1100, PID, false);
	wake(trace, 1150, PID);
	task(trace, 2000, PID, GT_EVENT_EXIT);
	finish(trace, &stats);
	check_states(trace, PID, "1000 on, 1100 S");
}

static void test_loss_hides_stacks(void **test_state)
{
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	trace->unwinder = unwinder;
	comm(trace, 1000, true);
	sleep_in(trace, 1100, PID, IN_READ);
	in(trace, 1200, PID);
	leave(trace, 1250, PID, IN_READ, UNINTERRUPTIBLE);
	lose(trace, 1150, 1300, 1);
	out(trace, 1400, PID, false);
	task(trace, 1500, PID, GT_EVENT_EXIT);
	finish(trace, &stats);
	check_states(trace, PID,
		     "1000 on, 1100 S(read) schedule, 1150 state unknown, "
		     "1200 state unknown, 1300 on, 1400 S");
}

static void test_migrations(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	on_cpu(trace, 1100, PID, GT_EVENT_SWITCH_OUT, 1);
	on_cpu(trace, 1200, PID, GT_EVENT_SWITCH_IN, 2);
	on_cpu(trace, 1300, PID, GT_EVENT_SWITCH_OUT, 2);
	on_cpu(trace, 1400, PID, GT_EVENT_SWITCH_IN, 2);
	on_cpu(trace, 1350, PID, GT_EVENT_SWITCH_IN, 3);
	on_cpu(trace, 1500, PID, GT_EVENT_SWITCH_OUT, 2);
	in(trace, 1600, PID);
	on_cpu(trace, 1700, PID, GT_EVENT_SWITCH_OUT, 2);
	on_cpu(trace, 1800, PID, GT_EVENT_SWITCH_IN, 1);
	task(trace, 2000, PID, GT_EVENT_EXIT);
	finish(trace, &stats);
	assert_true(trace->has_cpus);
	assert_int_equal(trace->threads.items[0].migrations, 2);
	assert_int_equal(trace->threads.items[0].voluntary_switches, 4);
}

/* A program with a thread that waits for the GIL from 1100 to 1500. */
static void begin_wait(struct gt_trace *trace)
{
	comm(trace, 1000, true);
	fork_task(trace, 1000, PID, 101);
	in(trace, 1000, 101);
	gil(trace, 1000, PID, GT_EVENT_TAKE);
	gil(trace, 1000, PID, GT_EVENT_ACQUIRED);
	gil(trace, 1100, 101, GT_EVENT_TAKE);
}

static void end_wait(struct gt_trace *trace)
{
	gil(trace, 1500, PID, GT_EVENT_RELEASE);
	gil(trace, 1500, 101, GT_EVENT_ACQUIRED);
	gil(trace, 1510, 101, GT_EVENT_RELEASE);
}

/* The four moments decide, and where the stacks do not agree with them is counted. */
static void test_stacks_are_compared_with_the_moments(void **test_state)
{
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	const struct gt_thread_stats *thread;

	(void)test_state;
	trace->unwinder = unwinder;
	begin_wait(trace);
	sleep_in(trace, 1110, 101, IN_TAKE_GIL); /* both say so */
	in(trace, 1200, 101);
	sleep_in(trace, 1210, 101, IN_LOCK); /* the moments alone */
	in(trace, 1300, 101);
	out(trace, 1310, 101, false); /* no stack */
	in(trace, 1350, 101);
	end_wait(trace);
	sleep_in(trace, 1600, 101, IN_LOCK); /* none */
	in(trace, 1700, 101);
	sleep_in(trace, 1800, 101, IN_TAKE_GIL); /* the stack alone */
	in(trace, 1900, 101);
	task(trace, 2000, 101, GT_EVENT_EXIT);
	task(trace, 2000, PID, GT_EVENT_EXIT);
	finish(trace, &stats);
	check_states(trace, 101,
		     "1000 on, 1110 S(GIL) schedule, 1200 on, 1210 S(GIL) schedule, 1300 on, "
		     "1310 S(GIL), 1350 on, 1600 S(lock) schedule, 1700 on, "
		     "1800 S(futex) schedule, 1900 on");
	assert_int_equal(trace->sleeps_compared, 4);
	assert_int_equal(trace->sleeps_disagreed, 2);
	thread = &stats.threads[find_thread(trace, 101)];
	assert_int_equal(thread->sleep_gil_ns, 90 + 90 + 40);
	assert_int_equal(thread->sleep_reason_ns[GT_SLEEP_GIL], 90 + 90 + 40);
	assert_int_equal(thread->sleep_reason_ns[GT_SLEEP_FUTEX], 100);
}

/* A sleep in part of a wait, and one of which the moments are not known. */
static void test_what_cannot_be_compared(void **test_state)
{
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	trace->unwinder = unwinder;
	begin_wait(trace);
	sleep_in(trace, 1400, 101, IN_LOCK);
	end_wait(trace);
	in(trace, 1580, 101);
	feed(trace,
	     (struct gt_event){.type = GT_EVENT_LOST, .time_ns = 1600, .pid = PID, .tid = 101});
	sleep_in(trace, 1700, 101, IN_TAKE_GIL);
	in(trace, 1800, 101);
	gil(trace, 1900, 101, GT_EVENT_TAKE);
	task(trace, 2000, 101, GT_EVENT_EXIT);
	task(trace, 2000, PID, GT_EVENT_EXIT);
	finish(trace, &stats);
	check_states(trace, 101,
		     "1000 on, 1400 S(GIL) schedule, 1580 on, 1700 S(GIL) schedule, 1800 on");
	assert_int_equal(trace->sleeps_compared, 0);
	assert_int_equal(trace->sleeps_disagreed, 0);
}

static void test_stacks_alone(void **test_state)
{
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	trace->unwinder = unwinder;
	trace->without_gil = true;
	comm(trace, 1000, true);
	sleep_in(trace, 1100, PID, IN_TAKE_GIL);
	in(trace, 1300, PID);
	sleep_in(trace, 1400, PID, IN_LOCK);
	in(trace, 1450, PID);
	task(trace, 2000, PID, GT_EVENT_EXIT);
	finish(trace, &stats);
	check_states(trace, PID,
		     "1000 on, 1100 S(GIL) schedule, 1300 on, 1400 S(lock) schedule, 1450 on");
	assert_int_equal(stats.threads[0].sleep_gil_ns, 200);
	assert_int_equal(trace->sleeps_compared, 0);
}

static void map(struct gt_trace *trace, uint64_t time_ns, uint32_t pid, const char *path,
		bool by_agent)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_MAP,
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = pid,
				      .map = {.start = 0x1000,
					      .length = 0x1000,
					      .path = path,
					      .by_agent = by_agent}});
}

static void test_address_spaces(void **test_state)
{
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	trace->unwinder = unwinder;
	comm(trace, 1000, true);
	map(trace, 1001, PID, "a", false);
	/* The agent says nothing new where the kernel tells. */
	map(trace, 1002, PID, "b", true);
	fork_task(trace, 1100, PID, 101);
	fork_task(trace, 1200, 200, 200);
	map(trace, 1201, 200, "c", true);
	feed(trace, (struct gt_event){.type = GT_EVENT_COMM,
				      .time_ns = 1300,
				      .pid = 200,
				      .tid = 200,
				      .comm = {.name = "sh", .exec = true}});
	map(trace, 1301, 200, "d", true);
	map(trace, 1302, 200, "e", false);
	finish(trace, &stats);
	assert_string_equal(unwinder->log, "exec(0) map(0,a) fork(0,1) exec(1) map(1,d) map(1,e) ");
}

static void count(struct gt_trace *trace, uint32_t tid, const char *counter, uint64_t value,
		  uint64_t enabled_ns, uint64_t running_ns)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_COUNT,
				      .time_ns = 3000,
				      .pid = PID,
				      .tid = tid,
				      .count = {.counter = counter,
						.value = value,
						.enabled_ns = enabled_ns,
						.running_ns = running_ns}});
}

static void test_counters(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	const double *counts;

	(void)test_state;
	comm(trace, 1000, true);
	fork_task(trace, 1100, PID, 101);
	task(trace, 2900, 101, GT_EVENT_EXIT);
	/* Of a thread that has ended: a part for each of two CPUs, a quarter and three quarters. */
	count(trace, 101, "minor-faults", 10, 258060324, 64515081);
	count(trace, 101, "minor-faults", 30, 258120507, 193605426);
	/* It had to share the hardware: half of the time on one CPU, and never on the other. */
	count(trace, 101, "cycles", 500, 1000, 500);
	count(trace, 101, "cycles", 0, 1000, 0);
	/* It never had its turn. */
	count(trace, 101, "instructions", 0, 1000, 0);
	count(trace, 101, "major-faults", 0, 0, 0);
	count(trace, 999, "cycles", 1, 0, 0);
	finish(trace, &stats);
	assert_int_equal(trace->counter_count, 4);
	assert_string_equal(trace->counters[0], "minor-faults");
	counts = trace->threads.items[find_thread(trace, 101)].counts;
	assert_true(counts[0] == 40);
	assert_true(counts[1] == 1000);
	assert_true(counts[2] == -1);
	assert_true(counts[3] == 0);
	counts = trace->threads.items[find_thread(trace, PID)].counts;
	for (uint32_t i = 0; i < trace->counter_count; i++)
		assert_true(counts[i] == -1);
}

static void test_too_many_counters(void **test_state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000, true);
	for (uint32_t i = 0; i < 2 * GT_COUNTERS_MAX; i++) {
		char name[16];

		sprintf(name, "counter-%u", i);
		count(trace, PID, name, i, 0, 0);
	}
	finish(trace, &stats);
	assert_int_equal(trace->counter_count, GT_COUNTERS_MAX);
	assert_true(trace->threads.items[0].counts[GT_COUNTERS_MAX - 1] == GT_COUNTERS_MAX - 1);
}

static void memory(struct gt_trace *trace, uint64_t time_ns, uint32_t pid, uint32_t kind,
		   uint64_t bytes)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_MEMORY,
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = pid,
				      .memory = {.kind = kind, .bytes = bytes}});
}

/* In a millisecond, the largest and the last remain of a process. */
static void test_memory(void **test_state)
{
	static const struct gt_memory_point expected[] = {
		{.time_ns = 1000100, .resident_bytes = 100, .process = 0},
		{.time_ns = 2000100, .resident_bytes = 190, .process = 0},
		{.time_ns = 2000500, .resident_bytes = 60, .process = 0},
		{.time_ns = 2000600, .resident_bytes = 67, .process = 1},
		{.time_ns = 3000000, .resident_bytes = 0, .process = 1},
		{.time_ns = 5000000, .resident_bytes = 10, .process = 0},
	};
	_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};

	(void)test_state;
	comm(trace, 1000000, true);
	memory(trace, 1000000, PID, 1, 50);
	memory(trace, 1000100, PID, 0, 50);
	memory(trace, 2000000, PID, 1, 70);
	memory(trace, 2000100, PID, 1, 140);
	memory(trace, 2000200, PID, 1, 20);
	memory(trace, 2000400, PID, 1, 30);
	memory(trace, 2000500, PID, 1, 10);
	/* A child begins with what its parent has. */
	fork_task(trace, 2000550, 200, 200);
	memory(trace, 2000600, 200, 3, 7);
	memory(trace, 2000650, 999, 3, 7);
	/* Who has ended, has none. */
	task(trace, 3000000, 200, GT_EVENT_EXIT);
	/* Another program begins with nothing. */
	comm(trace, 4000000, true);
	memory(trace, 5000000, PID, 1, 10);
	finish(trace, &stats);
	assert_int_equal(trace->memory.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(trace->memory.items[i].time_ns, expected[i].time_ns);
		assert_int_equal(trace->memory.items[i].resident_bytes, expected[i].resident_bytes);
		assert_int_equal(trace->memory.items[i].process, expected[i].process);
	}
	assert_int_equal(trace->processes.items[0].resident_max_bytes, 190);
	assert_int_equal(trace->processes.items[1].resident_max_bytes, 67);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

static void random_state(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, uint32_t choice)
{
	static const char *const stacks[] = {IN_READ, IN_SELECT, IN_TAKE_GIL, IN_LOCK, ""};

	if (choice % 3 == 0)
		wake(trace, time_ns, tid);
	else
		leave(trace, time_ns, tid, stacks[choice % ARRAY_SIZE(stacks)], choice % 4);
}

static void test_invariants_survive_nonsense(void **test_state)
{
	(void)test_state;
	for (uint64_t round = 1; round <= 200; round++) {
		_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
		_cleanup_(gt_trace_freep) struct gt_trace *trace = new_trace();
		_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
		uint64_t seed = round, now = 1000;

		trace->unwinder = round % 4 ? unwinder : NULL;
		trace->has_wakeups = round % 3;
		trace->without_gil = round % 5 == 0;
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
			else if (choice < 70)
				random_state(trace, time_ns, tid, next_random(&seed) % 100);
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
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_no_reasons_without_stacks),
		cmocka_unit_test(test_wakeups),
		cmocka_unit_test(test_wakeups_that_were_not_recorded),
		cmocka_unit_test(test_loss_hides_stacks),
		cmocka_unit_test(test_migrations),
		cmocka_unit_test(test_stacks_are_compared_with_the_moments),
		cmocka_unit_test(test_what_cannot_be_compared),
		cmocka_unit_test(test_stacks_alone),
		cmocka_unit_test(test_address_spaces),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_too_many_counters),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_invariants_survive_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
