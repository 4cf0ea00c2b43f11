/* SPDX-License-Identifier: MIT */
/*
 * What a thread does after it has let go of the GIL, followed through the code from a release on:
 *
 *     pthread_cond_signal(cond)             the release
 *     pthread_mutex_unlock(mutex)
 *     if a drop was requested:
 *         pthread_mutex_lock(switch_mutex)
 *         perhaps pthread_cond_wait(switch_cond, switch_mutex)
 *         pthread_mutex_unlock(switch_mutex)      switched: here
 *     take_gil(…)                           up to 3.12, in the eval loop: retake is behind the call
 */
#pragma once

#include "base/array.h"
#include "python/gil_code.h"
#include "python/gil_sites.h"

/* What the walk has to know besides the code. */
struct gt_gil_landmarks {
	struct gt_hash takes; /* entry of each take_gil → index of its function */
	struct gt_hash
		callees; /* whole function that holds a release → index into callers.callee */
	gt_gil_calls callers; /* the calls of those functions: the walk goes on behind them */
};

struct gt_gil_aftermath {
	bool unlocks;		 /* the mutex is unlocked next: the release looks like one */
	gt_gil_offsets switched; /* virtual addresses, in the order in which they were reached */
	gt_gil_offsets retakes;
	gt_gil_offsets waits; /* where the calls return to in which it waits for the switch */
};

/*
 * Follows every way on from the call RELEASE. Adds to RET, which the caller clears. A walk that
 * gets lost in absurd code is given up after a while: what it has found by then stands. -ENOMEM,
 * logged.
 */
int gt_gil_flow_follow(struct gt_gil_code *code, const struct gt_gil_landmarks *landmarks,
		       const struct gt_gil_call *release, struct gt_gil_aftermath *ret);
void gt_gil_aftermath_clear(struct gt_gil_aftermath *aftermath);
