/* SPDX-License-Identifier: MIT */
/* What outputs say of a trace with states, and of one without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/io.h"
#include "render/report.h"

#define PID 100

static void feed(struct gt_trace *trace, struct gt_event event)
{
	event.pid = PID;
	event.ring = GT_EVENT_NO_RING;
	assert_int_equal(gt_trace_feed(trace, &event), 0);
}

static void at(struct gt_trace *trace, uint64_t time_ns, uint32_t tid, enum gt_event_type type)
{
	feed(trace, (struct gt_event){.type = type,
				      .time_ns = time_ns,
				      .tid = tid,
				      .lock = type == GT_EVENT_ACQUIRED ? 0x5058 : 0x5000});
}

/* The main thread holds the GIL for a second, and the other one sleeps for it. */
static struct gt_trace *make_trace(bool has_states)
{
	struct gt_trace *trace = gt_trace_new();

	assert_non_null(trace);
	feed(trace, (struct gt_event){.type = GT_EVENT_COMM,
				      .time_ns = 1000000000,
				      .tid = PID,
				      .comm = {.name = "python3", .exec = true}});
	feed(trace, (struct gt_event){.type = GT_EVENT_FORK,
				      .time_ns = 1000000000,
				      .tid = 101,
				      .fork = {.ppid = PID, .ptid = PID}});
	at(trace, 1000000000, PID, GT_EVENT_TAKE);
	at(trace, 1000000000, PID, GT_EVENT_ACQUIRED);
	if (has_states)
		at(trace, 1050000000, 101, GT_EVENT_SWITCH_IN);
	at(trace, 1100000000, 101, GT_EVENT_TAKE);
	if (has_states)
		at(trace, 1100000003, 101, GT_EVENT_SWITCH_OUT);
	at(trace, 2000000000, PID, GT_EVENT_RELEASE);
	if (has_states)
		at(trace, 2000000001, 101, GT_EVENT_SWITCH_IN);
	at(trace, 2000000002, 101, GT_EVENT_ACQUIRED);
	at(trace, 2100000000, 101, GT_EVENT_RELEASE);
	at(trace, 2100000000, 101, GT_EVENT_EXIT);
	at(trace, 2100000000, PID, GT_EVENT_EXIT);
	assert_int_equal(gt_trace_finish(trace), 0);
	return trace;
}

/* The caller frees it. */
static char *render_report(const struct gt_report *report, gt_render_function function)
{
	struct gt_sink *sink = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(gt_sink_open_stream(stream, &sink), 0);
	assert_int_equal(function(report, sink), 0);
	assert_int_equal(gt_sink_close(sink), 0);
	fclose(stream);
	return text;
}

/* A report of states with stacks, and all that it points to. */
struct example {
	struct gt_trace *trace;
	struct gt_stacks *stacks;
	struct gt_stats stats;
	struct gt_report_meta meta;
	struct gt_report report;
};

static void make_example(struct example *example)
{
	*example = (struct example){.trace = make_trace(true),
				    .stacks = gt_stacks_new(),
				    .meta = {.exit_status = 0, .probe_cost_ns = -1}};
	example->report = (struct gt_report){.trace = example->trace,
					     .stats = &example->stats,
					     .stacks = example->stacks,
					     .meta = &example->meta};
}

static void example_clear(struct example *example)
{
	gt_stats_clear(&example->stats);
	gt_stacks_free(example->stacks);
	gt_trace_free(example->trace);
}

/* The caller frees it. */
static char *render(const struct gt_trace *trace, const char *probe, gt_render_function function)
{
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	struct gt_report_meta meta = {.probe = probe, .exit_status = 0, .probe_cost_ns = -1};
	struct gt_report report = {.trace = trace, .stats = &stats, .meta = &meta, .columns = 80};

	assert_int_equal(gt_stats_compute(trace, &stats), 0);
	return render_report(&report, function);
}

