/* SPDX-License-Identifier: MIT */
/* Options that do not go together. */
#pragma once

struct gt_options;

/* The words of --probe, in the order of enum gt_probe_way; NULL behind the last. */
extern const char *const gt_probe_ways[];

/* Looks at all that was given: 1, or -EINVAL for what cannot be done (logged). */
int gt_options_check(const struct gt_options *options);
