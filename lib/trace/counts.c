/* SPDX-License-Identifier: MIT */
/*
 * What threads have counted: a counter of a thread is one for each CPU, and each part is told by
 * itself when the thread ends. Hardware has few counters. Where there are more to be read, the
 * kernel lets each have a share of the time, and what it has counted stands for all of it.
 */
#include <errno.h>
#include <string.h>

#include "trace/machine.h"

/* Times of several CPUs do not fit one another to the nanosecond. */
#define TOLERANCE 128

/* GT_COUNTERS_MAX when there are too many. */
static int find_counter(struct gt_trace *trace, const char *name, uint32_t *ret)
{
	uint32_t counter = 0;

	while (counter < trace->counter_count && strcmp(trace->counters[counter], name) != 0)
		counter++;
	*ret = counter;
	if (counter < trace->counter_count || counter == GT_COUNTERS_MAX)
		return 0;
	trace->counters[counter] = strdup(name);
	if (!trace->counters[counter])
		return -ENOMEM;
	trace->counter_count++;
	return 0;
}

static int find_count(struct gt_machine *machine, uint32_t thread, uint32_t counter,
		      struct gt_count_state **ret)
{
	uint64_t key = (uint64_t)thread << 32 | counter;
	uint32_t index = gt_hash_get(&machine->count_by_thread, key);
	struct gt_count_state *count;

	if (index != GT_HASH_NONE) {
		*ret = &machine->counts.items[index];
		return 0;
	}
	count = gt_array_push(&machine->counts);
	if (!count)
		return -ENOMEM;
	count->thread = thread;
	count->counter = counter;
	*ret = count;
	return gt_hash_set(&machine->count_by_thread, key, machine->counts.count - 1);
}

int gt_count_event(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	struct gt_count_state *count;
	uint32_t counter;
	int r = find_counter(trace, event->count.counter, &counter);

	if (r < 0 || counter == GT_COUNTERS_MAX)
		return r;
	/* The part of a CPU that the thread was never on, or one that never had its turn. */
	if (event->count.running_ns == 0 && event->count.enabled_ns > 0 && event->count.value == 0)
		return 0;
	r = find_count(trace->machine, thread, counter, &count);
	if (r < 0)
		return r;
	count->value += event->count.value;
	count->running_ns += event->count.running_ns;
	count->enabled_ns = GT_MAX(count->enabled_ns, event->count.enabled_ns);
	return 0;
}

void gt_count_add(struct gt_trace *trace, uint32_t thread)
{
	for (uint32_t i = 0; i < GT_COUNTERS_MAX; i++)
		trace->threads.items[thread].counts[i] = -1;
}

void gt_count_finish(struct gt_trace *trace)
{
	gt_array_for_each (&trace->machine->counts, count) {
		double value = (double)count->value;

		if (count->running_ns > 0 &&
		    count->running_ns + count->enabled_ns / TOLERANCE < count->enabled_ns)
			value *= (double)count->enabled_ns / (double)count->running_ns;
		trace->threads.items[count->thread].counts[count->counter] = value;
	}
}
