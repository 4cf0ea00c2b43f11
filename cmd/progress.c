/* SPDX-License-Identifier: MIT */
#include "cmd/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/time.h"

#define DELAY_NS GT_NS_PER_SEC
#define INTERVAL_NS (100 * GT_NS_PER_MS)

void gt_progress_init(struct gt_progress *progress, bool quiet)
{
	*progress = (struct gt_progress){
		.enabled = !quiet && isatty(STDERR_FILENO),
		.start_ns = gt_clock_ns(CLOCK_MONOTONIC),
	};
	progress->next_ns = progress->start_ns + DELAY_NS;
}

void gt_progress_show(struct gt_progress *progress, const char *what, uint64_t done, uint64_t total)
{
	uint64_t now_ns;

	if (!progress->enabled)
		return;
	now_ns = gt_clock_ns(CLOCK_MONOTONIC);
	if (now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + INTERVAL_NS;
	progress->shown = true;
	/* Carriage return, and erase to the end of the line (ECMA-48 EL). */
	if (total > 0)
		fprintf(stderr, "\r\033[Kgiltrace: %s: %" PRIu64 " %%", what,
			(uint64_t)(100.0 * (double)done / (double)total));
	else
		fprintf(stderr, "\r\033[Kgiltrace: %s", what);
	fflush(stderr);
}

void gt_progress_clear(struct gt_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
