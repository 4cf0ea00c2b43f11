/* SPDX-License-Identifier: MIT */
#include "render/page_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/time.h"
#include "render/columns.h"

int gt_page_memory_make(const struct gt_report *report, struct gt_page_memory *ret)
{
	const struct gt_trace *trace = report->trace;

	ret->trace = trace;
	ret->ends = calloc((size_t)trace->processes.count + 1, sizeof(uint32_t));
	ret->order = calloc((size_t)trace->memory.count + 1, sizeof(uint32_t));
	if (!ret->ends || !ret->order)
		return -ENOMEM;
	gt_array_for_each (&trace->memory, point)
		ret->ends[point->process] += gt_report_shows_process(report, point->process);
	for (uint32_t i = 0; i < trace->processes.count; i++) {
		uint32_t points = ret->ends[i];

		ret->ends[i] = ret->count;
		ret->count += points;
	}
	for (uint32_t i = 0; i < trace->memory.count; i++) {
		uint32_t process = trace->memory.items[i].process;

		if (gt_report_shows_process(report, process))
			ret->order[ret->ends[process]++] = i;
	}
	return 0;
}

void gt_page_memory_clear(struct gt_page_memory *memory)
{
	free(memory->ends);
	free(memory->order);
}

void gt_page_memory_describe(const struct gt_page_memory *memory, const uint32_t *places,
			     json_t **page)
{
	json_t *list = json_array();
	uint32_t first = 0;

	for (uint32_t i = 0; i < memory->trace->processes.count; i++) {
		if (memory->ends[i] > first)
			gt_json_append(&list,
				       json_pack("{s:I, s:I}", "process", (json_int_t)places[i],
						 "points", (json_int_t)memory->ends[i] - first));
		first = memory->ends[i];
	}
	if (memory->count > 0)
		gt_json_set(page, "memory", list);
	else
		json_decref(list);
}

static int write_column(const struct gt_page_memory *memory, bool is_gap, const char *name,
			struct gt_sink *sink)
{
	_cleanup_(gt_column_closep) struct gt_column *column = gt_column_open(sink, name);
	uint32_t process = GT_NONE;
	uint64_t before_ns = 0;

	if (!column)
		return -ENOMEM;
	for (uint32_t i = 0; i < memory->count; i++) {
		const struct gt_memory_point *point =
			&memory->trace->memory.items[memory->order[i]];

		if (point->process != process) {
			process = point->process;
			before_ns = memory->trace->start_ns;
		}
		gt_column_put(column, is_gap ? gt_ns_since(point->time_ns, before_ns)
					     : point->resident_bytes);
		before_ns = GT_MAX(before_ns, point->time_ns);
	}
	return 0;
}

int gt_page_memory_write(const struct gt_page_memory *memory, struct gt_sink *sink)
{
	int r;

	if (memory->count == 0)
		return 0;
	r = write_column(memory, true, "memory-gap", sink);
	return r < 0 ? r : write_column(memory, false, "memory-bytes", sink);
}