static json_int_t integer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static json_t *thread_of(json_t *summary, size_t index)
{
	json_t *process = json_array_get(json_object_get(summary, "processes"), 0);

	return json_array_get(json_object_get(process, "threads"), index);
}

static void test_summary_json(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	_cleanup_free_ char *text = render(trace, "agent", gt_render_summary_json);
	json_auto_t *summary = json_loads(text, 0, NULL);

	(void)state;
	assert_non_null(summary);
	for (size_t i = 0; i < 2; i++) {
		json_t *thread = thread_of(summary, i), *states = json_object_get(thread, "state");

		assert_int_equal(integer(states, "running_ns") + integer(states, "runnable_ns") +
					 integer(states, "sleep_ns") +
					 integer(states, "unknown_ns"),
				 integer(thread, "total_ns"));
		assert_true(json_is_null(json_object_get(states, "disk_ns")));
	}
	assert_int_equal(integer(json_object_get(thread_of(summary, 1), "state"), "runnable_ns"),
			 50000000);
	assert_int_equal(integer(json_object_get(thread_of(summary, 1), "state"), "sleep_ns"),
			 899999998);
	assert_int_equal(integer(json_object_get(thread_of(summary, 1), "state"), "sleep_gil_ns"),
			 899999998);
	assert_int_equal(integer(summary, "state_lost"), 0);
}

/* Where nobody watched the GIL, there are no tracks for it, as if it had been free. */
static void test_chrome_json_without_the_gil(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	_cleanup_free_ char *text = render(trace, "none", gt_render_chrome_json);

	(void)state;
	assert_non_null(strstr(text, "python3 (101) state"));
	assert_null(strstr(text, "(101) GIL"));
	assert_null(strstr(text, "\"cat\":\"gil\""));
}

/* Where nobody watched the GIL, nobody knows who slept for it. */
static void test_summary_json_without_the_gil(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	_cleanup_free_ char *text = render(trace, "none", gt_render_summary_json);
	json_auto_t *summary = json_loads(text, 0, NULL);
	json_t *states = json_object_get(thread_of(summary, 1), "state");

	(void)state;
	assert_true(json_is_null(json_object_get(states, "sleep_gil_ns")));
	assert_int_equal(integer(states, "sleep_ns"), 899999998);
}

static void test_summary_json_without_states(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(false);
	_cleanup_free_ char *text = render(trace, "agent", gt_render_summary_json);
	json_auto_t *summary = json_loads(text, 0, NULL);

	(void)state;
	assert_true(json_is_null(json_object_get(thread_of(summary, 1), "state")));
	assert_true(json_is_null(json_object_get(summary, "state_lost")));
}

/* In columns; the text is ASCII. */
static size_t longest_line(const char *text)
{
	size_t longest = 0;

	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n");

		longest = GT_MAX(longest, length);
		line += length + (line[length] == '\n');
	}
	return longest;
}

static void check_width(const char *text)
{
	assert_true(longest_line(text) <= 80);
}

static void test_summary(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	_cleanup_(gt_trace_freep) struct gt_trace *other = make_trace(false);
	_cleanup_free_ char *text = render(trace, "agent", gt_render_summary);
	_cleanup_free_ char *without = render(other, "agent", gt_render_summary);

	(void)state;
	assert_non_null(strstr(text, "On and off CPU:\n"));
	assert_non_null(strstr(text, "    PID  running% runnable%  all%  GIL% disk% name\n"));
	assert_non_null(strstr(text, "    100*    100.0       0.0   0.0   0.0     - python3\n"));
	assert_non_null(strstr(text, "    101      13.6       4.5  81.8  81.8     - python3\n"));
	assert_non_null(strstr(text, "Who waited for whom"));
	assert_null(strstr(without, "CPU"));
	check_width(text);
}

