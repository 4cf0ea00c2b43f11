/* SPDX-License-Identifier: MIT */
#include "render/weights.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"

static int find_place(struct gt_weights *weights, const struct gt_weight_place *place,
		      uint32_t *ret)
{
	uint64_t key = (uint64_t)place->stack << 16 | (uint64_t)place->state << 8 | place->reason;
	struct gt_weight_place *item;

	*ret = gt_hash_get(&weights->place_by_content, key);
	if (*ret != GT_HASH_NONE)
		return 0;
	item = gt_array_push(&weights->places);
	if (!item)
		return -ENOMEM;
	*item = *place;
	*ret = weights->places.count - 1;
	return gt_hash_set(&weights->place_by_content, key, *ret);
}

static int add(struct gt_weights *weights, uint32_t thread, const struct gt_weight_place *place,
	       uint64_t ns)
{
	struct gt_weight *item;
	uint32_t number, known;
	uint64_t key;
	int r;

	if (ns == 0)
		return 0;
	r = find_place(weights, place, &number);
	if (r < 0)
		return r;
	key = (uint64_t)thread << 32 | number;
	known = gt_hash_get(&weights->item_by_content, key);
	if (known != GT_HASH_NONE) {
		weights->items.items[known].ns += ns;
		return 0;
	}
	item = gt_array_push(&weights->items);
	if (!item)
		return -ENOMEM;
	*item = (struct gt_weight){.ns = ns, .thread = thread, .place = number};
	return gt_hash_set(&weights->item_by_content, key, weights->items.count - 1);
}

static bool is_shown(const struct gt_report *report, uint32_t thread)
{
	return gt_report_shows_process(report, report->trace->threads.items[thread].process);
}

/* Each state off the CPU by its stack, if PICK is fine with it. */
static int add_states(const struct gt_report *report,
		      bool (*pick)(const struct gt_state_interval *), struct gt_weights *weights)
{
	gt_array_for_each (&report->trace->states, state) {
		struct gt_weight_place place = {state->stack, state->kind, state->reason};

		if (!pick(state) || !is_shown(report, state->thread))
			continue;
		if (add(weights, state->thread, &place, state->end_ns - state->start_ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool is_off_cpu(const struct gt_state_interval *state)
{
	return state->kind == GT_STATE_SLEEPING || state->kind == GT_STATE_RUNNABLE ||
	       state->kind == GT_STATE_UNINTERRUPTIBLE;
}

static bool sleeps_for_gil(const struct gt_state_interval *state)
{
	return state->kind == GT_STATE_SLEEPING && state->reason == GT_SLEEP_GIL;
}

/* The states of a trace, thread by thread, and how far each thread's have been looked at. */
struct walk {
	const struct gt_trace *trace;
	struct gt_weights *weights;
	uint32_t *order;
	struct walk_thread {
		uint32_t next, end;   /* in ORDER */
		uint64_t wait_end_ns; /* of the wait that was looked at last */
		uint32_t stack;	      /* of the last sleep in it */
	} * threads;
};

static void walk_clear(struct walk *walk)
{
	free(walk->order);
	free(walk->threads);
}

static int walk_begin(const struct gt_trace *trace, struct walk *walk)
{
	uint32_t count = 0;

	walk->trace = trace;
	walk->order = calloc((size_t)trace->states.count + 1, sizeof(*walk->order));
	walk->threads = calloc((size_t)trace->threads.count + 1, sizeof(*walk->threads));
	if (!walk->order || !walk->threads)
		return -ENOMEM;
	gt_array_for_each (&trace->states, state)
		walk->threads[state->thread].end++;
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		walk->threads[i].next = count;
		count += walk->threads[i].end;
		walk->threads[i].end = walk->threads[i].next;
	}
	for (uint32_t i = 0; i < trace->states.count; i++)
		walk->order[walk->threads[trace->states.items[i].thread].end++] = i;
	return 0;
}

/*
 * Where a thread is that waits for the GIL in STATE: its stack tells all. What it does on a CPU
 * meanwhile belongs to the sleep before, out of which it looked whether it can have the GIL.
 */
static struct gt_weight_place place_in_wait(struct walk_thread *thread,
					    const struct gt_state_interval *state)
{
	if (is_off_cpu(state) && state->stack != GT_STACK_NONE)
		thread->stack = state->stack;
	if (thread->stack != GT_STACK_NONE)
		return (struct gt_weight_place){thread->stack, GT_WEIGHT_NO_STATE, 0};
	return (struct gt_weight_place){GT_STACK_NONE, state->kind, state->reason};
}

/* Shares a wait out over the states that it overlaps. */
static int add_wait(struct walk *walk, const struct gt_interval *wait)
{
	struct walk_thread *thread = &walk->threads[wait->thread];
	struct gt_weight_place place = {.state = GT_WEIGHT_NO_STATE};
	uint64_t from_ns = wait->start_ns;

	/* One that goes on is still the same wait. */
	if (wait->start_ns != thread->wait_end_ns)
		thread->stack = GT_STACK_NONE;
	thread->wait_end_ns = wait->end_ns;
	place.stack = thread->stack;
	for (; thread->next < thread->end; thread->next++) {
		const struct gt_state_interval *state =
			&walk->trace->states.items[walk->order[thread->next]];
		uint64_t to_ns = GT_MIN(wait->end_ns, state->end_ns);

		if (state->start_ns >= wait->end_ns)
			break;
		if (to_ns > from_ns) {
			place = place_in_wait(thread, state);
			if (add(walk->weights, wait->thread, &place, to_ns - from_ns) < 0)
				return -ENOMEM;
			from_ns = to_ns;
		}
		if (state->end_ns > wait->end_ns)
			break;
	}
	return add(walk->weights, wait->thread, &place, wait->end_ns - from_ns);
}

static int add_waits(const struct gt_report *report, struct gt_weights *weights)
{
	_cleanup_(walk_clear) struct walk walk = {.weights = weights};
	int r;

	r = walk_begin(report->trace, &walk);
	if (r < 0)
		return r;
	gt_array_for_each (&report->trace->intervals, interval) {
		if (interval->kind != GT_INTERVAL_WAIT || !is_shown(report, interval->thread) ||
		    !gt_report_knows_thread(report, interval->thread))
			continue;
		r = add_wait(&walk, interval);
		if (r < 0)
			return r;
	}
	return 0;
}

int gt_weights_collect(const struct gt_report *report, enum gt_folded_kind kind,
		       struct gt_weights *ret)
{
	switch (kind) {
	case GT_FOLDED_OFF_GIL:
		return gt_report_knows_waits(report) ? add_waits(report, ret)
						     : add_states(report, sleeps_for_gil, ret);
	case GT_FOLDED_OFF_CPU:
		return add_states(report, is_off_cpu, ret);
	case GT_FOLDED_NONE:
		break;
	}
	return 0;
}

void gt_weights_clear(struct gt_weights *weights)
{
	gt_array_clear(&weights->items);
	gt_array_clear(&weights->places);
	gt_hash_clear(&weights->item_by_content);
	gt_hash_clear(&weights->place_by_content);
}
