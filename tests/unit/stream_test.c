/* SPDX-License-Identifier: MIT */
/* What streams of events go through on their way to the model: the merge, the window of a flight
 * recorder, and the comparison of two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "fake_unwinder.h"
#include "trace/comparison.h"
#include "trace/merge.h"
#include "trace/stats.h"
#include "trace/trace.h"
#include "trace/window.h"

#define PID 100
#define COND UINT64_C(0x5000)

/* Gives a list of events. Names are valid up to the next call only, as those of files are. */
struct list {
	const struct gt_event *events;
	uint32_t count, next;
	char name[32];
	char functions[64]; /* of a stack */
	struct gt_stack_sample stack;
};

static int next_of_list(void *object, struct gt_event *ret)
{
	struct list *list = object;

	memset(list->name, '!', sizeof(list->name) - 1);
	memset(list->functions, '!', sizeof(list->functions) - 1);
	list->stack = (struct gt_stack_sample){0};
	if (list->next == list->count)
		return 0;
	*ret = list->events[list->next++];
	if (ret->type == GT_EVENT_COMM) {
		snprintf(list->name, sizeof(list->name), "%s", ret->comm.name);
		ret->comm.name = list->name;
	}
	if (ret->type == GT_EVENT_LEAVE && ret->leave.stack) {
		snprintf(list->functions, sizeof(list->functions), "%s",
			 (const char *)ret->leave.stack->stack);
		list->stack = fake_sample(list->functions);
		ret->leave.stack = &list->stack;
	}
	return 1;
}

#define LIST(array)                                                                                \
	{                                                                                          \
		.events = (array), .count = ARRAY_SIZE(array)                                      \
	}
#define SOURCE(list) ((struct gt_event_source){.next = next_of_list, .object = (list)})

static struct gt_event event(uint64_t time_ns, uint32_t pid, uint32_t tid, enum gt_event_type type)
{
	uint64_t value = type == GT_EVENT_ACQUIRED  ? COND + 0x58
			 : type == GT_EVENT_RELEASE ? COND
						    : 0;

	return (struct gt_event){.time_ns = time_ns,
				 .pid = pid,
				 .tid = tid,
				 .type = type,
				 .ring = GT_EVENT_NO_RING,
				 .lock = value};
}

static struct gt_event named(uint64_t time_ns, uint32_t pid, uint32_t tid, const char *name,
			     bool exec)
{
	struct gt_event result = event(time_ns, pid, tid, GT_EVENT_COMM);

	result.comm.name = name;
	result.comm.exec = exec;
	return result;
}

static struct gt_event forked(uint64_t time_ns, uint32_t pid, uint32_t tid, uint32_t ppid,
			      uint32_t ptid)
{
	struct gt_event result = event(time_ns, pid, tid, GT_EVENT_FORK);

	result.fork.ppid = ppid;
	result.fork.ptid = ptid;
	return result;
}

static struct gt_event mapped(uint64_t time_ns, uint32_t pid, const char *path)
{
	struct gt_event result = event(time_ns, pid, pid, GT_EVENT_MAP);

	result.map.path = path;
	result.map.start = 0x10000;
	result.map.length = 0x1000;
	return result;
}

static struct gt_event lost(uint64_t time_ns, uint32_t pid, uint32_t tid, uint64_t count)
{
	struct gt_event result = event(time_ns, pid, tid, GT_EVENT_LOST);

	result.lost = count;
	return result;
}

/* One line an event; the caller frees it. */
static char *read_text(struct gt_event_source source)
{
	struct gt_event given;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	while (source.next(source.object, &given) > 0) {
		fprintf(stream, "%llu %u/%u ", (unsigned long long)given.time_ns, given.pid,
			given.tid);
		if (given.type == GT_EVENT_COMM)
			fprintf(stream, "comm %s\n", given.comm.name);
		else if (given.type == GT_EVENT_FORK)
			fprintf(stream, "fork %u/%u\n", given.fork.ppid, given.fork.ptid);
		else if (given.type == GT_EVENT_MAP)
			fprintf(stream, "map %s\n", given.map.path);
		else if (given.type == GT_EVENT_LOST)
			fprintf(stream, "lost %llu\n", (unsigned long long)given.lost);
		else
			fprintf(stream, "%s\n",
				given.type == GT_EVENT_EXIT	  ? "exit"
				: given.type == GT_EVENT_ACQUIRED ? "acquired"
								  : "release");
	}
	assert_int_equal(fclose(stream), 0);
	return text;
}

