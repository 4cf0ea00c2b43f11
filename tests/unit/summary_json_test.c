/* SPDX-License-Identifier: MIT */
/* What the summary says of states and counters, in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "render/report.h"
#include "render/summary_json.h"

#define PID 100

static void feed(struct gt_trace *trace, struct gt_event event)
{
	event.pid = PID;
	event.ring = GT_EVENT_NO_RING;
	assert_int_equal(gt_trace_feed(trace, &event), 0);
}

static void switched(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, uint32_t cpu,
		     enum gt_event_type type)
{
	feed(trace,
	     (struct gt_event){.type = type, .time_ns = time_ns, .tid = tid, .on_off.cpu = cpu});
}

static void count(struct gt_trace *trace, uint32_t tid, const char *counter, uint64_t value)
{
	feed(trace, (struct gt_event){.type = GT_EVENT_COUNT,
				      .time_ns = 2000,
				      .tid = tid,
				      .count = {.counter = counter, .value = value}});
}

/* The main thread sleeps twice; of another thread less is known. */
static struct gt_trace *make_trace(bool has_states)
{
	struct gt_trace *trace = gt_trace_new();

	assert_non_null(trace);
	trace->without_gil = trace->has_wakeups = true;
	feed(trace, (struct gt_event){.type = GT_EVENT_COMM,
				      .time_ns = 1000,
				      .tid = PID,
				      .comm = {.name = "python3", .exec = true}});
	feed(trace, (struct gt_event){.type = GT_EVENT_FORK,
				      .time_ns = 1900,
				      .tid = 101,
				      .fork = {.ppid = PID, .ptid = PID}});
	if (has_states) {
		switched(trace, 1100, PID, 0, GT_EVENT_SWITCH_OUT);
		switched(trace, 1300, PID, 1, GT_EVENT_SWITCH_IN);
		switched(trace, 1400, PID, 1, GT_EVENT_SWITCH_OUT);
		switched(trace, 1450, PID, 1, GT_EVENT_SWITCH_IN);
		switched(trace, 1500, PID, 1, GT_EVENT_SWITCH_OUT);
		switched(trace, 1507, PID, 1, GT_EVENT_SWITCH_IN);
		count(trace, PID, "minor-faults", 7);
		count(trace, 101, "minor-faults", 3);
		count(trace, PID, "task-clock", 500);
		feed(trace, (struct gt_event){.type = GT_EVENT_MEMORY,
					      .time_ns = 1500,
					      .tid = PID,
					      .memory = {.kind = 1, .bytes = 4096}});
	}
	feed(trace, (struct gt_event){.type = GT_EVENT_EXIT, .time_ns = 2000, .tid = 101});
	feed(trace, (struct gt_event){.type = GT_EVENT_EXIT, .time_ns = 2000, .tid = PID});
	assert_int_equal(gt_trace_finish(trace), 0);
	return trace;
}

/* As if stacks had said so: a sleep for the GIL, one for a disk, and one that nothing explains. */
static void explain(struct gt_trace *trace)
{
	gt_array_for_each (&trace->states, state) {
		if (state->start_ns == 1100)
			state->reason = GT_SLEEP_GIL;
		if (state->start_ns != 1400)
			continue;
		state->kind = GT_STATE_UNINTERRUPTIBLE;
		state->reason = GT_SLEEP_DISK;
	}
}

static json_t *summarize(const struct gt_trace *trace, const struct gt_stacks *stacks)
{
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	struct gt_report_meta meta = {.probe = "none", .exit_status = 0, .probe_cost_ns = -1};
	struct gt_report report = {
		.trace = trace, .stats = &stats, .meta = &meta, .stacks = stacks};
	json_t *summary;

	assert_int_equal(gt_stats_compute(trace, &stats), 0);
	summary = gt_summary_json_new(&report, true);
	assert_non_null(summary);
	return summary;
}

/* OBJECT as text is EXPECTED. */
static void check(const json_t *object, const char *expected)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_string_equal(text, expected);
}

static json_t *process_of(const json_t *summary)
{
	return json_array_get(json_object_get(summary, "processes"), 0);
}

static json_t *thread_of(const json_t *summary, size_t index)
{
	return json_array_get(json_object_get(process_of(summary), "threads"), index);
}

static void test_states_with_stacks(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	_cleanup_(gt_stacks_freep) struct gt_stacks *stacks = gt_stacks_new();
	json_auto_t *summary = NULL;

	(void)state;
	explain(trace);
	summary = summarize(trace, stacks);
	check(json_object_get(thread_of(summary, 0), "state"),
	      "{\"running_ns\":743,\"runnable_ns\":0,\"sleep_ns\":207,\"sleep_gil_ns\":200,"
	      "\"disk_ns\":50,\"unknown_ns\":0,\"sleep\":{\"unexplained\":7,\"GIL\":200},"
	      "\"uninterruptible\":{\"disk\":50}}");
	check(json_object_get(summary, "sleeps_compared"), "0");
	check(json_object_get(summary, "sleeps_disagreed"), "0");
	check(json_object_get(summary, "wakeups_lost"), "0");
}

/* What stacks alone tell is null without them. */
static void test_states_without_stacks(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	json_auto_t *summary = summarize(trace, NULL);

	(void)state;
	check(json_object_get(thread_of(summary, 0), "state"),
	      "{\"running_ns\":743,\"runnable_ns\":0,\"sleep_ns\":257,\"sleep_gil_ns\":null,"
	      "\"disk_ns\":null,\"unknown_ns\":0,\"sleep\":null,\"uninterruptible\":null}");
	check(json_object_get(summary, "sleeps_compared"), "null");
}

static void test_counters(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	json_auto_t *summary = summarize(trace, NULL);

	(void)state;
	check(json_object_get(thread_of(summary, 0), "counters"),
	      "{\"voluntary_switches\":3,\"involuntary_switches\":0,\"migrations\":1,"
	      "\"minor_faults\":7,\"task_clock_ns\":500}");
	check(json_object_get(thread_of(summary, 1), "counters"),
	      "{\"voluntary_switches\":0,\"involuntary_switches\":0,\"migrations\":0,"
	      "\"minor_faults\":3,\"task_clock_ns\":null}");
	/* A sum of which a part is missing is none. */
	check(json_object_get(summary, "counters"),
	      "{\"voluntary_switches\":3,\"involuntary_switches\":0,\"migrations\":1,"
	      "\"minor_faults\":10,\"task_clock_ns\":null}");
	check(json_object_get(process_of(summary), "resident_max_bytes"), "4096");
}

static void test_nothing_of_states(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(false);
	json_auto_t *summary = summarize(trace, NULL);

	(void)state;
	check(json_object_get(thread_of(summary, 0), "state"), "null");
	check(json_object_get(thread_of(summary, 0), "counters"), "null");
	check(json_object_get(summary, "counters"), "null");
	check(json_object_get(process_of(summary), "resident_max_bytes"), "null");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states_with_stacks),
		cmocka_unit_test(test_states_without_stacks),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_nothing_of_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
