/* SPDX-License-Identifier: MIT */
#include "render/report.h"

#include <string.h>

#include "base/strings.h"

bool gt_report_has_other_python(const struct gt_trace *trace, const struct gt_process *process)
{
	return process->maps_other_python && !(trace->without_gil && trace->pythons.count == 0);
}

bool gt_report_shows_process(const struct gt_report *report, uint32_t process)
{
	const struct gt_process *shown = &report->trace->processes.items[process];

	if (shown->not_watched)
		return true;
	/* It has a GIL, and nobody knows whether it used it. */
	if ((report->trace->is_cut || report->trace->without_gil) && shown->python != GT_NONE)
		return true;
	if (shown->maps_other_python && !gt_report_has_other_python(report->trace, shown))
		return true;
	/* Where nobody has used a GIL, the first one is the target. */
	return shown->gil_events > 0 || (report->trace->events == 0 && process == 0);
}

bool gt_report_knows_waits(const struct gt_report *report)
{
	return !report->meta->probe || strcmp(report->meta->probe, "none") != 0;
}

bool gt_report_knows_thread(const struct gt_report *report, uint32_t thread)
{
	const struct gt_thread *item = &report->trace->threads.items[thread];
	bool has_events = item->takes + item->acquired + item->releases + item->switched > 0;
	uint64_t total_ns = item->end_ns - item->start_ns;

	uint64_t unknown_ns = report->stats->threads[thread].unknown_ns;

	if (!gt_report_knows_waits(report))
		return false;
	/* What little it did before an exec would stand for all that it did. */
	if (report->trace->processes.items[item->process].not_watched)
		return unknown_ns < total_ns / 2;
	return has_events || total_ns == 0 || unknown_ns < total_ns;
}

bool gt_report_knows_gil_sleep(const struct gt_report *report, uint32_t thread)
{
	return gt_report_knows_thread(report, thread) ||
	       (report->trace->without_gil && report->stacks &&
		!report->meta->lacks_frame_pointers);
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