static void test_merge(void **state)
{
	const struct gt_event tasks[] = {
		named(0, PID, PID, "before", false), named(1000, PID, PID, "python3", true),
		forked(1200, PID, 101, PID, PID),    event(1500, PID, 101, GT_EVENT_EXIT),
		named(1600, PID, PID, "end", false),
	};
	const struct gt_event moments[] = {
		event(1000, PID, PID, GT_EVENT_ACQUIRED),
		event(1200, PID, 101, GT_EVENT_ACQUIRED),
		event(1500, PID, 101, GT_EVENT_RELEASE),
	};
	struct list first = LIST(tasks), second = LIST(moments), empty = {0};
	struct gt_merge merge = {0};
	_cleanup_free_ char *text = NULL;

	(void)state;
	gt_merge_add(&merge, SOURCE(&first));
	gt_merge_add(&merge, SOURCE(&empty));
	gt_merge_add(&merge, SOURCE(&second));
	text = read_text((struct gt_event_source){.next = gt_merge_next, .object = &merge});
	assert_string_equal(text, "0 100/100 comm before\n"
				  "1000 100/100 comm python3\n"
				  "1000 100/100 acquired\n"
				  "1200 100/101 fork 100/100\n"
				  "1200 100/101 acquired\n"
				  "1500 100/101 release\n"
				  "1500 100/101 exit\n"
				  "1600 100/100 comm end\n");
}

static void test_merge_of_one(void **state)
{
	const struct gt_event tasks[] = {
		named(1000, PID, PID, "python3", true),
		event(500, PID, 101, GT_EVENT_EXIT),
	};
	struct list list = LIST(tasks);
	struct gt_merge merge = {0};
	_cleanup_free_ char *text = NULL;

	(void)state;
	gt_merge_add(&merge, SOURCE(&list));
	text = read_text((struct gt_event_source){.next = gt_merge_next, .object = &merge});
	assert_string_equal(text, "1000 100/100 comm python3\n500 100/101 exit\n");
}

static char *read_window(struct list *list, uint64_t start_ns)
{
	_cleanup_(gt_window_freep) struct gt_window *window = NULL;

	assert_int_equal(gt_window_new(SOURCE(list), start_ns, &window), 0);
	return read_text((struct gt_event_source){.next = gt_window_next, .object = window});
}

static void test_window_tells_of_the_living(void **state)
{
	const struct gt_event events[] = {
		named(1000, PID, PID, "sh", true),
		mapped(1001, PID, "/bin/sh"),
		named(1010, PID, PID, "python3", true),
		mapped(1020, PID, "/bin/python3"),
		event(1030, PID, PID, GT_EVENT_ACQUIRED),
		forked(1100, PID, 101, PID, PID),
		named(1110, PID, 101, "worker", false),
		forked(1120, PID, 102, PID, PID),
		/* One that ends, with a child that lives on; and a child that a dead thread had. */
		forked(1200, 200, 200, PID, 101),
		forked(1210, 300, 300, 200, 200),
		forked(1220, 400, 400, PID, 102),
		event(1230, 200, 200, GT_EVENT_EXIT),
		event(1230, PID, 102, GT_EVENT_EXIT),
		/* A gap that ends before the window, and one that does not. */
		lost(1300, PID, PID, 5),
		event(1310, PID, PID, GT_EVENT_RELEASE),
		lost(1320, PID, 101, 7),
		event(2000, PID, PID, GT_EVENT_ACQUIRED),
		named(2100, PID, 101, "renamed", false),
	};
	struct list list = LIST(events);
	_cleanup_free_ char *text = read_window(&list, 2000);

	(void)state;
	assert_string_equal(text, "0 100/100 comm python3\n"
				  "0 100/101 fork 100/100\n"
				  "0 100/101 comm worker\n"
				  "0 300/300 comm worker\n"
				  "0 400/400 fork 100/100\n"
				  "0 400/400 comm python3\n"
				  "0 100/100 map /bin/python3\n"
				  "0 300/300 map /bin/python3\n"
				  "0 400/400 map /bin/python3\n"
				  "2000 100/100 comm python3\n"
				  "2000 100/101 lost 7\n"
				  "2000 100/100 acquired\n"
				  "2100 100/101 comm renamed\n");
}

static void test_window_without_events(void **state)
{
	const struct gt_event events[] = {named(1000, PID, PID, "python3", true)};
	struct list list = LIST(events);
	_cleanup_free_ char *text = read_window(&list, 2000);

	(void)state;
	assert_string_equal(text, "0 100/100 comm python3\n2000 100/100 comm python3\n");
}

