/* SPDX-License-Identifier: MIT */
/* Who kept whom waiting. Private to lib/trace: the result is part of struct gt_stats. */
#pragma once

#include "trace/stats.h"

/*
 * Shares out every wait over the threads that held that GIL meanwhile, and over nobody. Adds to
 * STATS->blame, most first; the entries of a waiter sum to its wait. 0 or -ENOMEM.
 */
int gt_blame_compute(const struct gt_trace *trace, struct gt_stats *stats);
