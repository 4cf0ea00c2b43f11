/* SPDX-License-Identifier: MIT */
/* How long each acquisition of the GIL waited, and how long each hold lasted: counts and ranks. */
#pragma once

#include "trace/stats.h"
#include "trace/trace.h"

/* Fills what THREADS, one for each of the trace, say of waits and holds. 0 or -ENOMEM. */
int gt_acquisitions_compute(const struct gt_trace *trace, struct gt_thread_stats *threads);
