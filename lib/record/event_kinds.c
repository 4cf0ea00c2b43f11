/* SPDX-License-Identifier: MIT */
#include "record/event_kinds.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "record/pass.h"

const char *gt_event_kind_name(enum gt_event_kind kind)
{
	static const char *const names[GT_EVENT_KINDS] = {
		[GT_EVENT_KIND_CONTEXT_SWITCH] = "context_switch",
		[GT_EVENT_KIND_CPU_CLOCK] = "cpu_clock",
		[GT_EVENT_KIND_SCHED_SWITCH] = "sched_switch",
		[GT_EVENT_KIND_CYCLES] = "cycles",
	};

	return names[kind];
}

static bool find_sched_switch(const char *tracefs, struct perf_event_attr *attr)
{
	_cleanup_free_ char *path = NULL, *text = NULL;

	if (!tracefs)
		return false;
	path = gt_format("%s/events/sched/sched_switch/id", tracefs);
	if (!path || gt_read_file(path, 64, &text, NULL) < 0)
		return false;
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = strtoull(text, NULL, 10);
	attr->sample_type = PERF_SAMPLE_RAW;
	attr->exclude_kernel = 0;
	return true;
}

static int try_attr(struct perf_event_attr *attr)
{
	long fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

int gt_event_kind_try_counter(const struct gt_pass_counter *counter)
{
	struct perf_event_attr attr = {
		.type = counter->type,
		.config = counter->config,
		.size = sizeof(attr),
		.disabled = 1,
		.exclude_kernel = counter->user_only,
		.exclude_hv = counter->user_only,
	};

	return try_attr(&attr);
}

int gt_event_kind_try(enum gt_event_kind kind, const char *tracefs)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	switch (kind) {
	case GT_EVENT_KIND_CONTEXT_SWITCH:
		attr.config = PERF_COUNT_SW_DUMMY;
		attr.context_switch = 1;
		break;
	case GT_EVENT_KIND_CPU_CLOCK:
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		break;
	case GT_EVENT_KIND_SCHED_SWITCH:
		if (!find_sched_switch(tracefs, &attr))
			return -ENOENT;
		break;
	default:
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_CPU_CYCLES;
		break;
	}
	return try_attr(&attr);
}
