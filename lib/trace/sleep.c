/* SPDX-License-Identifier: MIT */
#include "trace/sleep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The intervals of KIND, thread by thread. */
static int find_intervals(const struct gt_trace *trace, enum gt_interval_kind kind,
			  struct gt_sleep_waits *ret)
{
	_cleanup_(gt_sleep_waits_clear) struct gt_sleep_waits waits = {.trace = trace};
	uint64_t count = 0;

	waits.next = calloc(trace->threads.count + 1, sizeof(*waits.next));
	waits.end = calloc(trace->threads.count + 1, sizeof(*waits.end));
	if (!waits.next || !waits.end)
		return -ENOMEM;
	gt_array_for_each (&trace->intervals, interval)
		if (interval->kind == kind)
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
		if (trace->intervals.items[i].kind == kind)
			waits.order[waits.end[trace->intervals.items[i].thread]++] = i;
	ret->trace = trace;
	ret->order = GT_STEAL(waits.order);
	ret->next = GT_STEAL(waits.next);
	ret->end = GT_STEAL(waits.end);
	return 0;
}

int gt_sleep_waits_find(const struct gt_trace *trace, struct gt_sleep_waits *ret)
{
	return find_intervals(trace, GT_INTERVAL_WAIT, ret);
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

/*
 * A sleep is at one place, and so either in a wait or not. Where the two overlap in part, moments
 * were missed, and there is nothing to compare with.
 */
static bool is_clear(uint64_t waited_ns, uint64_t ns)
{
	return waited_ns < ns / 10 || waited_ns > ns - ns / 10;
}

static void explain(struct gt_trace *trace, struct gt_state_interval *state, uint64_t waited_ns)
{
	uint64_t ns = state->end_ns - state->start_ns;
	bool waited = waited_ns > ns / 2;

	if (state->stack != GT_STACK_NONE && is_clear(waited_ns, ns)) {
		trace->sleeps_compared++;
		trace->sleeps_disagreed += waited != (state->reason == GT_SLEEP_GIL);
	}
	if (waited)
		state->reason = GT_SLEEP_GIL;
	else if (state->reason == GT_SLEEP_GIL)
		state->reason = GT_SLEEP_FUTEX;
}

/* Whether the four moments tell of THREAD at all. */
static bool is_watched(const struct gt_trace *trace, uint32_t thread)
{
	return trace->processes.items[trace->threads.items[thread].process].gil_events > 0;
}

int gt_sleep_explain(struct gt_trace *trace)
{
	_cleanup_(gt_sleep_waits_clear) struct gt_sleep_waits waits = {0}, gaps = {0};
	int r;

	if (trace->without_gil)
		return 0;
	r = find_intervals(trace, GT_INTERVAL_WAIT, &waits);
	if (r == 0)
		r = find_intervals(trace, GT_INTERVAL_UNKNOWN, &gaps);
	if (r < 0)
		return r;
	gt_array_for_each (&trace->states, state) {
		uint64_t waited_ns, unknown_ns;

		if (state->kind != GT_STATE_SLEEPING || !is_watched(trace, state->thread))
			continue;
		waited_ns =
			gt_sleep_waited_ns(&waits, state->thread, state->start_ns, state->end_ns);
		unknown_ns =
			gt_sleep_waited_ns(&gaps, state->thread, state->start_ns, state->end_ns);
		if (unknown_ns == 0)
			explain(trace, state, waited_ns);
		else if (waited_ns > (state->end_ns - state->start_ns) / 2)
			state->reason = GT_SLEEP_GIL;
	}
	return 0;
}

const char *gt_state_name(const struct gt_state_interval *state, char text[GT_STATE_NAME_SIZE])
{
	const char *reason = gt_sleep_reason_name((enum gt_sleep_reason)state->reason);
	const char *letter = state->kind == GT_STATE_UNINTERRUPTIBLE ? "D" : "S";

	switch ((enum gt_state_kind)state->kind) {
	case GT_STATE_RUNNABLE:
		return "R";
	case GT_STATE_UNKNOWN:
		return "state unknown";
	case GT_STATE_RUNNING:
		return NULL;
	case GT_STATE_SLEEPING:
	case GT_STATE_UNINTERRUPTIBLE:
		break;
	}
	if (!reason)
		return letter;
	snprintf(text, GT_STATE_NAME_SIZE, "%s(%s)", letter, reason);
	return text;
}
