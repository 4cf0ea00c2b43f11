/* SPDX-License-Identifier: MIT */
/* The counters that can be asked for by name, as perf names them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/pass.h"

/*
 * What every state pass counts: software counters, which all machines have. USER_ONLY for a user
 * who may not look into the kernel.
 */
#define GT_DEFAULT_COUNTERS 3
void gt_counters_default(bool user_only, struct gt_pass_counter ret[GT_DEFAULT_COUNTERS]);

/* The counter of this name, of LENGTH characters. False when there is none. */
bool gt_counter_find(const char *name, size_t length, bool user_only, struct gt_pass_counter *ret);

/* All names, with commas between, for a message. The caller frees it; NULL when out of memory. */
char *gt_counter_names(void);
