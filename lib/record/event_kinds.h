/* SPDX-License-Identifier: MIT */
/* Which kinds of perf events can be opened here, by this user, on a process of their own. */
#pragma once

struct gt_pass_counter;

enum gt_event_kind {
	GT_EVENT_KIND_CONTEXT_SWITCH, /* records of on and off CPU, which need no right */
	GT_EVENT_KIND_CPU_CLOCK,      /* software clock, user code only */
	GT_EVENT_KIND_SCHED_SWITCH,   /* the tracepoint */
	GT_EVENT_KIND_CYCLES,	      /* a hardware counter, which a virtual machine may lack */
	GT_EVENT_KINDS,
};

/* "context_switch" … */
const char *gt_event_kind_name(enum gt_event_kind kind);

/* Tries it: 0, or the errno of perf_event_open(). TRACEFS is its mount point, or NULL. */
int gt_event_kind_try(enum gt_event_kind kind, const char *tracefs);

/* The same of a counter. */
int gt_event_kind_try_counter(const struct gt_pass_counter *counter);
