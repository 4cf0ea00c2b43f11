/* SPDX-License-Identifier: MIT */
/* What unwinds the stacks of a recording, with all that the recording knows for it. */
#pragma once

#include "perfdata/perfdata.h"
#include "record/meta.h"
#include "unwind/unwinder.h"

/* For a trace directory: NULL when no stacks were recorded. 0 or -ENOMEM (logged). */
int gt_load_unwinder(const char *directory, const struct gt_meta *meta, struct gt_unwinder **ret);

/* The same for one perf.data file, with the kernel's names if the running kernel is that one. */
int gt_load_unwinder_of_file(const struct gt_perfdata *perfdata, struct gt_unwinder **ret);
