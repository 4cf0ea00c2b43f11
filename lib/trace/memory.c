/* SPDX-License-Identifier: MIT */
/*
 * Resident memory over time. The kernel tells of each kind of pages when it has changed, which can
 * be for every page. So that no million points arise, a process has two points in a millisecond at
 * the most: the last one, which holds until the next one comes, and the largest before it.
 */
#include <errno.h>

#include "trace/machine.h"

#define SPAN_NS UINT64_C(1000000)

static int write_point(struct gt_trace *trace, const struct gt_memory_point *from)
{
	struct gt_memory_point *point = gt_array_push(&trace->memory);

	if (!point)
		return -ENOMEM;
	*point = *from;
	return 0;
}

static int end_span(struct gt_trace *trace, struct gt_memory_state *state)
{
	int r = state->has_largest ? write_point(trace, &state->largest) : 0;

	if (r >= 0 && state->has_last)
		r = write_point(trace, &state->last);
	state->has_last = state->has_largest = false;
	return r;
}

int gt_memory_event(struct gt_trace *trace, uint32_t process, const struct gt_event *event)
{
	struct gt_memory_state *state = &trace->machine->processes.items[process].memory;
	uint64_t *max_bytes = &trace->processes.items[process].resident_max_bytes;
	struct gt_memory_point point = {
		.time_ns = event->time_ns,
		.process = process,
	};
	int r = 0;

	if (event->memory.kind >= GT_MEMORY_KINDS)
		return 0;
	state->bytes[event->memory.kind] = event->memory.bytes;
	for (uint32_t kind = 0; kind < GT_MEMORY_KINDS; kind++)
		point.resident_bytes += state->bytes[kind];
	*max_bytes = GT_MAX(*max_bytes, point.resident_bytes);
	if (!state->has_last || event->time_ns >= state->start_ns + SPAN_NS) {
		r = end_span(trace, state);
		state->start_ns = event->time_ns;
	} else if (!state->has_largest ||
		   state->last.resident_bytes >= state->largest.resident_bytes) {
		state->largest = state->last;
		state->has_largest = true;
	}
	/* A larger one at the end is the largest by itself. */
	if (state->has_largest && point.resident_bytes >= state->largest.resident_bytes)
		state->has_largest = false;
	state->last = point;
	state->has_last = true;
	return r;
}

void gt_memory_fork(struct gt_trace *trace, uint32_t parent, uint32_t child)
{
	const uint64_t *from = trace->machine->processes.items[parent].memory.bytes;
	uint64_t *to = trace->machine->processes.items[child].memory.bytes;

	for (uint32_t kind = 0; kind < GT_MEMORY_KINDS; kind++)
		to[kind] = from[kind];
}

void gt_memory_exec(struct gt_trace *trace, uint32_t process)
{
	uint64_t *bytes = trace->machine->processes.items[process].memory.bytes;

	for (uint32_t kind = 0; kind < GT_MEMORY_KINDS; kind++)
		bytes[kind] = 0;
}

static int by_time(const void *left, const void *right)
{
	const struct gt_memory_point *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->process > b->process) - (a->process < b->process);
}

/* The kernel does not tell that a process gives all back at its end. */
static int write_end(struct gt_trace *trace, uint32_t index)
{
	const struct gt_process *process = &trace->processes.items[index];

	if (process->resident_max_bytes == 0 || process->end_ns >= trace->end_ns)
		return 0;
	return write_point(trace,
			   &(struct gt_memory_point){.time_ns = process->end_ns, .process = index});
}

int gt_memory_finish(struct gt_trace *trace)
{
	for (uint32_t i = 0; i < trace->machine->processes.count; i++) {
		int r = end_span(trace, &trace->machine->processes.items[i].memory);

		if (r == 0)
			r = write_end(trace, i);
		if (r < 0)
			return r;
	}
	if (trace->memory.count > 0)
		qsort(trace->memory.items, trace->memory.count, sizeof(*trace->memory.items),
		      by_time);
	return 0;
}
