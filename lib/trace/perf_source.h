/* SPDX-License-Identifier: MIT */
/* Turns the records of a perf.data file into the model's events. */
#pragma once

#include "base/macros.h"
#include "perfdata/perfdata.h"
#include "trace/event.h"

struct gt_perf_source;

/* What is taken from a file; the rest of it is left out. */
enum gt_perf_wants {
	GT_PERF_WANTS_GIL = 1 << 0,	 /* the four moments, and what was lost of them */
	GT_PERF_WANTS_TASKS = 1 << 1,	 /* births, names, maps and ends */
	GT_PERF_WANTS_SWITCHES = 1 << 2, /* context switches, whatever else tells of states, and
					    what was lost of them */
};

struct gt_perf_source_spec {
	const char *path; /* that messages name */
	unsigned int wants;
};

/*
 * With GT_PERF_WANTS_GIL, looks for the events take, acquired, release and switched in PERFDATA, in
 * any group: -ENODATA when they are not there (logged, with what to do). PERFDATA and what SPEC
 * points to stay the caller's and are used until the source is freed.
 */
int gt_perf_source_new(struct gt_perfdata *perfdata, const struct gt_perf_source_spec *spec,
		       struct gt_perf_source **ret);
void gt_perf_source_free(struct gt_perf_source *source);
GT_DEFINE_CLEANUP(struct gt_perf_source *, gt_perf_source_free)

/* The next event in time order: 1, or 0 at the end, or a negative errno (logged). */
int gt_perf_source_next(struct gt_perf_source *source, struct gt_event *ret);

/* Records that were lost of a file that is read for its tasks only, up to now: no event tells them.
 */
uint64_t gt_perf_source_lost(const struct gt_perf_source *source);
