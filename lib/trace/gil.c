/* SPDX-License-Identifier: MIT */
/*
 * The GIL machine: turns the four moments of each thread into intervals.
 *
 *     has   acquired → release
 *     wait  take → acquired; release → switched; and release → take when that take comes from the
 *           eval loop's requested drop
 *
 * Each thread has a cursor up to which its intervals are written, so that they never overlap or
 * leave a gap, whatever comes. A GIL has one holder at a time by construction: a hold begins at the
 * end of the one before at the earliest, and a second holder ends the first one's.
 */
#include <errno.h>

#include "trace/machine.h"

static int write_interval(struct gt_trace *trace, uint32_t thread, enum gt_interval_kind kind,
			  uint32_t gil, uint64_t end_ns)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];
	struct gt_interval *interval;

	if (end_ns <= state->cursor_ns)
		return 0;
	interval = gt_array_push(&trace->intervals);
	if (!interval)
		return -ENOMEM;
	interval->start_ns = state->cursor_ns;
	interval->end_ns = end_ns;
	interval->thread = thread;
	interval->kind = kind & 7U;
	interval->gil = gil == GT_NONE ? GT_INTERVAL_NO_GIL : gil & GT_INTERVAL_NO_GIL;
	state->cursor_ns = end_ns;
	return 0;
}

/* The GIL that a thread waits for if it never gets it: the one it had, or its process's first. */
static uint32_t likely_gil(const struct gt_trace *trace, uint32_t thread)
{
	const struct gt_process_state *process =
		&trace->machine->processes.items[trace->threads.items[thread].process];
	uint32_t gil = trace->machine->threads.items[thread].gil;

	if (gil == GT_NONE && process->names.count > 0)
		gil = process->names.items[0].gil;
	return gil;
}

/* Writes the hold that ends now, and frees the GIL. */
static int end_hold(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];
	struct gt_gil_state *gil = &trace->machine->gils.items[state->gil];

	gil->holder = GT_NONE;
	gil->last_holder = thread;
	/* A late record must not let the next hold begin inside this one, or an earlier one. */
	gil->last_end_ns = GT_MAX(gil->last_end_ns, time_ns);
	gil->last_end_ns = GT_MAX(gil->last_end_ns, state->cursor_ns);
	state->born_holding = false;
	return write_interval(trace, thread, GT_INTERVAL_HAS, state->gil, time_ns);
}

/* A hold whose end was not seen and is not proved either: nothing is known of its time. */
static int drop_hold(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];

	trace->machine->gils.items[state->gil].holder = GT_NONE;
	state->born_holding = false;
	trace->inferred++;
	return write_interval(trace, thread, GT_INTERVAL_UNKNOWN, state->gil, time_ns);
}

static int event_take(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];
	bool retake = gt_is_retake(trace, trace->threads.items[thread].process, event->caller);
	uint64_t want_ns = event->time_ns;
	int r = 0;

	switch (state->phase) {
	case GT_PHASE_RELEASED:
	case GT_PHASE_UNKNOWN:
		if (retake)
			want_ns = state->cursor_ns;
		r = write_interval(trace, thread, retake ? GT_INTERVAL_WAIT : GT_INTERVAL_NO,
				   retake ? likely_gil(trace, thread) : GT_NONE, event->time_ns);
		break;
	case GT_PHASE_NO:
		if (retake && state->asked) {
			want_ns = state->want_ns;
			r = write_interval(trace, thread, GT_INTERVAL_WAIT,
					   likely_gil(trace, thread), event->time_ns);
		} else {
			r = write_interval(trace, thread, GT_INTERVAL_NO, GT_NONE, event->time_ns);
		}
		break;
	case GT_PHASE_WAIT:
		/* take_gil returned without it (free-threaded, the GIL is off): no wait at all. */
		r = write_interval(trace, thread, GT_INTERVAL_NO, GT_NONE, event->time_ns);
		break;
	case GT_PHASE_HAS:
		r = state->born_holding ? end_hold(trace, thread, event->time_ns)
					: drop_hold(trace, thread, event->time_ns);
		break;
	}
	if (r < 0)
		return r;
	state->phase = GT_PHASE_WAIT;
	state->want_ns = want_ns;
	return 0;
}

