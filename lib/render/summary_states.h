/* SPDX-License-Identifier: MIT */
/* The summary's part on being on and off CPU. Private to lib/render. */
#pragma once

#include "render/report.h"

/* The table of threads, where states were recorded. */
void gt_summary_write_states(const struct gt_report *report, struct gt_sink *sink);

/* What was counted in all of the run, if there is any. */
void gt_summary_write_counts(const struct gt_report *report, struct gt_sink *sink);
