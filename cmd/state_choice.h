/* SPDX-License-Identifier: MIT */
/* What is recorded of the threads' states: what was asked for, and what can be had here. */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "base/macros.h"
#include "record/pass.h"

struct gt_options;
struct gt_rights;

/* How warnings begin that tell why something is left out. */
#define GT_STACKS_ARE_MISSING "reasons of sleeps, stacks and wake-ups are missing: "
#define GT_WAKEUPS_ARE_MISSING "wake-ups are missing, and count as sleep up to the CPU: "

struct gt_state_choice {
	bool has_switches; /* when threads get on and off a CPU; without it, there is nothing */
	bool has_stacks;   /* from where they leave it */
	bool has_wakeups;  /* when they are woken */
	bool has_memory;   /* how much of it is resident */
	GT_ARRAY(struct gt_pass_counter) counters;
};

/*
 * Chooses, into CHOICE, which is empty before; the caller clears it, also after a failure. What is
 * left out for want of a right is said as a warning, with the right and with what is missing then.
 * -EOPNOTSUPP (logged) for a counter that was asked for by name and cannot be had; the errno of
 * perf_event_open (logged) when states are all that is to be recorded, and cannot be.
 */
int gt_state_choose(const struct gt_options *options, struct gt_rights *rights,
		    struct gt_state_choice *choice);
void gt_state_choice_clear(struct gt_state_choice *choice);