static int event_acquired(struct gt_trace *trace, uint32_t thread, const struct gt_event *event,
			  uint32_t gil_index)
{
	struct gt_machine *machine = trace->machine;
	struct gt_thread_state *state = &machine->threads.items[thread];
	struct gt_gil_state *gil = &machine->gils.items[gil_index];
	uint64_t start_ns;
	int r = 0;

	if (gil->holder != GT_NONE && gil->holder != thread) {
		/* A second holder proves that the first one has let go. */
		uint32_t holder = gil->holder;

		trace->inferred++;
		r = end_hold(trace, holder, event->time_ns);
		if (r < 0)
			return r;
		machine->threads.items[holder].phase = GT_PHASE_RELEASED;
	}
	/* A late record would let two holds overlap. */
	start_ns = GT_MAX(event->time_ns, gil->last_end_ns);

	switch (state->phase) {
	case GT_PHASE_WAIT:
		/* Somebody else's hold overlaps the wait if it ended after the wait began. */
		if (gil->last_holder != GT_NONE && gil->last_holder != thread &&
		    gil->last_end_ns > state->want_ns)
			trace->threads.items[thread].contended++;
		r = write_interval(trace, thread, GT_INTERVAL_WAIT, gil_index, start_ns);
		break;
	case GT_PHASE_UNKNOWN:
		/*
		 * Its take came before what is unknown ended: it has been waiting since. Where only
		 * waits have a take, it may as well not have waited at all.
		 */
		r = write_interval(trace, thread,
				   trace->takes_are_waits ? GT_INTERVAL_UNKNOWN : GT_INTERVAL_WAIT,
				   gil_index, start_ns);
		break;
	case GT_PHASE_NO:
	case GT_PHASE_RELEASED:
		if (!trace->takes_are_waits)
			trace->inferred++;
		r = write_interval(trace, thread, GT_INTERVAL_NO, GT_NONE, start_ns);
		break;
	case GT_PHASE_HAS:
		r = state->born_holding ? end_hold(trace, thread, start_ns)
					: drop_hold(trace, thread, start_ns);
		break;
	}
	if (r < 0)
		return r;
	state->phase = GT_PHASE_HAS;
	state->gil = gil_index;
	gil->holder = thread;
	return 0;
}

/* A release without an acquired proves a hold. It began when it could at the earliest. */
static int infer_hold(struct gt_trace *trace, uint32_t thread, uint64_t time_ns, uint32_t gil_index)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];
	struct gt_gil_state *gil = &trace->machine->gils.items[gil_index];
	bool waited = state->phase == GT_PHASE_WAIT;
	int r;

	/* Else the acquired is before what is known: outside of the trace, or among the lost. */
	if (state->phase != GT_PHASE_UNKNOWN)
		trace->inferred++;
	if (gil->holder != GT_NONE || (!waited && state->phase != GT_PHASE_UNKNOWN))
		return write_interval(trace, thread, GT_INTERVAL_UNKNOWN, gil_index, time_ns);
	r = write_interval(trace, thread, waited ? GT_INTERVAL_WAIT : GT_INTERVAL_UNKNOWN,
			   gil_index, GT_MIN(gil->last_end_ns, time_ns));
	if (r < 0)
		return r;
	state->gil = gil_index;
	return end_hold(trace, thread, time_ns);
}

static int event_release(struct gt_trace *trace, uint32_t thread, const struct gt_event *event,
			 uint32_t gil)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];
	int r;

	if (state->phase != GT_PHASE_HAS)
		r = infer_hold(trace, thread, event->time_ns, gil);
	else if (state->gil == gil)
		r = end_hold(trace, thread, event->time_ns);
	else
		r = drop_hold(trace, thread, event->time_ns);
	if (r < 0)
		return r;
	state->gil = gil;
	state->phase = GT_PHASE_RELEASED;
	return 0;
}

static int event_switched(struct gt_trace *trace, uint32_t thread, const struct gt_event *event,
			  uint32_t gil)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];
	uint64_t want_ns = state->cursor_ns;
	int r = 0;

	switch (state->phase) {
	case GT_PHASE_RELEASED:
	case GT_PHASE_UNKNOWN:
		r = write_interval(trace, thread, GT_INTERVAL_WAIT, gil, event->time_ns);
		break;
	case GT_PHASE_HAS:
		r = drop_hold(trace, thread, event->time_ns);
		want_ns = event->time_ns;
		break;
	case GT_PHASE_NO:
	case GT_PHASE_WAIT:
		/* A whole hold was not seen. */
		trace->inferred++;
		r = write_interval(trace, thread, GT_INTERVAL_UNKNOWN, gil, event->time_ns);
		want_ns = event->time_ns;
		break;
	}
	if (r < 0)
		return r;
	state->phase = GT_PHASE_NO;
	state->asked = true;
	state->want_ns = want_ns;
	return 0;
}

/* Writes a gap in the events of one thread, which ends with its next one. */
static int end_gap(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];

	if (!state->lost)
		return 0;
	state->lost = false;
	return write_interval(trace, thread, GT_INTERVAL_UNKNOWN, GT_NONE, time_ns);
}

int gt_gil_event(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	struct gt_thread *counts = &trace->threads.items[thread];
	uint32_t gil = GT_NONE;
	bool asked;
	int r;

	if (trace->machine->processes.items[counts->process].image_gil_events == 0) {
		r = gt_interpreter_look_up(trace, counts->process);
		if (r < 0)
			return r;
	}
	if (event->type != GT_EVENT_TAKE) {
		r = gt_gil_identify(trace, thread, event, &gil);
		if (r < 0)
			return r;
		if (gil == GT_NONE) {
			trace->foreign++;
			return 0;
		}
	}

	r = end_gap(trace, thread, event->time_ns);
	if (r < 0)
		return r;
	asked = trace->machine->threads.items[thread].asked;
	switch (event->type) {
	case GT_EVENT_TAKE:
		counts->takes++;
		r = event_take(trace, thread, event);
		break;
	case GT_EVENT_ACQUIRED:
		counts->acquired++;
		r = event_acquired(trace, thread, event, gil);
		break;
	case GT_EVENT_RELEASE:
		counts->releases++;
		r = event_release(trace, thread, event, gil);
		break;
	default:
		counts->switched++;
		asked = false;
		r = event_switched(trace, thread, event, gil);
		break;
	}
	/* The request is answered by the take behind it, whatever that was. */
	if (asked)
		trace->machine->threads.items[thread].asked = false;
	trace->events++;
	trace->processes.items[counts->process].gil_events++;
	trace->machine->processes.items[counts->process].image_gil_events++;
	return r;
}