/* What the model makes of a recording with stacks. */
static void explain(struct gt_trace *trace, struct gt_stacks *stacks)
{
	static const char *const frames[] = {"main", "read", "vfs_read"};
	uint32_t stack = GT_STACK_NONE, frame;

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		struct gt_frame content = {.name = frames[i], .file = i < 2 ? "/a/b.so" : NULL};

		assert_int_equal(gt_stacks_add_frame(stacks, &content, &frame), 0);
		assert_int_equal(gt_stacks_push(stacks, stack, frame, &stack), 0);
	}
	gt_array_for_each (&trace->states, state) {
		if (state->kind != GT_STATE_SLEEPING)
			continue;
		state->reason = GT_SLEEP_READ;
		state->stack = stack;
	}
}

static void test_summary_with_stacks(void **state)
{
	_cleanup_(example_clear) struct example example;
	struct gt_trace *trace;
	_cleanup_free_ char *text = NULL;

	(void)state;
	make_example(&example);
	example.meta.stacks = 5000;
	example.meta.stacks_cut = 1234;
	example.meta.stacks_broken = 1;
	trace = example.trace;
	explain(trace, example.stacks);
	trace->counters[0] = strdup("minor-faults");
	trace->counters[1] = strdup("task-clock");
	trace->counters[2] = strdup("cycles");
	trace->counters[3] = strdup("major-faults");
	trace->counters[4] = strdup("cpu-clock");
	trace->counter_count = 5;
	gt_array_for_each (&trace->threads, thread) {
		thread->voluntary_switches = 1200;
		thread->involuntary_switches = 3;
		thread->counts[0] = 1234567;
		thread->counts[1] = 1.6e9;
		thread->counts[2] = thread->counts[3] = -1;
		thread->counts[4] = 2e9;
	}
	/* One of them does not tell. */
	trace->threads.items[0].counts[3] = 5;
	*gt_array_push(&trace->memory) =
		(struct gt_memory_point){.time_ns = 1000000000, .resident_bytes = 3 << 20};
	*gt_array_push(&trace->memory) =
		(struct gt_memory_point){.time_ns = 1100000000, .resident_bytes = 2 << 20};
	trace->wakeups_lost = 7;
	trace->sleeps_disagreed = 2;
	trace->sleeps_compared = 1000;
	assert_int_equal(gt_stats_compute(trace, &example.stats), 0);
	/* As the model adds them up. */
	example.stats.threads[1].sleep_reason_ns[GT_SLEEP_LOCK] = 400000000;
	example.stats.threads[1].sleep_reason_ns[GT_SLEEP_READ] = 499999998;
	example.stats.threads[1].sleep_reason_ns[GT_SLEEP_POLL] = 100;
	text = render_report(&example.report, gt_render_summary);
	assert_non_null(strstr(text, " disk% name    slept for, %\n"));
	assert_non_null(strstr(text, "  81.8   0.0 python3 read 45.5 lock 36.4\n"));
	assert_non_null(strstr(text,
			       "\nCounted: 2,400 voluntary and 6 involuntary context switches, "
			       "0 migrations,\n  2,469,134 minor faults, 3.2s on CPU, at least 5 "
			       "major faults, 4.0s cpu clock,\n  3.0 MiB of memory at most.\n"));
	assert_null(strstr(text, "cycles"));
	assert_non_null(strstr(text, "Lost: 7 wake-ups."));
	assert_non_null(strstr(text, "disagree on 2 of 1,000 sleeps"));
	assert_non_null(strstr(text, "Cut: 1,234 of 5,000 stacks"));
	assert_non_null(strstr(text, "Broken: 1 of 5,000 stacks"));
	check_width(text);
}

