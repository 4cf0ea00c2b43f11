/* SPDX-License-Identifier: MIT */
/* Turns the records of a perf.data file into the model's events. */
#pragma once

#include "base/macros.h"
#include "perfdata/perfdata.h"
#include "trace/event.h"

struct gt_perf_source;

/*
 * Looks for the events take, acquired, release and switched in PERFDATA, in any group. PERFDATA and
 * PATH, which messages name, stay the caller's and are used until the source is freed. -ENODATA
 * when they are not there (logged, with what to do).
 */
int gt_perf_source_new(struct gt_perfdata *perfdata, const char *path, struct gt_perf_source **ret);
void gt_perf_source_free(struct gt_perf_source *source);
GT_DEFINE_CLEANUP(struct gt_perf_source *, gt_perf_source_free)

/* The next event in time order: 1, or 0 at the end, or a negative errno (logged). */
int gt_perf_source_next(struct gt_perf_source *source, struct gt_event *ret);
