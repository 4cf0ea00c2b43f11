/* SPDX-License-Identifier: MIT */
/*
 * The scheduler machine: turns the context switches of each thread into intervals.
 *
 *     running   switched in → switched out
 *     runnable  birth → the first time on a CPU; preempted → switched in
 *     sleeping  switched out of its own will → switched in
 *
 * A context switch tells who leaves a CPU and who gets it, and nothing in between: a sleeper that
 * has been woken and waits for a CPU counts as sleeping until it runs, and a sleep for the disk
 * looks like any other.
 *
 * As in gil.c each thread has a cursor up to which its intervals are written, so that they never
 * overlap or leave a gap, whatever comes. It runs whether states are recorded or not, because only
 * the first context switch shows that they are; without any, what it wrote goes away at the end.
 */
#include <errno.h>

#include "trace/machine.h"
#include "trace/sleep.h"

static int write_state(struct gt_trace *trace, uint32_t thread, enum gt_state_kind kind,
		       uint64_t end_ns)
{
	struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];
	struct gt_state_interval *interval;

	if (end_ns <= state->cursor_ns)
		return 0;
	interval = gt_array_push(&trace->states);
	if (!interval)
		return -ENOMEM;
	interval->start_ns = state->cursor_ns;
	interval->end_ns = end_ns;
	interval->thread = thread;
	interval->kind = (uint8_t)kind;
	interval->preempted = kind == GT_STATE_RUNNABLE && state->preempted;
	state->cursor_ns = end_ns;
	return 0;
}

/* Writes BEFORE up to TIME_NS, where KIND begins. */
static int go_to(struct gt_trace *trace, uint32_t thread, uint64_t time_ns,
		 enum gt_state_kind before, enum gt_state_kind kind, bool preempted)
{
	struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];
	int r = write_state(trace, thread, before, time_ns);

	state->kind = kind;
	state->preempted = preempted;
	state->is_watched = false;
	state->told_ns = GT_MAX(state->told_ns, time_ns);
	return r;
}

int gt_scheduler_add(struct gt_trace *trace)
{
	struct gt_scheduler_state *state = gt_array_push(&trace->machine->schedules);

	if (!state)
		return -ENOMEM;
	state->cursor_ns = trace->machine->now_ns;
	state->kind = GT_STATE_UNKNOWN;
	return 0;
}

void gt_scheduler_begin(struct gt_trace *trace, uint64_t time_ns)
{
	gt_array_for_each (&trace->machine->schedules, state)
		state->cursor_ns = time_ns;
}

void gt_scheduler_fork(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	if (time_ns > 0)
		trace->machine->schedules.items[thread].kind = GT_STATE_RUNNABLE;
}

int gt_scheduler_exec(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	const struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];

	if (state->kind == GT_STATE_RUNNING || time_ns < state->told_ns)
		return 0;
	/* It runs, and nobody has told since when. */
	return go_to(trace, thread, time_ns, GT_STATE_UNKNOWN, GT_STATE_RUNNING, false);
}

int gt_scheduler_event(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	const struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];
	enum gt_state_kind before = state->kind, next = GT_STATE_RUNNING;

	trace->has_states = true;
	/* A late record tells of what a newer one has ended already. */
	if (event->time_ns < state->told_ns)
		return 0;
	if (event->type == GT_EVENT_SWITCH_IN) {
		/* It must have left the CPU unseen. */
		if (before == GT_STATE_RUNNING)
			before = GT_STATE_UNKNOWN;
		return go_to(trace, thread, event->time_ns, before, next, false);
	}
	/* Who leaves a CPU had one: since when, is known only if no switch can be missing. */
	if (before != GT_STATE_RUNNING)
		before = state->is_watched ? GT_STATE_RUNNING : GT_STATE_UNKNOWN;
	next = event->on_off.preempted ? GT_STATE_RUNNABLE : GT_STATE_SLEEPING;
	return go_to(trace, thread, event->time_ns, before, next, event->on_off.preempted);
}

