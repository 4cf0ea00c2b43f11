/* SPDX-License-Identifier: MIT */
/* What becomes of the records of a perf.data file that are no samples. */
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

/* Gives the COUNT events that a file's source tells, and no more. */
static void check_events(struct builder *builder, unsigned int wants,
			 const struct gt_event *expected, size_t count)
{
	_cleanup_close_ int fd = memfd_create("perf.data", MFD_CLOEXEC);
	_cleanup_free_ char *path = gt_format("/proc/self/fd/%d", fd);
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	_cleanup_(gt_perf_source_freep) struct gt_perf_source *source = NULL;
	struct gt_perf_source_spec spec = {.path = "state.perf.data", .wants = wants};
	struct gt_event event;
	size_t size = 0;
	_cleanup_free_ char *file = builder_finish(builder, &size);

	assert_int_equal(gt_write_all(fd, file, size), 0);
	assert_int_equal(gt_perfdata_open(path, &perfdata), 0);
	assert_int_equal(gt_perf_source_new(perfdata, &spec, &source), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_losses_of_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
