/* SPDX-License-Identifier: MIT */
/*
 * Why something is not possible here, and what helps: for callers that have another way, or tell it
 * in a form of their own.
 */
#pragma once

#include "base/macros.h"

struct gt_obstacle {
	char *cause;  /* NULL: there is none */
	char *remedy; /* NULL: nothing helps */
};

/* Sets both, in place of what was there; REMEDY, which is copied, may be NULL. */
void gt_obstacle_set(struct gt_obstacle *obstacle, const char *remedy, const char *cause_format,
		     ...) _printf_(3, 4);
void gt_obstacle_clear(struct gt_obstacle *obstacle);

/*
 * The same from a message of the log, whose first line is the cause. MESSAGE, which may be NULL, is
 * freed.
 */
void gt_obstacle_set_message(struct gt_obstacle *obstacle, char *message);

/* "CAUSE\n  REMEDY", as messages are; NULL for none. The caller frees it. */
char *gt_obstacle_text(const struct gt_obstacle *obstacle);