/* As many reasons are listed as there is room for, and none is cut. */
static void test_reasons_fit_the_columns(void **state)
{
	_cleanup_(example_clear) struct example example;

	(void)state;
	make_example(&example);
	assert_int_equal(gt_stats_compute(example.trace, &example.stats), 0);
	for (enum gt_sleep_reason i = GT_SLEEP_LOCK; i < GT_SLEEP_REASONS; i++)
		example.stats.threads[1].sleep_reason_ns[i] = 50000000;
	for (example.report.columns = 80; example.report.columns < 120; example.report.columns++) {
		_cleanup_free_ char *text = render_report(&example.report, gt_render_summary);
		const char *states = strstr(text, "slept for, %");

		assert_non_null(states);
		assert_null(strstr(states, "…"));
		assert_true(longest_line(states) <= example.report.columns);
	}
}

/* Where the GIL was not to be watched, nothing is said of it that nobody can know. */
static void test_summary_without_the_gil(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	_cleanup_free_ char *by_accident = render(trace, "none", gt_render_summary);
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_non_null(strstr(by_accident, "has gil%"));
	trace->without_gil = true;
	text = render(trace, "none", gt_render_summary);
	assert_non_null(strstr(text, "The GIL was not watched (--no-gil-detect)"));
	assert_null(strstr(text, "has gil%"));
	assert_null(strstr(text, "Who waited for whom"));
	assert_non_null(strstr(text, "On and off CPU:\n"));
	assert_non_null(strstr(text, "  81.8     -     - python3\n"));
	check_width(text);
}

/* Frame pointers may have missed who called what a thread waits in. */
static void test_summary_of_frame_pointers_alone(void **state)
{
	_cleanup_(example_clear) struct example example;

	(void)state;
	make_example(&example);
	example.meta.probe = "none";
	example.report.columns = 80;
	example.trace->without_gil = true;
	assert_int_equal(gt_stats_compute(example.trace, &example.stats), 0);
	example.stats.threads[1].sleep_gil_ns = 100000000;
	memset(example.stats.threads[1].sleep_reason_ns, 0,
	       sizeof(example.stats.threads[1].sleep_reason_ns));
	example.stats.threads[1].sleep_reason_ns[GT_SLEEP_GIL] = 100000000;
	for (int i = 0; i < 2; i++) {
		_cleanup_free_ char *text = NULL, *json = NULL;
		json_auto_t *summary = NULL;
		json_t *states;

		example.meta.lacks_frame_pointers = i > 0;
		text = render_report(&example.report, gt_render_summary);
		json = render_report(&example.report, gt_render_summary_json);
		summary = json_loads(json, 0, NULL);
		states = json_object_get(thread_of(summary, 1), "state");
		if (i == 0) {
			assert_non_null(strstr(text, "  81.8   9.1   0.0 python3\n"));
			assert_non_null(strstr(text, "are told by their stacks"));
			assert_int_equal(integer(states, "sleep_gil_ns"), 100000000);
		} else {
			assert_non_null(strstr(text, "  81.8     -   0.0 python3 GIL 9.1\n"));
			assert_non_null(strstr(text, "--call-graph dwarf"));
			assert_true(json_is_null(json_object_get(states, "sleep_gil_ns")));
		}
		check_width(text);
	}
}

/* Of what stock perf has recorded nobody knows which Python was meant: it is none "other". */
static void test_summary_of_states_by_others(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	struct gt_report_meta meta = {
		.probe = "none", .exit_status = -1, .probe_cost_ns = -1, .is_others = true};
	struct gt_report report = {.trace = trace, .stats = &stats, .meta = &meta, .columns = 80};
	_cleanup_free_ char *text = NULL;

	(void)state;
	trace->without_gil = true;
	trace->processes.items[0].maps_other_python = true;
	trace->processes.items[0].gil_events = 0;
	assert_int_equal(gt_stats_compute(trace, &stats), 0);
	text = render_report(&report, gt_render_summary);
	assert_non_null(strstr(text, "The GIL was not watched (there are no events of it)"));
	assert_null(strstr(text, "--no-gil-detect"));
	assert_null(strstr(text, "Not traced"));
	assert_non_null(strstr(text, " python3\n"));
	check_width(text);
}

