/* SPDX-License-Identifier: MIT */
/* giltrace report: reads what was recorded, and writes the outputs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/time.h"
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/verbs.h"
#include "perfdata/perfdata.h"
#include "record/meta.h"
#include "render/report.h"
#include "trace/perf_source.h"
#include "trace/stats.h"
#include "trace/trace.h"

/* Looking at the clock for each event would cost more than the event. */
#define EVENTS_PER_PROGRESS 65536

int gt_report_check_outputs(const struct gt_options *options)
{
	gt_array_for_each (&options->outputs, output) {
		bool gzip;

		if (gt_sink_check(*output) < 0)
			return -EIO;
		if (!gt_render_for_path(*output, &gzip)) {
			gt_error("cannot tell the format of %s from its name\n"
				 "  let it end in .html, .json or .json.gz",
				 *output);
			return -EINVAL;
		}
	}
	if (options->summary_json && gt_sink_check(options->summary_json) < 0)
		return -EIO;
	return 0;
}

static int render(const struct gt_report *report, gt_render_function function, const char *path,
		  bool gzip)
{
	_cleanup_(gt_sink_abandonp) struct gt_sink *sink = NULL;
	int r;

	r = gt_sink_open(path, gzip, &sink);
	if (r < 0)
		return r;
	r = function(report, sink);
	if (r < 0)
		return gt_error_errno(r, "cannot write %s", path);
	return gt_sink_close(GT_STEAL(sink));
}

static int render_summary(const struct gt_report *report)
{
	_cleanup_(gt_sink_abandonp) struct gt_sink *sink = NULL;
	int r;

	r = gt_sink_open_stream(stderr, &sink);
	if (r < 0)
		return r;
	r = gt_render_summary(report, sink);
	if (r < 0)
		return gt_error_oom();
	return gt_sink_close(GT_STEAL(sink));
}

static int render_all(const struct gt_options *options, const struct gt_report *report,
		      struct gt_progress *progress)
{
	int r;

	gt_array_for_each (&options->outputs, output) {
		bool gzip;
		gt_render_function function = gt_render_for_path(*output, &gzip);

		gt_progress_show(progress, "writing the timeline", 0, 0);
		r = render(report, function, *output, gzip);
		gt_progress_clear(progress);
		if (r < 0)
			return r;
	}
	if (options->summary_json) {
		r = render(report, gt_render_summary_json, options->summary_json, false);
		if (r < 0)
			return r;
	}
	if (!options->quiet) {
		r = render_summary(report);
		if (r < 0)
			return r;
	}
	gt_array_for_each (&options->outputs, output)
		gt_info("wrote %s", *output);
	return 0;
}

static int feed(struct gt_trace *trace, struct gt_perfdata *perfdata, struct gt_perf_source *source,
		struct gt_progress *progress)
{
	struct gt_event event;
	uint64_t count = 0, done, total;
	int r;

	while ((r = gt_perf_source_next(source, &event)) > 0) {
		if (gt_trace_feed(trace, &event) < 0)
			return gt_error_oom();
		if (++count % EVENTS_PER_PROGRESS)
			continue;
		gt_perfdata_progress(perfdata, &done, &total);
		gt_progress_show(progress, "reading events", done, total);
	}
	gt_progress_clear(progress);
	if (r < 0)
		return r;
	return gt_trace_finish(trace) < 0 ? gt_error_oom() : 0;
}

static int add_python(struct gt_trace *trace, struct gt_meta *meta)
{
	const gt_gil_offsets *retake = &meta->sites.offsets[GT_GIL_SITE_RETAKE];
	struct gt_python python = {.path = meta->gil_file,
				   .program = meta->program,
				   .build_id = meta->build_id,
				   .version = meta->version};

	python.retake_offsets.items = retake->items;
	python.retake_offsets.count = retake->count;
	if (!meta->gil_file || !meta->build_id)
		return 0;
	return gt_trace_add_python(trace, &python) < 0 ? gt_error_oom() : 0;
}

