/* SPDX-License-Identifier: MIT */
#include "trace/perf_states.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

/* In prev_state of sched_switch, as include/trace/events/sched.h of the kernel has them. */
#define STATE_UNINTERRUPTIBLE 0x02u
#define STATE_STOPPED 0x04u
#define STATE_TRACED 0x08u

enum kind {
	KIND_NONE,
	KIND_LEAVE,
	KIND_WAKEUP,
	KIND_MEMORY,
	KIND_COUNTER,
};

/* No event needs more of its fields. */
#define MAX_FIELDS 3

struct gt_perf_state_meaning {
	enum kind kind;
	bool has_own_rings;
	struct gt_perf_field fields[MAX_FIELDS];
};

enum { MEMORY_CURRENT, MEMORY_KIND, MEMORY_BYTES };

static const struct {
	const char *system, *name;
	enum kind kind;
	const char *fields[MAX_FIELDS];
} tracepoints[] = {
	{"sched", "sched_switch", KIND_LEAVE, {"prev_state"}},
	{"sched", "sched_waking", KIND_WAKEUP, {"pid"}},
	{"kmem",
	 "rss_stat",
	 KIND_MEMORY,
	 {[MEMORY_CURRENT] = "curr", [MEMORY_KIND] = "member", [MEMORY_BYTES] = "size"}},
};

static bool is_event(const struct gt_perf_event *event, size_t which)
{
	return event->system && strcmp(event->system, tracepoints[which].system) == 0 &&
	       event->name && strcmp(event->name, tracepoints[which].name) == 0 &&
	       (event->attr->sample_type & PERF_SAMPLE_TIME) &&
	       (event->attr->sample_type & PERF_SAMPLE_TID);
}

static bool any_is_inherited(const struct gt_perf_states *states)
{
	for (uint32_t i = 0; i < states->count; i++)
		if (gt_perfdata_event(states->perfdata, i)->attr->inherit)
			return true;
	return false;
}

/* The first such event: the same moment recorded twice would be two. */
static int find_tracepoint(struct gt_perf_states *states, size_t which)
{
	for (uint32_t i = 0; i < states->count; i++) {
		const struct gt_perf_event *event = gt_perfdata_event(states->perfdata, i);
		struct gt_perf_state_meaning *meaning = &states->meanings[i];
		size_t found = 0;

		if (!is_event(event, which))
			continue;
		while (found < MAX_FIELDS && tracepoints[which].fields[found]) {
			int r = gt_perfdata_find_field(states->perfdata, i,
						       tracepoints[which].fields[found],
						       &meaning->fields[found]);

			if (r == -ENOMEM)
				return r;
			if (r < 0)
				return 0;
			found++;
		}
		meaning->kind = tracepoints[which].kind;
		/* Events of a program and all that it starts share rings, and so do those of the
		 * whole system; but not these with those. */
		meaning->has_own_rings = meaning->kind == KIND_WAKEUP && !event->attr->inherit &&
					 any_is_inherited(states);
		return 0;
	}
	return 0;
}

static void find_counters(struct gt_perf_states *states)
{
	for (uint32_t i = 0; i < states->count; i++) {
		const struct gt_perf_event *event = gt_perfdata_event(states->perfdata, i);

		if (event->name && event->attr->type != PERF_TYPE_TRACEPOINT)
			states->meanings[i].kind = KIND_COUNTER;
	}
}

int gt_perf_states_find(struct gt_perfdata *perfdata, struct gt_perf_states *ret)
{
	struct gt_perf_states states = {.perfdata = perfdata,
					.count = gt_perfdata_event_count(perfdata)};
	int r = 0;

	states.meanings = calloc(states.count + 1, sizeof(*states.meanings));
	if (!states.meanings)
		return -ENOMEM;
	find_counters(&states);
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints) && r == 0; i++)
		r = find_tracepoint(&states, i);
	if (r < 0) {
		gt_perf_states_clear(&states);
		return r;
	}
	*ret = states;
	return 0;
}

