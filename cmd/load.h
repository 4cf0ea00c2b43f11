/* SPDX-License-Identifier: MIT */
/* A recording, read back: the model with all that is known besides. */
#pragma once

#include "cmd/sources.h"
#include "record/meta.h"
#include "render/report.h"
#include "trace/comparison.h"
#include "trace/stats.h"
#include "trace/trace.h"
#include "unwind/unwinder.h"

struct gt_progress;

struct gt_recording {
	struct gt_meta meta; /* empty for a file that stands alone */
	struct gt_sources sources;
	struct gt_unwinder *unwinder; /* NULL: no stacks were recorded */
	struct gt_trace *trace;	      /* finished */
	struct gt_stats stats;
	struct gt_comparison comparison;   /* when both ways of capture were recorded */
	struct gt_report_meta report_meta; /* borrows from the others */
	char *file_command[2];
};

/*
 * Loads a trace directory, or one perf.data file, into RECORDING, which is empty before. The caller
 * clears it, also on failure. A negative errno (logged).
 */
int gt_recording_load(const char *path, struct gt_progress *progress,
		      struct gt_recording *recording);
void gt_recording_clear(struct gt_recording *recording);
