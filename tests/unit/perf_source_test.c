/* SPDX-License-Identifier: MIT */
/* What becomes of the records of a perf.data file that are not about the GIL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "base/io.h"
#include "base/strings.h"
#include "perfdata_builder.h"
#include "trace/perf_source.h"
#include "unwind/sample.h"

struct opened {
	struct gt_perfdata *perfdata;
	struct gt_perf_source *source;
};

static void close_source(struct opened *opened)
{
	gt_perf_source_free(opened->source);
	gt_perfdata_close(opened->perfdata);
}

static void open_source(struct builder *builder, unsigned int wants, struct opened *ret)
{
	_cleanup_close_ int fd = memfd_create("perf.data", MFD_CLOEXEC);
	_cleanup_free_ char *path = gt_format("/proc/self/fd/%d", fd);
	struct gt_perf_source_spec spec = {.path = "state.perf.data", .wants = wants};
	size_t size = 0;
	_cleanup_free_ char *file = builder_finish(builder, &size);

	assert_int_equal(gt_write_all(fd, file, size), 0);
	assert_int_equal(gt_perfdata_open(path, &ret->perfdata), 0);
	assert_int_equal(gt_perf_source_new(ret->perfdata, &spec, &ret->source), 0);
}

/* Gives the COUNT events that a file's source tells, and no more. */
static void check_events(struct builder *builder, unsigned int wants,
			 const struct gt_event *expected, size_t count)
{
	_cleanup_(close_source) struct opened opened = {0};
	struct gt_perf_source *source;
	struct gt_event event;

	open_source(builder, wants, &opened);
	source = opened.source;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(gt_perf_source_next(source, &event), 1);
		assert_int_equal(event.type, expected[i].type);
		assert_int_equal(event.time_ns, expected[i].time_ns);
		assert_int_equal(event.ring, GT_EVENT_NO_RING);
		if (event.type == GT_EVENT_SWITCHES_LOST) {
			assert_int_equal(event.gap.since_ns, expected[i].gap.since_ns);
			assert_int_equal(event.gap.count, expected[i].gap.count);
			continue;
		}
		assert_int_equal(event.pid, BUILDER_PID);
		assert_int_equal(event.tid, expected[i].tid);
		if (event.type == GT_EVENT_SWITCH_OUT)
			assert_int_equal(event.on_off.preempted, expected[i].on_off.preempted);
	}
	assert_int_equal(gt_perf_source_next(source, &event), 0);
	assert_int_equal(gt_perf_source_lost(source), 0);
}

static void put_switch(struct builder *builder, uint16_t misc, uint32_t tid, uint64_t time_ns)
{
	builder_record(builder, PERF_RECORD_SWITCH, misc, "", 0, tid, time_ns);
}

static void test_switches(void **state)
{
	static const struct gt_event expected[] = {
		{.type = GT_EVENT_SWITCH_IN, .time_ns = 10, .tid = 7},
		{.type = GT_EVENT_SWITCH_OUT, .time_ns = 20, .tid = 7, .on_off.preempted = true},
		{.type = GT_EVENT_SWITCH_OUT, .time_ns = 30, .tid = 8, .on_off.preempted = false},
	};
	_cleanup_(builder_clear) struct builder builder;
	uint32_t task[] = {BUILDER_PID, 1, 9, 1, 0, 0};

	(void)state;
	builder_init(&builder);
	put_switch(&builder, 0, 7, 10);
	/* Another file tells of births. */
	builder_record(&builder, PERF_RECORD_FORK, 0, task, sizeof(task), 9, 15);
	put_switch(&builder, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 7,
		   20);
	put_switch(&builder, PERF_RECORD_MISC_SWITCH_OUT, 8, 30);
	/* Of the idle task, and of one that is being reaped. */
	put_switch(&builder, 0, 0, 40);
	put_switch(&builder, PERF_RECORD_MISC_SWITCH_OUT, UINT32_MAX, 50);
	check_events(&builder, GT_PERF_WANTS_SWITCHES, expected, ARRAY_SIZE(expected));
}

/* A loss lies behind the last record of its ring; at the end, of the ring that fell silent first.
 */
