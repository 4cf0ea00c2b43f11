/* SPDX-License-Identifier: MIT */
/*
 * Stacks in the folded form that all tools for flame graphs read: one line for each stack, its
 * frames from the outermost on with semicolons between them, and its weight in microseconds behind
 * a blank.
 */
#pragma once

#include "render/report.h"

enum gt_folded_kind {
	GT_FOLDED_NONE,
	GT_FOLDED_OFF_GIL, /* the time in which a thread waited for the GIL */
	GT_FOLDED_OFF_CPU, /* the time in which it slept, or waited for a CPU */
};

/*
 * The weights add up to the summary's figures, but for what is rounded in each line. As the other
 * outputs (see report.h).
 */
int gt_render_folded(const struct gt_report *report, enum gt_folded_kind kind,
		     struct gt_sink *sink);
