/* SPDX-License-Identifier: MIT */
/* One line on a terminal that says how far a longer work has come. Nothing elsewhere, or with -q.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gt_progress {
	bool enabled, shown;
	uint64_t start_ns, next_ns;
};

void gt_progress_init(struct gt_progress *progress, bool quiet);

/* Shows "WHAT: 42 %", from the second second on, a few times a second. TOTAL may be 0: no
 * percentage. */
void gt_progress_show(struct gt_progress *progress, const char *what, uint64_t done,
		      uint64_t total);

/* Takes the line away, before anything else is printed. */
void gt_progress_clear(struct gt_progress *progress);