/* META is NULL for a file that stands alone: then its own header tells what it can. */
static struct gt_report_meta describe(const struct gt_meta *meta,
				      const struct gt_perfdata *perfdata,
				      const struct gt_trace *trace, char *file_command[static 2])
{
	const struct gt_perfdata_info *info = gt_perfdata_info(perfdata);
	uint64_t clock_ns = meta ? meta->clock_ns : info->clock_ns;
	uint64_t realtime_ns = meta ? meta->realtime_ns : info->realtime_ns;
	struct gt_report_meta report = {
		.probe = "uprobe",
		.clock = "CLOCK_MONOTONIC",
		.exit_status = -1,
		.probe_cost_ns = -1,
	};

	if (realtime_ns)
		report.realtime_ns = realtime_ns + trace->start_ns - clock_ns;
	if (!meta) {
		file_command[0] = (char *)info->command;
		report.command = file_command;
		report.hostname = info->hostname;
		if (info->clock_id != CLOCK_MONOTONIC)
			report.clock = info->clock_id < 0 ? NULL : "other";
		return report;
	}
	report.command = meta->command;
	report.hostname = meta->hostname;
	report.python_path = meta->program;
	report.python_version = meta->version;
	report.python_build_id = meta->build_id;
	report.probe = meta->probe;
	report.found_by = meta->found_by;
	report.exit_status = meta->exit_status;
	if (meta->event_cost_ns >= 0)
		report.probe_cost_ns = meta->event_cost_ns * (int64_t)trace->events;
	return report;
}

static int report_file(const struct gt_options *options, const char *path, struct gt_meta *meta)
{
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	_cleanup_(gt_perf_source_freep) struct gt_perf_source *source = NULL;
	_cleanup_(gt_trace_freep) struct gt_trace *trace = gt_trace_new();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	struct gt_report_meta report_meta;
	char *file_command[2] = {NULL, NULL};
	struct gt_progress progress;
	int r;

	if (!trace)
		return gt_error_oom();
	r = gt_perfdata_open(path, &perfdata);
	if (r < 0)
		return r;
	r = gt_perf_source_new(perfdata, path, &source);
	if (r < 0)
		return r;
	r = meta ? add_python(trace, meta) : 0;
	if (r < 0)
		return r;
	gt_progress_init(&progress, options->quiet);
	r = feed(trace, perfdata, source, &progress);
	if (r < 0)
		return r;
	if (gt_stats_compute(trace, &stats) < 0)
		return gt_error_oom();
	if (gt_perfdata_late_records(perfdata) > 0)
		gt_warning("%s is not in order: %" PRIu64 " records came late", path,
			   gt_perfdata_late_records(perfdata));
	if (trace->foreign > 0)
		gt_debug("%" PRIu64 " events were about other locks", trace->foreign);
	if (trace->events == 0)
		gt_warning("no thread used the GIL while events were recorded");

	report_meta = describe(meta, perfdata, trace, file_command);
	return render_all(
		options, &(struct gt_report){.trace = trace, .stats = &stats, .meta = &report_meta},
		&progress);
}

static int report_directory(const struct gt_options *options, const char *path)
{
	_cleanup_(gt_meta_clear) struct gt_meta meta = {0};
	_cleanup_free_ char *meta_path = gt_format("%s/meta.json", path);
	_cleanup_free_ char *gil_path = gt_format("%s/gil.perf.data", path);
	int r;

	if (!meta_path || !gil_path)
		return gt_error_oom();
	if (access(meta_path, F_OK) < 0 && errno == ENOENT) {
		gt_error("%s is not a trace directory: it has no meta.json\n"
			 "  giltrace makes one with --keep-data, or with giltrace record",
			 path);
		return -ENOENT;
	}
	r = gt_meta_read(meta_path, &meta);
	if (r < 0)
		return r;
	return report_file(options, gil_path, &meta);
}

int gt_report_path(const struct gt_options *options, const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return gt_error_errno(-errno, "cannot read %s", path);
	return S_ISDIR(status.st_mode) ? report_directory(options, path)
				       : report_file(options, path, NULL);
}

int gt_report(const struct gt_options *options)
{
	if (gt_report_check_outputs(options) < 0 || gt_report_path(options, options->directory) < 0)
		return GT_EXIT_FAILURE;
	return 0;
}
