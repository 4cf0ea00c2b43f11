/* SPDX-License-Identifier: MIT */
/* The newest that is known of what one thread does with its CPU, so that it can be told later. */
#pragma once

#include "trace/event.h"
#include "trace/stack_copy.h"

/* What a thread has told as it was about to leave its CPU. */
enum gt_last_leave {
	GT_LAST_LEAVE_NONE,
	GT_LAST_LEAVE_PENDING, /* it has not left it yet */
	GT_LAST_LEAVE_DONE,    /* it was of the last switch */
};

/* Zeroed before the first use. */
struct gt_last_state {
	bool is_switched;
	struct gt_event last_switch;
	enum gt_last_leave leave_state;
	struct gt_event leave;
	struct gt_stack_copy stack; /* of LEAVE */
	bool is_woken;		    /* since */
};

/* Takes a SWITCH_IN, SWITCH_OUT, LEAVE or WAKEUP of the thread. 0 or -ENOMEM. */
int gt_last_state_note(struct gt_last_state *state, const struct gt_event *event);

/* Others were missed. */
void gt_last_state_forget(struct gt_last_state *state);

#define GT_LAST_STATE_EVENTS 3

/*
 * The events that lead to the state, to be told at one moment: types and what belongs to them. They
 * point into STATE. Returns how many.
 */
uint32_t gt_last_state_tell(const struct gt_last_state *state,
			    struct gt_event ret[static GT_LAST_STATE_EVENTS]);

void gt_last_state_clear(struct gt_last_state *state);
