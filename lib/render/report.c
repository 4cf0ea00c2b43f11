/* SPDX-License-Identifier: MIT */
#include "render/report.h"

#include <string.h>

#include "base/strings.h"

bool gt_report_shows_process(const struct gt_report *report, uint32_t process)
{
	const struct gt_process *shown = &report->trace->processes.items[process];

	/* Where nobody has used a GIL, the first one is the target. */
	return shown->gil_events > 0 || (report->trace->events == 0 && process == 0);
}

bool gt_report_knows_waits(const struct gt_report *report)
{
	return !report->meta->probe || strcmp(report->meta->probe, "none") != 0;
}

bool gt_report_is_estimate(const struct gt_report *report)
{
	return report->meta->found_by && strcmp(report->meta->found_by, "returns") == 0;
}

gt_render_function gt_render_for_path(const char *path, bool *ret_gzip)
{
	*ret_gzip = gt_string_ends_with(path, ".gz");
	if (gt_string_ends_with(path, ".html"))
		return gt_render_html;
	if (gt_string_ends_with(path, ".json") || gt_string_ends_with(path, ".json.gz"))
		return gt_render_chrome_json;
	return NULL;
}