static void test_losses_of_switches(void **state)
{
	static const struct gt_event expected[] = {
		{.type = GT_EVENT_SWITCH_IN, .time_ns = 10, .tid = 7},
		{.type = GT_EVENT_SWITCHES_LOST, .time_ns = 40, .gap = {10, 5}},
		{.type = GT_EVENT_SWITCH_IN, .time_ns = 60, .tid = 8},
		{.type = GT_EVENT_SWITCHES_LOST, .time_ns = 60, .gap = {25, 3}},
	};
	_cleanup_(builder_clear) struct builder builder;
	uint64_t lost[] = {1, 5}, counted = 8;

	(void)state;
	builder_init(&builder);
	put_switch(&builder, 0, 7, 10);
	builder_sample(&builder, BUILDER_ACQUIRED, 0, 7, 25, 0x5000);
	builder_record(&builder, PERF_RECORD_LOST, 0, lost, sizeof(lost), 7, 40);
	put_switch(&builder, 0, 8, 60);
	builder_record(&builder, PERF_RECORD_LOST_SAMPLES, 0, &counted, sizeof(counted), 0, 0);
	check_events(&builder, GT_PERF_WANTS_SWITCHES, expected, ARRAY_SIZE(expected));
}

/* One event, which has these. */
static void next(struct opened *opened, enum gt_event_type type, uint32_t tid, uint64_t time_ns,
		 struct gt_event *ret)
{
	assert_int_equal(gt_perf_source_next(opened->source, ret), 1);
	assert_int_equal(ret->type, type);
	assert_int_equal(ret->tid, tid);
	assert_int_equal(ret->time_ns, time_ns);
	assert_int_equal(ret->ring, GT_EVENT_NO_RING);
}

static void check_end(struct opened *opened)
{
	struct gt_event event;

	assert_int_equal(gt_perf_source_next(opened->source, &event), 0);
}

static void put_leave(struct builder *builder, uint32_t tid, uint64_t time_ns, uint64_t state)
{
	struct __attribute__((packed)) {
		uint64_t frame_count, frames[2];
		uint32_t raw_size, common[2];
		uint64_t state;
		uint32_t filling;
		uint64_t abi, registers[2];
		uint64_t stack_bytes;
		unsigned char stack[BUILDER_STACK_BYTES];
		uint64_t copied_bytes;
	} rest = {
		.frame_count = 2,
		.frames = {PERF_CONTEXT_KERNEL, 0xffffffff81000000},
		.raw_size = 20,
		.state = state,
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.registers = {0x11, 0x22},
		.stack_bytes = BUILDER_STACK_BYTES,
		.copied_bytes = 8,
	};

	memset(rest.stack, 0xab, sizeof(rest.stack));
	builder_state_sample(builder, BUILDER_SWITCH, 0, tid, time_ns, &rest, sizeof(rest));
}

static void test_leaves(void **state)
{
	static const struct {
		uint64_t state;
		bool is_uninterruptible, is_stopped;
	} cases[] = {
		{0x1, false, false},   {0x2, true, false}, {0x0, false, false},
		{0x100, false, false}, {0x4, false, true}, {0x8, false, true},
	};
	_cleanup_(builder_clear) struct builder builder;
	_cleanup_(close_source) struct opened opened = {0};
	struct gt_event event;

	(void)state;
	builder_init(&builder);
	builder.has_states = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put_leave(&builder, 7, 10 + 10 * i, cases[i].state);
		builder_record_of(&builder, BUILDER_DUMMY, 1, PERF_RECORD_SWITCH,
				  PERF_RECORD_MISC_SWITCH_OUT, "", 0, 7, 15 + 10 * i);
	}
	open_source(&builder, GT_PERF_WANTS_SWITCHES, &opened);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value;

		next(&opened, GT_EVENT_LEAVE, 7, 10 + 10 * i, &event);
		assert_int_equal(event.pid, BUILDER_PID);
		assert_int_equal(event.leave.is_uninterruptible, cases[i].is_uninterruptible);
		assert_int_equal(event.leave.is_stopped, cases[i].is_stopped);
		assert_int_equal(event.leave.stack->frame_count, 2);
		memcpy(&value, (const char *)event.leave.stack->frames + 8, sizeof(value));
		assert_int_equal(value, 0xffffffff81000000);
		assert_true(gt_stack_sample_register(event.leave.stack, 1, &value));
		assert_int_equal(value, 0x22);
		assert_int_equal(event.leave.stack->stack_bytes, 8);
		assert_int_equal(((const unsigned char *)event.leave.stack->stack)[7], 0xab);
		next(&opened, GT_EVENT_SWITCH_OUT, 7, 15 + 10 * i, &event);
		assert_int_equal(event.on_off.cpu, 1);
	}
	check_end(&opened);
}