static void test_chrome_json_with_stacks(void **state)
{
	_cleanup_(example_clear) struct example example;
	_cleanup_free_ char *text = NULL, *key = NULL;
	json_auto_t *root = NULL;
	json_t *event, *frames, *frame;
	size_t index, slices = 0;

	(void)state;
	make_example(&example);
	explain(example.trace, example.stacks);
	*gt_array_push(&example.trace->memory) =
		(struct gt_memory_point){.time_ns = 1000000001, .resident_bytes = 4096};
	assert_int_equal(gt_stats_compute(example.trace, &example.stats), 0);
	text = render_report(&example.report, gt_render_chrome_json);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	frames = json_object_get(root, "stackFrames");
	assert_int_equal(json_object_size(frames), 3);
	json_array_foreach(json_object_get(root, "traceEvents"), index, event)
	{
		if (!json_object_get(event, "sf"))
			continue;
		slices++;
		assert_string_equal(json_string_value(json_object_get(event, "name")), "S(read)");
		key = gt_format("%lld", integer(event, "sf"));
		frame = json_object_get(frames, key);
		assert_string_equal(json_string_value(json_object_get(frame, "name")), "vfs_read");
		assert_null(json_object_get(frame, "category"));
		assert_int_equal(integer(frame, "parent"), 2);
		assert_string_equal(json_string_value(json_object_get(json_object_get(frames, "2"),
								      "category")),
				    "b.so");
	}
	assert_int_equal(slices, 1);
	assert_null(json_object_get(json_object_get(frames, "1"), "parent"));
	assert_non_null(strstr(text, "{\"ph\":\"C\",\"pid\":100,\"tid\":100,\"ts\":1000000.001,"
				     "\"name\":\"resident memory\",\"args\":{\"bytes\":4096}}"));
}

static void test_chrome_json(void **state)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = make_trace(true);
	_cleanup_free_ char *text = render(trace, "agent", gt_render_chrome_json);
	json_auto_t *root = json_loads(text, 0, NULL);
	json_t *event;
	size_t index;
	json_int_t track = 0, gil_order = 0, state_order = 0;
	int slices = 0;

	(void)state;
	assert_non_null(root);
	json_array_foreach(json_object_get(root, "traceEvents"), index, event)
	{
		const char *name = json_string_value(json_object_get(event, "name"));
		const char *kind = json_string_value(json_object_get(event, "cat"));
		json_t *arguments = json_object_get(event, "args");
		const char *label = json_string_value(json_object_get(arguments, "name"));

		if (label && strcmp(label, "python3 (101) state") == 0)
			track = integer(event, "tid");
		if (strcmp(name, "thread_sort_index") == 0 && track &&
		    integer(event, "tid") == track)
			state_order = integer(arguments, "sort_index");
		else if (strcmp(name, "thread_sort_index") == 0 && !track)
			gil_order = integer(arguments, "sort_index");
		if (!kind || strcmp(kind, "state") != 0)
			continue;
		/* Runnable, then asleep for the GIL: running leaves the track free. */
		assert_int_equal(integer(event, "tid"), track);
		assert_string_equal(name, slices++ == 0 ? "R" : "S(GIL)");
	}
	assert_int_equal(slices, 2);
	assert_int_equal(state_order, gil_order + 1);
	assert_non_null(strstr(text, "\"ts\":1100000.003,\"dur\":899999.998,\"cat\":\"state\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_summary_json),
		cmocka_unit_test(test_summary_json_without_the_gil),
		cmocka_unit_test(test_summary_json_without_states),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_summary_with_stacks),
		cmocka_unit_test(test_reasons_fit_the_columns),
		cmocka_unit_test(test_summary_of_states_by_others),
		cmocka_unit_test(test_summary_of_frame_pointers_alone),
		cmocka_unit_test(test_summary_without_the_gil),
		cmocka_unit_test(test_chrome_json),
		cmocka_unit_test(test_chrome_json_with_stacks),
		cmocka_unit_test(test_chrome_json_without_the_gil),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
