/* SPDX-License-Identifier: MIT */
/* giltrace report: reads what was recorded, and writes the outputs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/exit_status.h"
#include "cmd/load.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/verbs.h"

/* Of two that have one name, the first would be lost. */
static bool is_named_twice(const struct gt_options *options, const char *output)
{
	uint32_t count = options->summary_json && strcmp(options->summary_json, output) == 0;

	gt_array_for_each (&options->outputs, other)
		count += strcmp(*other, output) == 0;
	return count > 1;
}

int gt_report_check_outputs(const struct gt_options *options)
{
	gt_array_for_each (&options->outputs, output) {
		bool gzip;

		if (gt_sink_check(*output) < 0)
			return -EIO;
		if (is_named_twice(options, *output)) {
			gt_error("%s is named for two outputs\n  give each a name of its own",
				 *output);
			return -EINVAL;
		}
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

static void show_writing(void *progress)
{
	gt_progress_show(progress, "writing the timeline", 0, 0);
}

static int render(const struct gt_report *report, gt_render_function function, const char *path,
		  bool gzip, struct gt_progress *progress)
{
	_cleanup_(gt_sink_abandonp) struct gt_sink *sink = NULL;
	int r;

	r = gt_sink_open(path, gzip, &sink);
	if (r < 0)
		return r;
	gt_sink_on_flush(sink, show_writing, progress);
	r = function(report, sink);
	gt_progress_clear(progress);
	if (r < 0)
		return gt_error_errno(r, "cannot write %s", path);
	return gt_sink_close(GT_STEAL(sink));
}

/* 0 when standard error is no terminal, or one that does not tell. */
static uint32_t terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* That nobody reads our standard error is no failure of the report. */
static void render_summary(const struct gt_report *report)
{
	struct gt_sink *sink;

	if (gt_sink_open_stream(stderr, &sink) < 0)
		return;
	gt_render_summary(report, sink);
	(void)gt_sink_close(sink);
}

/* Nothing else goes to standard output. */
static int render_folded(const struct gt_options *options, const struct gt_report *report)
{
	struct gt_sink *sink;
	int r = gt_sink_open_stream(stdout, &sink);

	if (r < 0)
		return r;
	r = gt_render_folded(report, options->folded, sink);
	if (r < 0) {
		gt_sink_abandon(sink);
		return gt_error_errno(r, "cannot write to standard output");
	}
	return gt_sink_close(sink);
}

static int render_all(const struct gt_options *options, const struct gt_report *report,
		      struct gt_progress *progress)
{
	int r;

	gt_array_for_each (&options->outputs, output) {
		bool gzip;
		gt_render_function function = gt_render_for_path(*output, &gzip);

		r = render(report, function, *output, gzip, progress);
		if (r < 0)
			return r;
	}
	if (options->summary_json) {
		r = render(report, gt_render_summary_json, options->summary_json, false, progress);
		if (r < 0)
			return r;
	}
	if (options->folded != GT_FOLDED_NONE) {
		r = render_folded(options, report);
		if (r < 0)
			return r;
	} else if (!options->quiet) {
		render_summary(report);
	}
	gt_array_for_each (&options->outputs, output)
		gt_info("wrote %s", *output);
	return 0;
}

/* Where nobody has watched, that was said when the program was started; and of a file that was cut
 * off nobody can say. */
static void warn_of_no_events(const struct gt_recording *recording)
{
	const struct gt_trace *trace = recording->trace;

	if (trace->events > 0 || trace->is_cut || strcmp(recording->report_meta.probe, "none") == 0)
		return;
	if (recording->report_meta.is_window)
		gt_warning("no thread took the GIL, or let it go, in the time that was kept\n"
			   "  let --flight-recorder keep more");
	else
		gt_warning("no thread used the GIL while events were recorded");
}

/* What there is for --folded: a negative errno (logged) for nothing at all. */
static int check_folded(const struct gt_options *options, const struct gt_recording *recording)
{
	const struct gt_trace *trace = recording->trace;
	bool knows_waits = strcmp(recording->report_meta.probe, "none") != 0;

	if (options->folded == GT_FOLDED_NONE || (recording->unwinder && trace->has_states))
		return 0;
	if (options->folded == GT_FOLDED_OFF_CPU && !trace->has_states) {
		gt_error("there is no time off CPU to show: no states were recorded\n"
			 "  record with --state-detect");
		return -ENODATA;
	}
	if (options->folded == GT_FOLDED_OFF_GIL && !knows_waits) {
		gt_error("there are no waits for the GIL to show: neither the GIL was watched, nor "
			 "were stacks recorded\n"
			 "  record with --state-detect, with the rights of root");
		return -ENODATA;
	}
	gt_warning("there are no stacks: none were recorded\n"
		   "  record with --state-detect, with the rights of root");
	return 0;
}

int gt_report_path(const struct gt_options *options, const char *path)
{
	_cleanup_(gt_recording_clear) struct gt_recording recording = {0};
	struct gt_progress progress;
	int r;

	gt_progress_init(&progress, options->quiet);
	r = gt_recording_load(path, &progress, &recording);
	if (r < 0)
		return r;
	warn_of_no_events(&recording);
	r = check_folded(options, &recording);
	if (r < 0)
		return r;
	return render_all(
		options,
		&(struct gt_report){.trace = recording.trace,
				    .stats = &recording.stats,
				    .stacks = recording.unwinder
						      ? gt_unwinder_stacks(recording.unwinder)
						      : NULL,
				    .meta = &recording.report_meta,
				    .columns = terminal_columns()},
		&progress);
}

int gt_report(const struct gt_options *options)
{
	if (gt_report_check_outputs(options) < 0 || gt_report_path(options, options->directory) < 0)
		return GT_EXIT_FAILURE;
	return 0;
}