static const struct gt_thread *find_thread(const struct gt_trace *trace, uint32_t tid)
{
	gt_array_for_each (&trace->threads, thread)
		if (thread->tid == tid)
			return thread;
	fail_msg("no thread %u", tid);
	return NULL;
}

/* What a thread does as the window begins is what its next event says; of one without, nothing. */
static void test_window_of_a_trace(void **state)
{
	const struct gt_event events[] = {
		named(1000, PID, PID, "python3", true),
		forked(1100, PID, 101, PID, PID),
		forked(1110, PID, 102, PID, PID),
		forked(1120, PID, 103, PID, PID),
		forked(1130, PID, 104, PID, PID),
		event(1140, PID, 104, GT_EVENT_EXIT),
		event(1150, PID, 101, GT_EVENT_SWITCH_IN),
		event(1160, PID, 101, GT_EVENT_SWITCH_OUT),
		event(1170, PID, PID, GT_EVENT_SWITCH_IN),
		event(1180, PID, 104, GT_EVENT_SWITCH_OUT),
		event(2500, PID, PID, GT_EVENT_RELEASE),
		event(2600, PID, 101, GT_EVENT_TAKE),
		event(2700, PID, 101, GT_EVENT_ACQUIRED),
		event(2800, PID, 101, GT_EVENT_RELEASE),
		event(2900, PID, 102, GT_EVENT_ACQUIRED),
		event(3000, PID, 102, GT_EVENT_RELEASE),
	};
	struct list list = LIST(events);
	_cleanup_(gt_window_freep) struct gt_window *window = NULL;
	_cleanup_(gt_trace_freep) struct gt_trace *trace = gt_trace_new();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	struct gt_event given;
	const struct gt_thread_stats *thread;

	(void)state;
	trace->takes_are_waits = true;
	assert_int_equal(gt_window_new(SOURCE(&list), 2000, &window), 0);
	while (gt_window_next(window, &given) > 0)
		assert_int_equal(gt_trace_feed(trace, &given), 0);
	assert_int_equal(gt_trace_finish(trace), 0);
	assert_int_equal(gt_stats_compute(trace, &stats), 0);

	assert_int_equal(trace->threads.count, 4);
	assert_int_equal(trace->start_ns, 2000);
	assert_int_equal(trace->inferred, 0);
	thread = &stats.threads[find_thread(trace, PID) - trace->threads.items];
	assert_int_equal(thread->has_ns, 500);
	assert_int_equal(thread->no_ns, 500);
	assert_int_equal(thread->running_ns, 1000);
	thread = &stats.threads[find_thread(trace, 101) - trace->threads.items];
	assert_int_equal(thread->no_ns, 600 + 200);
	assert_int_equal(thread->sleep_ns, 1000);
	assert_int_equal(thread->wait_ns, 100);
	/* It may have been without the GIL, or have waited: its take would have come before. */
	thread = &stats.threads[find_thread(trace, 102) - trace->threads.items];
	assert_int_equal(thread->unknown_ns, 900);
	assert_int_equal(thread->has_ns, 100);
	thread = &stats.threads[find_thread(trace, 103) - trace->threads.items];
	assert_int_equal(thread->unknown_ns, 1000);
	assert_int_equal(thread->state_unknown_ns, 1000);
}

static struct gt_event leaving(uint64_t time_ns, uint32_t tid, const struct gt_stack_sample *stack,
			       bool is_uninterruptible)
{
	struct gt_event result = event(time_ns, PID, tid, GT_EVENT_LEAVE);

	result.leave.stack = stack;
	result.leave.is_uninterruptible = is_uninterruptible;
	return result;
}

static struct gt_event resident(uint64_t time_ns, uint32_t pid, uint32_t kind, uint64_t bytes)
{
	struct gt_event result = event(time_ns, pid, pid, GT_EVENT_MEMORY);

	result.memory.kind = kind;
	result.memory.bytes = bytes;
	return result;
}

/* What the states are called of TID, with when each begins and its innermost function. */
static void check_states(const struct gt_trace *trace, uint32_t tid, const char *expected)
{
	char text[256] = "", name[GT_STATE_NAME_SIZE];

	gt_array_for_each (&trace->states, state) {
		const char *known = gt_state_name(state, name);

		if (&trace->threads.items[state->thread] != find_thread(trace, tid))
			continue;
		sprintf(text + strlen(text), "%llu %s", (unsigned long long)state->start_ns,
			known ? known : "on");
		if (state->stack != GT_STACK_NONE)
			sprintf(text + strlen(text), " %s",
				gt_stacks_top(gt_unwinder_stacks(trace->unwinder), state->stack)
					->name);
		strcat(text, ";");
	}
	assert_string_equal(text, expected);
}

