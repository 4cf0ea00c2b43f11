/* SPDX-License-Identifier: MIT */
/*
 * Feeds the reader of gil.agent with bytes of libFuzzer, and the model with what it gives. What is
 * looked for is what the sanitizers find, times that go back, and lives with gaps.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agentdata/agentdata.h"
#include "base/io.h"
#include "base/macros.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			__builtin_trap();                                                          \
	} while (0)

static void check_lives(const struct gt_trace *trace)
{
	_cleanup_free_ uint64_t *cursors = calloc(trace->threads.count + 1, sizeof(*cursors));

	CHECK(cursors);
	for (uint32_t i = 0; i < trace->threads.count; i++)
		cursors[i] = trace->threads.items[i].start_ns;
	gt_array_for_each (&trace->intervals, interval) {
		CHECK(interval->start_ns == cursors[interval->thread]);
		CHECK(interval->end_ns > interval->start_ns);
		cursors[interval->thread] = interval->end_ns;
	}
	for (uint32_t i = 0; i < trace->threads.count; i++)
		CHECK(cursors[i] == trace->threads.items[i].end_ns);
}

static void read_file(const char *path, bool gil_events_only)
{
	struct gt_agentdata_spec spec = {.path = path,
					 .gil_file = "/nowhere/libpython3.8.so.1.0",
					 .build_id = "abcd",
					 .gil_events_only = gil_events_only};
	_cleanup_(gt_trace_freep) struct gt_trace *trace = gt_trace_new();
	_cleanup_(gt_agentdata_closep) struct gt_agentdata *data = NULL;
	struct gt_event event;
	uint64_t last_ns = 0;

	CHECK(trace);
	if (gt_agentdata_open(&spec, &data) < 0)
		return;
	trace->takes_are_waits = true;
	while (gt_agentdata_next(data, &event) > 0) {
		CHECK(event.time_ns >= last_ns);
		last_ns = event.time_ns;
		CHECK(gt_trace_feed(trace, &event) == 0);
	}
	CHECK(gt_trace_finish(trace) == 0);
	check_lives(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("gil.agent", MFD_CLOEXEC);
	_cleanup_free_ char *path = gt_format("/proc/self/fd/%d", fd);

	CHECK(fd >= 0 && path);
	CHECK(gt_write_all(fd, bytes, size) == 0);
	read_file(path, false);
	read_file(path, true);
	return 0;
}