static void put_waking(struct builder *builder, uint32_t tid, uint64_t time_ns)
{
	uint32_t rest[] = {12, 0, 0, tid};

	/* By somebody who is none of the threads. */
	builder_state_sample(builder, BUILDER_WAKING, 0, 1, time_ns, rest, sizeof(rest));
}

/* They are in rings of their own, with the same numbers: what is lost there are no switches. */
static void test_wakeups(void **state)
{
	_cleanup_(builder_clear) struct builder builder;
	_cleanup_(close_source) struct opened opened = {0};
	uint64_t lost[] = {1, 5}, counted = 8;
	struct gt_event event;

	(void)state;
	builder_init(&builder);
	builder.has_states = true;
	builder_record_of(&builder, BUILDER_DUMMY, 0, PERF_RECORD_SWITCH, 0, "", 0, 7, 10);
	put_waking(&builder, 7, 20);
	put_waking(&builder, 0, 25);
	builder_record_of(&builder, BUILDER_WAKING, 0, PERF_RECORD_LOST, 0, lost, sizeof(lost), 1,
			  30);
	builder_record_of(&builder, BUILDER_SWITCH, 0, PERF_RECORD_LOST, 0, lost, sizeof(lost), 1,
			  40);
	builder_record_of(&builder, BUILDER_WAKING, 1, PERF_RECORD_LOST_SAMPLES, 0, &counted,
			  sizeof(counted), 0, 0);
	open_source(&builder, GT_PERF_WANTS_SWITCHES, &opened);
	next(&opened, GT_EVENT_SWITCH_IN, 7, 10, &event);
	assert_int_equal(event.on_off.cpu, 0);
	next(&opened, GT_EVENT_WAKEUP, 7, 20, &event);
	assert_int_equal(event.pid, 0);
	next(&opened, GT_EVENT_WAKEUPS_LOST, 1, 30, &event);
	assert_int_equal(event.gap.count, 5);
	next(&opened, GT_EVENT_SWITCHES_LOST, 1, 40, &event);
	assert_int_equal(event.gap.since_ns, 10);
	assert_int_equal(event.gap.count, 5);
	next(&opened, GT_EVENT_WAKEUPS_LOST, 0, 40, &event);
	assert_int_equal(event.gap.count, 3);
	check_end(&opened);
}

/* They may be in rings of their own, with the same numbers: that these go on says nothing. */
static void test_counters_are_no_end_of_a_gap(void **state)
{
	uint64_t counted[] = {(uint64_t)7 << 32 | BUILDER_PID, 300, 1000, 500, 1}, lost[] = {1, 5};
	_cleanup_(builder_clear) struct builder builder;
	_cleanup_(close_source) struct opened opened = {0};
	struct gt_event event;

	(void)state;
	builder_init(&builder);
	builder.has_states = true;
	builder_record_of(&builder, BUILDER_DUMMY, 0, PERF_RECORD_SWITCH, 0, "", 0, 7, 10);
	builder_record_of(&builder, BUILDER_COUNTER, 0, PERF_RECORD_READ, 0, counted,
			  sizeof(counted), 7, 50);
	builder_record_of(&builder, BUILDER_SWITCH, 0, PERF_RECORD_LOST, 0, lost, sizeof(lost), 1,
			  60);
	open_source(&builder, GT_PERF_WANTS_SWITCHES, &opened);
	next(&opened, GT_EVENT_SWITCH_IN, 7, 10, &event);
	next(&opened, GT_EVENT_COUNT, 7, 50, &event);
	next(&opened, GT_EVENT_SWITCHES_LOST, 1, 60, &event);
	assert_int_equal(event.gap.since_ns, 10);
	check_end(&opened);
}