/* Whoever sleeps as the window begins has said before where. */
static void test_window_of_states(void **state)
{
	const struct gt_stack_sample read = fake_sample("a ksys_read | read");
	const struct gt_stack_sample disk = fake_sample("b io_schedule | read");
	const struct gt_event events[] = {
		named(1000, PID, PID, "python3", true),
		resident(1001, PID, 1, 400),
		resident(1002, PID, 3, 50),
		forked(1100, PID, 101, PID, PID),
		forked(1100, PID, 102, PID, PID),
		forked(1100, PID, 103, PID, PID),
		forked(1100, PID, 104, PID, PID),
		/* It sleeps, and is woken in the window. */
		leaving(1200, PID, &read, false),
		event(1201, PID, PID, GT_EVENT_SWITCH_OUT),
		/* It was woken before. */
		event(1210, PID, 101, GT_EVENT_SWITCH_IN),
		leaving(1220, 101, &disk, true),
		event(1230, PID, 101, GT_EVENT_SWITCH_OUT),
		event(1300, 0, 101, GT_EVENT_WAKEUP),
		/* It is about to leave, and it does in the window. */
		event(1210, PID, 102, GT_EVENT_SWITCH_IN),
		leaving(1999, 102, &disk, true),
		/* It sleeps, and what it said before was of another sleep. */
		leaving(1400, 103, &read, false),
		event(1401, PID, 103, GT_EVENT_SWITCH_OUT),
		event(1402, 0, 103, GT_EVENT_WAKEUP),
		event(1403, PID, 103, GT_EVENT_SWITCH_IN),
		event(1404, PID, 103, GT_EVENT_SWITCH_OUT),
		/* What it did was missed. */
		leaving(1400, 104, &read, false),
		event(1401, PID, 104, GT_EVENT_SWITCH_OUT),
		event(1402, PID, PID, GT_EVENT_COUNT),
		event(2001, PID, 102, GT_EVENT_SWITCH_OUT),
		event(2100, 0, PID, GT_EVENT_WAKEUP),
		event(2200, PID, 101, GT_EVENT_SWITCH_IN),
		resident(2300, PID, 3, 60),
		event(2500, PID, PID, GT_EVENT_COUNT),
		named(3000, PID, PID, "end", false),
	};
	struct list list = LIST(events);
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_window_freep) struct gt_window *window = NULL;
	_cleanup_(gt_trace_freep) struct gt_trace *trace = gt_trace_new();
	struct gt_event given;

	(void)state;
	trace->unwinder = unwinder;
	trace->has_wakeups = true;
	assert_int_equal(gt_window_new(SOURCE(&list), 2000, &window), 0);
	while (gt_window_next(window, &given) > 0)
		assert_int_equal(gt_trace_feed(trace, &given), 0);
	assert_int_equal(gt_trace_finish(trace), 0);
	check_states(trace, PID, "2000 S(read) a;2100 R a;");
	check_states(trace, 101, "2000 R b;2200 on;");
	check_states(trace, 102, "2000 on;2001 D(disk) b;");
	check_states(trace, 103, "2000 S;");
	check_states(trace, 104, "2000 S(read) a;");
	/* They are of whole lives. */
	assert_int_equal(trace->counter_count, 0);
	assert_int_equal(find_thread(trace, PID)->voluntary_switches, 0);
	assert_int_equal(find_thread(trace, 102)->voluntary_switches, 1);
	assert_int_equal(trace->memory.count, 1);
	assert_int_equal(trace->memory.items[0].resident_bytes, 400 + 60);
}

static void test_window_behind_a_loss(void **state)
{
	const struct gt_stack_sample read = fake_sample("a ksys_read | read");
	const struct gt_event events[] = {
		named(1000, PID, PID, "python3", true),
		leaving(1200, PID, &read, false),
		event(1201, PID, PID, GT_EVENT_SWITCH_OUT),
		event(1300, 0, PID, GT_EVENT_WAKEUP),
		event(1400, 0, 0, GT_EVENT_SWITCHES_LOST),
		event(2500, PID, PID, GT_EVENT_SWITCH_IN),
		named(3000, PID, PID, "end", false),
	};
	struct list list = LIST(events);
	_cleanup_(fake_unwinder_freep) struct gt_unwinder *unwinder = fake_unwinder_new();
	_cleanup_(gt_window_freep) struct gt_window *window = NULL;
	_cleanup_(gt_trace_freep) struct gt_trace *trace = gt_trace_new();
	struct gt_event given;

	(void)state;
	trace->unwinder = unwinder;
	assert_int_equal(gt_window_new(SOURCE(&list), 2000, &window), 0);
	while (gt_window_next(window, &given) > 0)
		assert_int_equal(gt_trace_feed(trace, &given), 0);
	assert_int_equal(gt_trace_finish(trace), 0);
	check_states(trace, PID, "2000 state unknown;2500 on;");
}