void gt_perf_states_clear(struct gt_perf_states *states)
{
	free(states->meanings);
	*states = (struct gt_perf_states){0};
}

static bool convert_leave(struct gt_perf_states *states, const struct gt_perf_record *record,
			  uint64_t state, struct gt_event *ret)
{
	states->stack = (struct gt_stack_sample){
		.frames = record->sample.frames,
		.frame_count = record->sample.frame_count,
		.registers = record->sample.registers,
		.register_mask = record->sample.register_mask,
		.stack = record->sample.stack,
		.stack_bytes = record->sample.stack_bytes,
		.is_cut = record->sample.stack_is_cut,
	};
	ret->type = GT_EVENT_LEAVE;
	ret->leave.stack = &states->stack;
	ret->leave.is_uninterruptible = state & STATE_UNINTERRUPTIBLE;
	ret->leave.is_stopped = state & (STATE_STOPPED | STATE_TRACED);
	return true;
}

/* Whose process that is, the waker does not say. */
static bool convert_wakeup(uint64_t tid, struct gt_event *ret)
{
	ret->type = GT_EVENT_WAKEUP;
	ret->pid = 0;
	ret->tid = (uint32_t)tid;
	return ret->tid != 0;
}

/* Of the memory of another process, nothing says whose it is. And what is swapped out, is not here.
 */
static bool convert_memory(const uint64_t values[static MAX_FIELDS], struct gt_event *ret)
{
	static const bool is_resident[GT_MEMORY_KINDS] = {
		[0] = true, [1] = true, [2] = false, [3] = true};
	int64_t bytes = (int64_t)values[MEMORY_BYTES];

	if (values[MEMORY_CURRENT] != 1 || values[MEMORY_KIND] >= GT_MEMORY_KINDS ||
	    !is_resident[values[MEMORY_KIND]])
		return false;
	ret->type = GT_EVENT_MEMORY;
	ret->memory.kind = (uint32_t)values[MEMORY_KIND];
	/* The kernel counts each CPU's part by itself: their sum may fall below for a moment. */
	ret->memory.bytes = bytes < 0 ? 0 : (uint64_t)bytes;
	return true;
}

static bool convert_sample(struct gt_perf_states *states, const struct gt_perf_record *record,
			   struct gt_event *ret)
{
	const struct gt_perf_state_meaning *meaning = &states->meanings[record->event];
	uint64_t values[MAX_FIELDS] = {0};

	if (meaning->kind == KIND_NONE || meaning->kind == KIND_COUNTER)
		return false;
	for (size_t i = 0; i < MAX_FIELDS && meaning->fields[i].size > 0; i++)
		if (!gt_perf_field_read(record, &meaning->fields[i], &values[i]))
			return false;
	switch (meaning->kind) {
	case KIND_LEAVE:
		return convert_leave(states, record, values[0], ret);
	case KIND_WAKEUP:
		return convert_wakeup(values[0], ret);
	default:
		return convert_memory(values, ret);
	}
}

static bool convert_counter(const struct gt_perf_states *states,
			    const struct gt_perf_record *record, struct gt_event *ret)
{
	if (states->meanings[record->event].kind != KIND_COUNTER)
		return false;
	ret->type = GT_EVENT_COUNT;
	ret->count.counter = gt_perfdata_event(states->perfdata, record->event)->name;
	ret->count.value = record->read.value;
	ret->count.enabled_ns = record->read.enabled_ns;
	ret->count.running_ns = record->read.running_ns;
	return true;
}

bool gt_perf_states_convert(struct gt_perf_states *states, const struct gt_perf_record *record,
			    struct gt_event *ret)
{
	if (record->event >= states->count)
		return false;
	if (record->type == PERF_RECORD_SAMPLE)
		return convert_sample(states, record, ret);
	return record->type == PERF_RECORD_READ && convert_counter(states, record, ret);
}

bool gt_perf_states_has_own_rings(const struct gt_perf_states *states, uint32_t event)
{
	return event < states->count && states->meanings[event].has_own_rings;
}
