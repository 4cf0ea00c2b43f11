/* SPDX-License-Identifier: MIT */
/* What this user may do here: install probes in the kernel, and open perf events. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/obstacle.h"

struct gt_rights {
	uint32_t uid;
	uint64_t capabilities; /* effective ones, a bit each */
	bool has_paranoid;
	int paranoid;	     /* perf_event_paranoid */
	bool is_filtered;    /* a seccomp filter looks at the system calls */
	const char *tracefs; /* NULL: not mounted, and cannot be */
	bool can_probe;	     /* install uprobes, and open their events */
	struct gt_obstacle obstacle;
};

/*
 * Finds them out, into RIGHTS, which is empty before; the caller clears it. Without the
 * capabilities for uprobes nothing is tried that would need them. WANTS_PROBES: look whether
 * uprobes can be had as well, for which tracefs is mounted where it is not, and that is said.
 */
void gt_rights_find(struct gt_rights *rights, bool wants_probes);
void gt_rights_clear(struct gt_rights *rights);

bool gt_rights_has(const struct gt_rights *rights, int capability);

/* The name of the INDEX-th capability that has to do with tracing, NULL behind the last; and
 * whether it is there. */
const char *gt_rights_capability(const struct gt_rights *rights, size_t index, bool *ret_has);

/*
 * Whether the kernel's own tracepoints can be recorded of a program of one's own; tracefs is
 * mounted for it as above. 0 or a negative errno (not logged), with the reason in OBSTACLE.
 */
int gt_rights_find_tracepoints(struct gt_rights *rights, struct gt_obstacle *obstacle);

/* Whether the kernel has the tracepoint NAME ("sched/sched_switch"), and lets us know; with
 * tracefs.
 */
bool gt_rights_can_read_tracepoint(const struct gt_rights *rights, const char *name);

/* Whether the memory of perf's rings is not limited by perf_event_mlock_kb. */
bool gt_rights_may_lock_memory(const struct gt_rights *rights);

/* Why perf_event_open() gave ERR, which is a negative errno. */
void gt_rights_explain_perf(const struct gt_rights *rights, int err, struct gt_obstacle *obstacle);