/* One moment of one thread. */
static void add(struct gt_comparer *comparer, enum gt_compared_source source, uint64_t time_ns,
		enum gt_event_type type)
{
	struct gt_event moment = event(time_ns, PID, PID, type);

	assert_int_equal(gt_comparer_add(comparer, source, &moment), 0);
}

static void test_comparison(void **state)
{
	_cleanup_(gt_comparer_freep) struct gt_comparer *comparer = gt_comparer_new();
	_cleanup_(gt_comparison_clear) struct gt_comparison comparison = {0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t time_ns = 1000000 + i * 5000;

		/* The 100th and 101st are missing in one, and others in the other. One thread is
		 * put off the CPU between the two probes. */
		if (i != 100 && i != 101)
			add(comparer, GT_COMPARED_UPROBE, time_ns, GT_EVENT_ACQUIRED);
		if (i != 500 && i != 600 && i != 601)
			add(comparer, GT_COMPARED_AGENT, time_ns + (i == 300 ? 4200 : 1400),
			    GT_EVENT_ACQUIRED);
		add(comparer, GT_COMPARED_UPROBE, i * 50000, GT_EVENT_RELEASE);
		add(comparer, GT_COMPARED_AGENT, i * 50000 + (i < 700 ? 300 : 30300),
		    GT_EVENT_RELEASE);
		add(comparer, GT_COMPARED_UPROBE, time_ns, GT_EVENT_TAKE);
	}
	assert_int_equal(gt_comparer_finish(comparer, &comparison), 0);
	assert_int_equal(comparison.threads.count, 1);
	assert_int_equal(
		comparison.threads.items[0].counts[GT_COMPARED_UPROBE][GT_COMPARED_ACQUIRED], 998);
	assert_int_equal(
		comparison.threads.items[0].counts[GT_COMPARED_AGENT][GT_COMPARED_ACQUIRED], 997);
	assert_int_equal(comparison.threads.items[0].counts[GT_COMPARED_AGENT][GT_COMPARED_RELEASE],
			 1000);
	assert_int_equal(comparison.only[GT_COMPARED_UPROBE], 3);
	assert_int_equal(comparison.only[GT_COMPARED_AGENT], 2);
	assert_int_equal(comparison.paired, 995 + 1000);
	/* 300 releases are 30.3 us apart. */
	assert_int_equal(comparison.within_20us, 995 + 700);
	assert_int_equal(comparison.max_ns, 30300);
	assert_int_equal(comparison.median_ns, 1400);
}

/* Long after the other probe, but before the next moment: it is the twin all the same. */
static void test_comparison_of_a_late_twin(void **state)
{
	_cleanup_(gt_comparer_freep) struct gt_comparer *comparer = gt_comparer_new();
	_cleanup_(gt_comparison_clear) struct gt_comparison comparison = {0};

	(void)state;
	add(comparer, GT_COMPARED_UPROBE, 1000, GT_EVENT_SWITCHED);
	add(comparer, GT_COMPARED_AGENT, 4000000, GT_EVENT_SWITCHED);
	add(comparer, GT_COMPARED_UPROBE, 4001500, GT_EVENT_SWITCHED);
	add(comparer, GT_COMPARED_AGENT, 4002000, GT_EVENT_SWITCHED);
	add(comparer, GT_COMPARED_UPROBE, 4005000, GT_EVENT_SWITCHED);
	assert_int_equal(gt_comparer_finish(comparer, &comparison), 0);
	assert_int_equal(comparison.paired, 2);
	assert_int_equal(comparison.max_ns, 3999000);
	assert_int_equal(comparison.within_20us, 1);
	assert_int_equal(comparison.only[GT_COMPARED_UPROBE], 1);
	assert_int_equal(comparison.only[GT_COMPARED_AGENT], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_of_one),
		cmocka_unit_test(test_window_tells_of_the_living),
		cmocka_unit_test(test_window_without_events),
		cmocka_unit_test(test_window_of_a_trace),
		cmocka_unit_test(test_window_of_states),
		cmocka_unit_test(test_window_behind_a_loss),
		cmocka_unit_test(test_comparison),
		cmocka_unit_test(test_comparison_of_a_late_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
