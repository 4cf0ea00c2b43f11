/* SPDX-License-Identifier: MIT */
/*
 * The scheduler machine: turns the context switches of each thread into intervals.
 *
 *     running          switched in → switched out
 *     runnable         birth → the first time on a CPU; preempted → switched in; woken → switched
 * in sleeping         switched out of its own will → woken uninterruptible  the same, when it has
 * said so
 *
 * A context switch tells who leaves a CPU and who gets it, and nothing in between. Where wake-ups
 * are not recorded, or one is lost, a sleeper that has been woken and waits for a CPU counts as
 * sleeping until it runs; where stacks are not, a sleep for the disk looks like any other.
 *
 * With stacks, a thread leaves its CPU in two steps: sched_switch tells from where, and in which
 * state, and the context switch that it has left. What the first said is kept for the second, and
 * for nothing else.
 *
 * As in gil.c each thread has a cursor up to which its intervals are written, so that they never
 * overlap or leave a gap, whatever comes. It runs whether states are recorded or not, because only
 * the first context switch shows that they are; without any, what it wrote goes away at the end.
 */
#include <errno.h>

#include "trace/machine.h"
#include "trace/sleep.h"
#include "unwind/unwinder.h"

static bool is_asleep(enum gt_state_kind kind)
{
	return kind == GT_STATE_SLEEPING || kind == GT_STATE_UNINTERRUPTIBLE;
}

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
	if (is_asleep(kind) || kind == GT_STATE_RUNNABLE)
		interval->stack = state->stack;
	if (is_asleep(kind))
		interval->reason = state->reason;
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
	state->stack = GT_STACK_NONE;
	state->reason = GT_SLEEP_UNEXPLAINED;
	state->leave = (struct gt_leave){0};
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
	state->cpu = GT_EVENT_NO_RING;
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

static void note_cpu(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];

	if (event->on_off.cpu == GT_EVENT_NO_RING)
		return;
	trace->has_cpus = true;
	if (event->type == GT_EVENT_SWITCH_IN && state->cpu != GT_EVENT_NO_RING &&
	    state->cpu != event->on_off.cpu)
		trace->threads.items[thread].migrations++;
	state->cpu = event->on_off.cpu;
}

/* What is next, for a thread that has left its CPU, and said LEAVE before. */
static enum gt_state_kind kind_behind(const struct gt_leave *leave, bool preempted)
{
	/* Whoever woke it may be faster than its own switch. */
	if (preempted || leave->is_woken)
		return GT_STATE_RUNNABLE;
	return leave->is_uninterruptible ? GT_STATE_UNINTERRUPTIBLE : GT_STATE_SLEEPING;
}

/* With the beginning of the trace comes what was before: that is not one of its switches. */
static void count_switch(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	if (event->time_ns <= trace->start_ns)
		return;
	if (event->on_off.preempted)
		trace->threads.items[thread].involuntary_switches++;
	else
		trace->threads.items[thread].voluntary_switches++;
}

static int switch_out(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];
	struct gt_leave leave = state->leave;
	enum gt_state_kind before = state->kind;
	int r;

	/* Who leaves a CPU had one: since when, is known only if no switch can be missing. */
	if (before != GT_STATE_RUNNING)
		before = state->is_watched ? GT_STATE_RUNNING : GT_STATE_UNKNOWN;
	r = go_to(trace, thread, event->time_ns, before,
		  kind_behind(&leave, event->on_off.preempted), event->on_off.preempted);
	state->stack = leave.stack;
	state->reason = leave.reason;
	count_switch(trace, thread, event);
	return r;
}

int gt_scheduler_event(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	const struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];
	enum gt_state_kind before = state->kind;

	trace->has_states = true;
	/* A late record tells of what a newer one has ended already. */
	if (event->time_ns < state->told_ns)
		return 0;
	note_cpu(trace, thread, event);
	if (event->type == GT_EVENT_SWITCH_OUT)
		return switch_out(trace, thread, event);
	/* It must have left the CPU unseen. */
	if (before == GT_STATE_RUNNING)
		before = GT_STATE_UNKNOWN;
	return go_to(trace, thread, event->time_ns, before, GT_STATE_RUNNING, false);
}

/* Of a stack whose reason is not known yet, or depends on more than the stack. */
#define REASON_NOT_KEPT UINT8_MAX

/* Of many samples there are few different stacks, and names are compared only once for each. */
static int find_reason(struct gt_trace *trace, uint32_t stack, const struct gt_stack_sample *sample,
		       uint8_t *ret)
{
	__typeof__(trace->machine->stack_reasons) *kept = &trace->machine->stack_reasons;
	enum gt_sleep_reason reason;

	while (stack >= kept->count) {
		uint8_t *added = gt_array_push(kept);

		if (!added)
			return -ENOMEM;
		*added = REASON_NOT_KEPT;
	}
	if (kept->items[stack] == REASON_NOT_KEPT) {
		reason = gt_sleep_reason_find(gt_unwinder_stacks(trace->unwinder), stack, sample);
		*ret = (uint8_t)reason;
		/* These two may differ by the registers alone. */
		if (reason != GT_SLEEP_POLL && reason != GT_SLEEP_SLEEP)
			kept->items[stack] = (uint8_t)reason;
		return 0;
	}
	*ret = kept->items[stack];
	return 0;
}

/* What ends by a signal is not what an uninterruptible sleep is for: a page was missing there. */
static bool is_for_signals(uint8_t reason)
{
	return reason == GT_SLEEP_GIL || reason == GT_SLEEP_LOCK || reason == GT_SLEEP_FUTEX ||
	       reason == GT_SLEEP_SLEEP || reason == GT_SLEEP_POLL || reason == GT_SLEEP_SIGNAL;
}

int gt_scheduler_leave(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];
	struct gt_leave leave = {.is_told = true,
				 .is_uninterruptible = event->leave.is_uninterruptible};
	int r;

	if (!trace->unwinder || event->time_ns < state->told_ns)
		return 0;
	r = event->leave.stack
		    ? gt_unwinder_unwind(trace->unwinder, trace->threads.items[thread].process,
					 event->leave.stack, &leave.stack)
		    : 0;
	if (r == 0 && leave.stack != GT_STACK_NONE)
		r = find_reason(trace, leave.stack, event->leave.stack, &leave.reason);
	/* What it was called out of does not keep it. */
	if (event->leave.is_stopped && leave.reason != GT_SLEEP_SIGNAL)
		leave.reason = GT_SLEEP_UNEXPLAINED;
	if (leave.is_uninterruptible && is_for_signals(leave.reason))
		leave.reason = GT_SLEEP_UNEXPLAINED;
	/* vfork() lets no signal but the last one end the wait for its child. No disk keeps it. */
	if (leave.reason == GT_SLEEP_WAIT)
		leave.is_uninterruptible = false;
	state->leave = leave;
	return r;
}

int gt_scheduler_wakeup(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	struct gt_scheduler_state *state = &trace->machine->schedules.items[thread];
	uint32_t stack = state->stack;
	int r;

	if (!trace->has_wakeups || time_ns < state->told_ns)
		return 0;
	if (!is_asleep(state->kind)) {
		/* Of one that runs, it is news only when that is about to sleep. */
		state->leave.is_woken = state->leave.is_told;
		return 0;
	}
	r = go_to(trace, thread, time_ns, state->kind, GT_STATE_RUNNABLE, false);
	state->stack = stack;
	return r;
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
				piece->stack = GT_STACK_NONE;
				piece->reason = GT_SLEEP_UNEXPLAINED;
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