/*
 * A take that never got the GIL. While somebody had it, the thread waited; while it was free,
 * take_gil has returned at once without it: the GIL is off (free-threaded builds). Where only waits
 * have a take, there was none then.
 */
static int end_wait(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	uint32_t gil_index = likely_gil(trace, thread);
	const struct gt_gil_state *gil;
	uint64_t held_until_ns = 0;
	int r;

	if (trace->takes_are_waits)
		return write_interval(trace, thread, GT_INTERVAL_WAIT, gil_index, time_ns);
	if (gil_index != GT_NONE) {
		gil = &trace->machine->gils.items[gil_index];
		held_until_ns = gil->holder == GT_NONE ? gil->last_end_ns : time_ns;
	}
	r = write_interval(trace, thread, GT_INTERVAL_WAIT, gil_index,
			   GT_MIN(held_until_ns, time_ns));
	if (r < 0)
		return r;
	return write_interval(trace, thread, GT_INTERVAL_NO, GT_NONE, time_ns);
}

int gt_gil_end_phase(struct gt_trace *trace, uint32_t thread, uint64_t time_ns,
		     enum gt_thread_phase next)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];
	uint32_t process = trace->threads.items[thread].process;
	bool is_blind;
	int r = 0;

	switch (state->phase) {
	case GT_PHASE_UNKNOWN:
		r = write_interval(trace, thread, GT_INTERVAL_UNKNOWN, GT_NONE, time_ns);
		break;
	case GT_PHASE_RELEASED:
		/* Before a gap nobody can say whether it still waits; at its end it does not
		 * matter. */
		r = write_interval(trace, thread,
				   next == GT_PHASE_UNKNOWN ? GT_INTERVAL_UNKNOWN : GT_INTERVAL_NO,
				   GT_NONE, time_ns);
		break;
	case GT_PHASE_NO:
		/* Of an interpreter without probes nobody can say what it does with its GIL. */
		is_blind = gt_interpreter_is_other(trace, process) ||
			   gt_interpreter_is_unwatched(trace, process);
		r = write_interval(trace, thread, is_blind ? GT_INTERVAL_UNKNOWN : GT_INTERVAL_NO,
				   GT_NONE, time_ns);
		break;
	case GT_PHASE_WAIT:
		r = next == GT_PHASE_UNKNOWN ? write_interval(trace, thread, GT_INTERVAL_WAIT,
							      likely_gil(trace, thread), time_ns)
					     : end_wait(trace, thread, time_ns);
		break;
	case GT_PHASE_HAS:
		r = end_hold(trace, thread, time_ns);
		break;
	}
	/* Behind the end of the events, a new program is as unknown as the one before. */
	state->phase = trace->is_cut ? GT_PHASE_UNKNOWN : next;
	state->asked = false;
	state->lost = false;
	return r;
}

int gt_gil_lose(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	int r = gt_gil_end_phase(trace, thread, time_ns, GT_PHASE_UNKNOWN);

	trace->machine->threads.items[thread].lost = true;
	return r;
}

int gt_gil_fork(struct gt_trace *trace, uint32_t parent_thread, uint32_t child_thread)
{
	struct gt_machine *machine = trace->machine;
	struct gt_thread_state *child = &machine->threads.items[child_thread];
	const struct gt_thread_state *parent = &machine->threads.items[parent_thread];
	const struct gt_process_state *from =
		&machine->processes.items[trace->threads.items[parent_thread].process];
	uint32_t process = trace->threads.items[child_thread].process;
	uint32_t name = GT_NONE, gil;
	int r;

	if (parent->phase == GT_PHASE_UNKNOWN)
		child->phase = GT_PHASE_UNKNOWN;
	if (parent->phase != GT_PHASE_HAS)
		return 0;
	for (uint32_t i = 0; i < from->names.count; i++)
		if (from->names.items[i].gil == parent->gil)
			name = i;
	if (name == GT_NONE)
		return 0;

	r = gt_gil_new(trace, process, &gil);
	if (r < 0)
		return r;
	trace->gils.items[gil].address = trace->gils.items[parent->gil].address;
	machine->gils.items[gil].holder = child_thread;
	/* gt_gil_identity_fork() has copied the names in the same order. */
	machine->processes.items[process].names.items[name].gil = gil;
	child->phase = GT_PHASE_HAS;
	child->gil = gil;
	child->born_holding = true;
	return 0;
}