/* All events of the whole system share its rings: any may have been lost. */
static void test_losses_of_the_whole_system(void **state)
{
	_cleanup_(builder_clear) struct builder builder;
	_cleanup_(close_source) struct opened opened = {0};
	uint64_t lost[] = {1, 5};
	struct gt_event event;

	(void)state;
	builder_init(&builder);
	builder.has_states = builder.is_of_all = true;
	put_waking(&builder, 7, 20);
	builder_record_of(&builder, BUILDER_WAKING, 0, PERF_RECORD_LOST, 0, lost, sizeof(lost), 1,
			  30);
	open_source(&builder, GT_PERF_WANTS_SWITCHES, &opened);
	next(&opened, GT_EVENT_WAKEUP, 7, 20, &event);
	next(&opened, GT_EVENT_SWITCHES_LOST, 1, 30, &event);
	assert_int_equal(event.gap.since_ns, 20);
	assert_int_equal(event.gap.count, 5);
	check_end(&opened);
}

static void put_rss(struct builder *builder, uint64_t time_ns, uint32_t current, uint32_t member,
		    int64_t bytes)
{
	struct __attribute__((packed)) {
		uint32_t raw_size, common[2], current, member;
		int64_t bytes;
		uint32_t filling;
	} rest = {.raw_size = 28, .current = current, .member = member, .bytes = bytes};

	builder_state_sample(builder, BUILDER_RSS_STAT, 0, 7, time_ns, &rest, sizeof(rest));
}

static void test_memory_and_counters(void **state)
{
	uint64_t counted[] = {(uint64_t)7 << 32 | BUILDER_PID, 300, 1000, 500, 1};
	_cleanup_(builder_clear) struct builder builder;
	_cleanup_(close_source) struct opened opened = {0};
	struct gt_event event;

	(void)state;
	builder_init(&builder);
	builder.has_states = true;
	put_rss(&builder, 10, 1, 1, 4096);
	put_rss(&builder, 20, 0, 1, 8192); /* another process's */
	put_rss(&builder, 30, 1, 2, 8192); /* swapped out */
	put_rss(&builder, 40, 1, 3, -4096);
	put_rss(&builder, 45, 1, 9, 4096);
	builder_record_of(&builder, BUILDER_COUNTER, 0, PERF_RECORD_READ, 0, counted,
			  sizeof(counted), 7, 50);
	/* Of an event that is none of the counters. */
	builder_record_of(&builder, BUILDER_SWITCH, 0, PERF_RECORD_READ, 0, counted,
			  2 * sizeof(uint64_t), 7, 60);
	open_source(&builder, GT_PERF_WANTS_SWITCHES, &opened);
	next(&opened, GT_EVENT_MEMORY, 7, 10, &event);
	assert_int_equal(event.memory.kind, 1);
	assert_int_equal(event.memory.bytes, 4096);
	next(&opened, GT_EVENT_MEMORY, 7, 40, &event);
	assert_int_equal(event.memory.kind, 3);
	assert_int_equal(event.memory.bytes, 0);
	next(&opened, GT_EVENT_COUNT, 7, 50, &event);
	assert_int_equal(event.pid, BUILDER_PID);
	assert_int_equal(event.count.value, 300);
	assert_int_equal(event.count.enabled_ns, 1000);
	assert_int_equal(event.count.running_ns, 500);
	assert_non_null(event.count.counter);
	check_end(&opened);
}

/* Who asks for other things of the file gets none of them. */
static void test_states_are_not_asked_for(void **state)
{
	_cleanup_(builder_clear) struct builder builder;
	_cleanup_(close_source) struct opened opened = {0};

	(void)state;
	builder_init(&builder);
	builder.has_states = true;
	put_leave(&builder, 7, 10, 1);
	put_waking(&builder, 7, 20);
	put_rss(&builder, 30, 1, 1, 4096);
	open_source(&builder, GT_PERF_WANTS_TASKS, &opened);
	check_end(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_losses_of_switches),
		cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_wakeups),
		cmocka_unit_test(test_counters_are_no_end_of_a_gap),
		cmocka_unit_test(test_losses_of_the_whole_system),
		cmocka_unit_test(test_memory_and_counters),
		cmocka_unit_test(test_states_are_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
