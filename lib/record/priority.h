/* SPDX-License-Identifier: MIT */
/*
 * Whoever drains rings must get on a CPU when they fill, which is when all CPUs are busy. Its work
 * is short, and is done sooner or later anyway.
 */
#pragma once

/*
 * Puts the calling thread in front of all others that are not as urgent: among the real-time ones,
 * or else as far as this user may. Does nothing for a user who may not.
 */
void gt_priority_raise(void);

/* Back to where it was when it was raised. */
void gt_priority_restore(void);
