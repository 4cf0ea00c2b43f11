/* SPDX-License-Identifier: MIT */
#include "trace/last_state.h"

static void note_switch(struct gt_last_state *state, const struct gt_event *event)
{
	bool is_told =
		event->type == GT_EVENT_SWITCH_OUT && state->leave_state == GT_LAST_LEAVE_PENDING;

	state->is_switched = true;
	state->last_switch = *event;
	state->leave_state = is_told ? GT_LAST_LEAVE_DONE : GT_LAST_LEAVE_NONE;
	if (!is_told)
		state->is_woken = false;
}

static int note_leave(struct gt_last_state *state, const struct gt_event *event)
{
	state->leave_state = GT_LAST_LEAVE_PENDING;
	state->leave = *event;
	state->is_woken = false;
	return gt_stack_copy_set(&state->stack, event->leave.stack);
}

int gt_last_state_note(struct gt_last_state *state, const struct gt_event *event)
{
	switch (event->type) {
	case GT_EVENT_SWITCH_IN:
	case GT_EVENT_SWITCH_OUT:
		note_switch(state, event);
		return 0;
	case GT_EVENT_LEAVE:
		return note_leave(state, event);
	case GT_EVENT_WAKEUP:
		/* Of one that runs, it is news only when that is about to sleep. */
		if (state->leave_state == GT_LAST_LEAVE_PENDING ||
		    (state->is_switched && state->last_switch.type == GT_EVENT_SWITCH_OUT))
			state->is_woken = true;
		return 0;
	default:
		return 0;
	}
}

void gt_last_state_forget(struct gt_last_state *state)
{
	state->is_switched = false;
	state->is_woken = false;
	state->leave_state = GT_LAST_LEAVE_NONE;
}

static struct gt_event leave_of(const struct gt_last_state *state)
{
	struct gt_event event = state->leave;

	event.leave.stack = event.leave.stack ? &state->stack.sample : NULL;
	return event;
}

uint32_t gt_last_state_tell(const struct gt_last_state *state,
			    struct gt_event ret[static GT_LAST_STATE_EVENTS])
{
	uint32_t count = 0;

	if (state->leave_state == GT_LAST_LEAVE_DONE)
		ret[count++] = leave_of(state);
	if (state->is_switched)
		ret[count++] = state->last_switch;
	if (state->leave_state == GT_LAST_LEAVE_PENDING)
		ret[count++] = leave_of(state);
	if (state->is_woken)
		ret[count++] = (struct gt_event){.type = GT_EVENT_WAKEUP};
	return count;
}

void gt_last_state_clear(struct gt_last_state *state)
{
	gt_stack_copy_clear(&state->stack);
	*state = (struct gt_last_state){0};
}
