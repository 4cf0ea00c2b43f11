/* SPDX-License-Identifier: MIT */
/* Why the kernel refuses an event, and what to do about it. */
#pragma once

struct gt_open_attempt {
	const char *what;     /* the pass's word for all of its events */
	const char *name;     /* of the event */
	const char *probed;   /* the file that uprobes among the events are in, or NULL */
	const char *counter;  /* its name, when the event is one; else NULL */
	int allowed_paranoid; /* the highest perf_event_paranoid that lets users have the events */
	int cpu_count;
};

/* Logs it, and returns ERR. */
int gt_open_error(const struct gt_open_attempt *attempt, int err);
