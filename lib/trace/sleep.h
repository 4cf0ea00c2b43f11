/* SPDX-License-Identifier: MIT */
/* What threads slept for, as far as their waits for the GIL tell; and what that is called. */
#pragma once

#include "base/macros.h"
#include "trace/trace.h"

/* The GIL waits of a trace, thread by thread, to be compared with the times of other things. */
struct gt_sleep_waits {
	const struct gt_trace *trace;
	uint32_t *order; /* the waits among the trace's intervals, one thread behind the other */
	uint64_t *next;	 /* of each thread: its first wait in ORDER that is not over yet */
	uint64_t *end;	 /* of each thread: behind its last one */
};

/* 0 or -ENOMEM. The caller clears RET, and keeps TRACE until then. */
int gt_sleep_waits_find(const struct gt_trace *trace, struct gt_sleep_waits *ret);
void gt_sleep_waits_clear(struct gt_sleep_waits *waits);

/*
 * How much of the time from START_NS to END_NS THREAD waited for the GIL. For each thread, the
 * times are to be asked for in order.
 */
uint64_t gt_sleep_waited_ns(struct gt_sleep_waits *waits, uint32_t thread, uint64_t start_ns,
			    uint64_t end_ns);

/*
 * Sets the reason of each sleep of a finished trace: the GIL when the thread waited for it during
 * more than half of the sleep, whatever the stack says; and else never the GIL, if it is known what
 * the thread had of it. Where it is not, the stack's word stands. Counts the sleeps on which both
 * have a say, and those on which they do not agree. A sleep is one thing to look at, and is not cut
 * where a wait begins or ends; sums (see stats.h) take the exact part. 0 or -ENOMEM.
 */
int gt_sleep_explain(struct gt_trace *trace);
