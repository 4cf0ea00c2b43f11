/* SPDX-License-Identifier: MIT */
/* What the kernel is asked to record, event by event. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct gt_pass_counter;
struct gt_pass_spec;
struct gt_pass_tracepoint;

/* An event that never happens, which brings the records of tasks, names and mappings. */
struct perf_event_attr gt_event_attr_of_tasks(const struct gt_pass_spec *spec);

/* Logs why it is not to be had: -ENOENT, -EACCES …, -EINVAL for a stack that no sample can hold. */
int gt_event_attr_of_tracepoint(const struct gt_pass_spec *spec,
				const struct gt_pass_tracepoint *tracepoint,
				struct perf_event_attr *ret);

/* TRACEPOINT, whoever meets it. Has to be enabled. The same errors. */
int gt_event_attr_of_all_tasks(const struct gt_pass_spec *spec,
			       const struct gt_pass_tracepoint *tracepoint,
			       struct perf_event_attr *ret);

struct perf_event_attr gt_event_attr_of_counter(const struct gt_pass_spec *spec,
						const struct gt_pass_counter *counter);

/* Where the samples of these events have their thread and time, in bytes from their start. */
uint32_t gt_event_attr_ids_offset(const struct perf_event_attr *attr);

/* Takes what this kernel does not know out of ATTR, one thing at a time. False when all is out. */
bool gt_event_attr_simplify(struct perf_event_attr *attr);