uint64_t gt_scheduler_cursor(const struct gt_trace *trace, uint32_t thread)
{
	return trace->machine->schedules.items[thread].cursor_ns;
}

int gt_scheduler_end(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	enum gt_state_kind kind = trace->machine->schedules.items[thread].kind;

	return go_to(trace, thread, time_ns, kind, GT_STATE_UNKNOWN, false);
}

int gt_scheduler_loss(struct gt_trace *trace, const struct gt_event *event)
{
	struct gt_machine *machine = trace->machine;
	uint64_t start_ns = GT_MAX(event->gap.since_ns, trace->start_ns);
	uint64_t end_ns = event->time_ns;
	struct gt_loss *loss;

	trace->has_states = true;
	trace->state_lost += event->gap.count;
	/* Kept in order and apart from one another: losses are told in the order of their ends. */
	while (machine->state_losses.count > 0) {
		loss = &machine->state_losses.items[machine->state_losses.count - 1];
		if (loss->end_ns < start_ns)
			break;
		start_ns = GT_MIN(start_ns, loss->start_ns);
		end_ns = GT_MAX(end_ns, loss->end_ns);
		machine->state_losses.count--;
	}
	loss = gt_array_push(&machine->state_losses);
	if (!loss)
		return -ENOMEM;
	loss->start_ns = start_ns;
	loss->end_ns = end_ns;

	for (uint32_t i = 0; i < machine->schedules.count; i++) {
		struct gt_scheduler_state *state = &machine->schedules.items[i];
		int r;

		if (!machine->threads.items[i].alive || state->told_ns > end_ns)
			continue;
		r = go_to(trace, i, end_ns, state->kind, GT_STATE_UNKNOWN, false);
		if (r < 0)
			return r;
		/* Behind the gap nothing is missing: the next switch tells what it did. */
		state->is_watched = true;
	}
	return 0;
}

/* Makes unknown what the losses cover, which is known only after the fact. */
static int apply_losses(struct gt_trace *trace)
{
	const struct gt_machine *machine = trace->machine;
	__typeof__(trace->states) cut = {0};
	_cleanup_free_ uint32_t *next = NULL; /* of each thread: the first loss not behind it */

	if (machine->state_losses.count == 0)
		return 0;
	next = calloc(trace->threads.count + 1, sizeof(*next));
	if (!next)
		return -ENOMEM;
	gt_array_for_each (&trace->states, whole) {
		struct gt_state_interval rest = *whole;
		uint32_t *i = &next[rest.thread];

		while (rest.start_ns < rest.end_ns) {
			const struct gt_loss *loss = *i < machine->state_losses.count
							     ? &machine->state_losses.items[*i]
							     : NULL;
			struct gt_state_interval *piece;

			if (loss && loss->end_ns <= rest.start_ns) {
				++*i;
				continue;
			}
			piece = gt_array_push(&cut);
			if (!piece) {
				gt_array_clear(&cut);
				return -ENOMEM;
			}
			*piece = rest;
			if (loss && loss->start_ns <= rest.start_ns) {
				piece->kind = GT_STATE_UNKNOWN;
				piece->preempted = false;
				piece->end_ns = GT_MIN(rest.end_ns, loss->end_ns);
			} else if (loss) {
				piece->end_ns = GT_MIN(rest.end_ns, loss->start_ns);
			}
			rest.start_ns = piece->end_ns;
		}
	}
	gt_array_clear(&trace->states);
	trace->states.items = cut.items;
	trace->states.count = cut.count;
	trace->states.capacity = cut.capacity;
	return 0;
}

int gt_scheduler_finish(struct gt_trace *trace)
{
	int r;

	if (!trace->has_states) {
		gt_array_clear(&trace->states);
		return 0;
	}
	r = apply_losses(trace);
	if (r < 0)
		return r;
	return gt_sleep_explain(trace);
}
