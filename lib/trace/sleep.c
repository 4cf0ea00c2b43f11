/* SPDX-License-Identifier: MIT */
#include "trace/sleep.h"

#include <errno.h>
#include <stdlib.h>

int gt_sleep_waits_find(const struct gt_trace *trace, struct gt_sleep_waits *ret)
{
	_cleanup_(gt_sleep_waits_clear) struct gt_sleep_waits waits = {.trace = trace};
	uint64_t count = 0;

	waits.next = calloc(trace->threads.count + 1, sizeof(*waits.next));
	waits.end = calloc(trace->threads.count + 1, sizeof(*waits.end));
	if (!waits.next || !waits.end)
		return -ENOMEM;
	gt_array_for_each (&trace->intervals, interval)
		if (interval->kind == GT_INTERVAL_WAIT)
			waits.end[interval->thread]++;
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		waits.next[i] = count;
		count += waits.end[i];
		waits.end[i] = waits.next[i];
	}
	waits.order = calloc(count + 1, sizeof(*waits.order));
	if (!waits.order)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->intervals.count; i++)
		if (trace->intervals.items[i].kind == GT_INTERVAL_WAIT)
			waits.order[waits.end[trace->intervals.items[i].thread]++] = i;
	ret->trace = trace;
	ret->order = GT_STEAL(waits.order);
	ret->next = GT_STEAL(waits.next);
	ret->end = GT_STEAL(waits.end);
	return 0;
}

void gt_sleep_waits_clear(struct gt_sleep_waits *waits)
{
	free(waits->order);
	free(waits->next);
	free(waits->end);
	*waits = (struct gt_sleep_waits){0};
}

uint64_t gt_sleep_waited_ns(struct gt_sleep_waits *waits, uint32_t thread, uint64_t start_ns,
			    uint64_t end_ns)
{
	uint64_t *next = &waits->next[thread], ns = 0;

	for (; *next < waits->end[thread]; ++*next) {
		const struct gt_interval *wait =
			&waits->trace->intervals.items[waits->order[*next]];
		uint64_t from_ns = GT_MAX(wait->start_ns, start_ns);
		uint64_t to_ns = GT_MIN(wait->end_ns, end_ns);

		if (from_ns < to_ns)
			ns += to_ns - from_ns;
		/* It goes on behind the time that was asked for, or begins there. */
		if (wait->end_ns > end_ns)
			break;
	}
	return ns;
}

int gt_sleep_explain(struct gt_trace *trace)
{
	_cleanup_(gt_sleep_waits_clear) struct gt_sleep_waits waits = {0};
	int r;

	r = gt_sleep_waits_find(trace, &waits);
	if (r < 0)
		return r;
	gt_array_for_each (&trace->states, state) {
		uint64_t ns = state->end_ns - state->start_ns;

		if (state->kind == GT_STATE_SLEEPING &&
		    gt_sleep_waited_ns(&waits, state->thread, state->start_ns, state->end_ns) >
			    ns / 2)
			state->reason = GT_SLEEP_GIL;
	}
	return 0;
}
