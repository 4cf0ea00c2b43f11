/* SPDX-License-Identifier: MIT */
/* The page without its data, in the order in which it is written. join.py makes these. */
#pragma once

extern const char gt_viewer_before_report[];
extern const char gt_viewer_before_columns[];
extern const char gt_viewer_behind_columns[];
