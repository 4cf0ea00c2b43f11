/* SPDX-License-Identifier: MIT */
#include "cmd/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "cmd/load_unwinder.h"
#include "cmd/progress.h"
#include "cmd/trace_directory.h"

/* Looking at the clock for each event would cost more than the event. */
#define EVENTS_PER_PROGRESS 65536

static void show_progress(struct gt_progress *progress, const struct gt_sources *sources)
{
	uint64_t done, total;

	gt_sources_progress(sources, &done, &total);
	gt_progress_show(progress, "reading events", done, total);
}

/* COMPARER, which may be NULL, gets to see what the trace is fed with. */
static int feed(struct gt_trace *trace, struct gt_sources *sources, struct gt_comparer *comparer,
		uint64_t ended_ns, struct gt_progress *progress)
{
	struct gt_event event;
	uint64_t count = 0;
	int r;

	while ((r = gt_sources_next(sources, &event)) > 0) {
		if (gt_trace_feed(trace, &event) < 0 ||
		    (comparer && gt_comparer_add(comparer, GT_COMPARED_UPROBE, &event) < 0))
			return gt_error_oom();
		if (++count % EVENTS_PER_PROGRESS == 0)
			show_progress(progress, sources);
	}
	gt_progress_clear(progress);
	if (r < 0)
		return r;
	if (gt_trace_end_first(trace, ended_ns) < 0 || gt_trace_finish(trace) < 0)
		return gt_error_oom();
	return 0;
}

/* Holds the agent's records against those of the uprobes, which COMPARER has seen. */
static int compare(struct gt_sources *sources, struct gt_comparer *comparer,
		   struct gt_progress *progress, struct gt_comparison *ret)
{
	struct gt_event event;
	uint64_t count = 0;
	int r;

	while ((r = gt_agentdata_next(sources->agent, &event)) > 0) {
		if (gt_comparer_add(comparer, GT_COMPARED_AGENT, &event) < 0)
			return gt_error_oom();
		if (++count % EVENTS_PER_PROGRESS == 0)
			show_progress(progress, sources);
	}
	gt_progress_clear(progress);
	if (r < 0)
		return r;
	return gt_comparer_finish(comparer, ret) < 0 ? gt_error_oom() : 0;
}

static int add_python(struct gt_trace *trace, const struct gt_meta *meta)
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

/* A file that stands alone tells by its own header what it can. */
static void describe_file(struct gt_recording *recording)
{
	const struct gt_perfdata_info *info = gt_perfdata_info(recording->sources.gil_perfdata);
	struct gt_report_meta *report = &recording->report_meta;

	report->is_others = true;
	if (recording->sources.without_gil)
		report->probe = "none";
	recording->file_command[0] = (char *)info->command;
	report->command = recording->file_command;
	report->hostname = info->hostname;
	if (info->clock_id >= 0)
		report->clock = info->clock_id == CLOCK_MONOTONIC ? "CLOCK_MONOTONIC" : "other";
	if (info->realtime_ns)
		report->realtime_ns =
			info->realtime_ns + recording->trace->start_ns - info->clock_ns;
}

/* Of those that were lost too. -1: not known. */
static int64_t probe_cost_ns(const struct gt_meta *meta, const struct gt_trace *trace)
{
	int64_t ns;

	if (meta->event_cost_ns < 0 ||
	    __builtin_mul_overflow(trace->events + trace->lost, (uint64_t)meta->event_cost_ns, &ns))
		return -1;
	return ns;
}

static void describe_directory(struct gt_recording *recording)
{
	const struct gt_meta *meta = &recording->meta;
	struct gt_trace *trace = recording->trace;
	struct gt_report_meta *report = &recording->report_meta;

	/* The target's fork came before the recording. */
	if (trace->processes.count > 0 && trace->processes.items[0].ppid == 0)
		trace->processes.items[0].ppid = meta->recorder_pid;
	report->command = meta->command;
	report->hostname = meta->hostname;
	report->python_path = meta->program;
	report->python_version = meta->version;
	report->python_build_id = meta->build_id;
	/* Of both ways, the trace is that of the uprobes. */
	report->probe = meta->probe && strcmp(meta->probe, "both") != 0 ? meta->probe : "uprobe";
	report->found_by = meta->found_by;
	report->clock = "CLOCK_MONOTONIC";
	report->exit_status = meta->exit_status;
	report->probe_cost_ns = probe_cost_ns(meta, recording->trace);
	report->kept_ns = meta->kept_ns;
	report->is_window = recording->sources.window;
	if (meta->realtime_ns)
		report->realtime_ns =
			meta->realtime_ns + recording->trace->start_ns - meta->clock_ns;
}

static void describe_stacks(struct gt_recording *recording)
{
	struct gt_unwinder_counts counts = gt_unwinder_counts(recording->unwinder);
	struct gt_report_meta *report = &recording->report_meta;

	report->stacks = counts.samples;
	report->stacks_cut = counts.cut;
	report->stacks_broken = counts.broken;
	/* Of programs that have them, some do not while they are being loaded. */
	report->lacks_frame_pointers = counts.whole_chains < counts.chains - counts.chains / 50;
}

/* An empty model, which knows how its events were recorded. */
static int begin_trace(struct gt_recording *recording)
{
	const struct gt_sources *sources = &recording->sources;
	struct gt_trace *trace = recording->trace = gt_trace_new();

	if (!trace)
		return gt_error_oom();
	trace->takes_are_waits = sources->agent && !sources->agent_is_twin;
	trace->silence_is_blindness = trace->takes_are_waits && !recording->meta.is_gil_off;
	trace->has_states = sources->state;
	trace->unwinder = recording->unwinder;
	trace->without_gil = sources->without_gil;
	trace->has_wakeups = sources->has_wakeups;
	return add_python(trace, &recording->meta);
}

/* Makes the model of what the sources give. */
static int make_trace(struct gt_recording *recording, struct gt_progress *progress)
{
	_cleanup_(gt_comparer_freep) struct gt_comparer *comparer = NULL;
	struct gt_sources *sources = &recording->sources;
	struct gt_trace *trace;
	int r;

	r = begin_trace(recording);
	if (r < 0)
		return r;
	trace = recording->trace;
	if (sources->agent && sources->agent_is_twin) {
		comparer = gt_comparer_new();
		if (!comparer)
			return gt_error_oom();
	}
	r = feed(trace, sources, comparer, recording->meta.ended_ns, progress);
	if (r < 0)
		return r;
	if (recording->unwinder)
		describe_stacks(recording);
	if (comparer) {
		r = compare(sources, comparer, progress, &recording->comparison);
		if (r < 0)
			return r;
		recording->report_meta.comparison = &recording->comparison;
	}
	if (gt_stats_compute(trace, &recording->stats) < 0)
		return gt_error_oom();
	gt_sources_warn(sources);
	if (trace->foreign > 0)
		gt_debug("%" PRIu64 " events were about other locks", trace->foreign);
	return 0;
}

/*
 * A file of a trace directory that says nothing of the GIL by itself: a message that names the
 * directory, and -EINVAL. 0 for others.
 */
static int refuse_part(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	int length = (int)(name - path);
	bool is_gil_file = strcmp(name, GT_TRACE_GIL_FILE) == 0;
	_cleanup_(gt_meta_clear) struct gt_meta meta = {0};
	_cleanup_free_ char *meta_path = NULL;
	struct gt_log_capture capture;
	int r;

	if (!is_gil_file && strcmp(name, GT_TRACE_STATE_FILE) != 0 &&
	    strcmp(name, GT_TRACE_AGENT_FILE) != 0)
		return 0;
	meta_path = gt_format("%.*s" GT_TRACE_META_FILE, length, path);
	if (!meta_path)
		return gt_error_oom();
	gt_log_start_capture(&capture);
	r = gt_meta_read(meta_path, &meta);
	/* Whatever is wrong with that file, it is none of this one. */
	free(gt_log_end_capture(&capture));
	if (r < 0 || (is_gil_file && (!meta.probe || (strcmp(meta.probe, "agent") != 0 &&
						      strcmp(meta.probe, "none") != 0))))
		return 0;
	gt_error("%s is one part of a recording\n"
		 "  give the directory: giltrace report %.*s",
		 path, length > 0 ? length : 1, length > 0 ? path : ".");
	return -EINVAL;
}

static int load_file(const char *path, struct gt_progress *progress, struct gt_recording *recording)
{
	int r;

	r = refuse_part(path);
	if (r < 0)
		return r;
	r = gt_sources_open_file(path, &recording->sources);
	if (r < 0)
		return r;
	r = gt_load_unwinder_of_file(recording->sources.gil_perfdata, &recording->unwinder);
	if (r < 0)
		return r;
	r = make_trace(recording, progress);
	if (r < 0)
		return r;
	describe_file(recording);
	return 0;
}

static int load_directory(const char *path, struct gt_progress *progress,
			  struct gt_recording *recording)
{
	_cleanup_free_ char *meta_path = gt_format("%s/%s", path, GT_TRACE_META_FILE);
	_cleanup_free_ char *gil_path = gt_format("%s/%s", path, GT_TRACE_GIL_FILE);
	int r;

	if (!meta_path || !gil_path)
		return gt_error_oom();
	if (access(meta_path, F_OK) < 0 && access(gil_path, F_OK) == 0) {
		gt_error("the recording in %s was cut off: it has events, and no meta.json\n"
			 "  record again",
			 path);
		return -ENODATA;
	}
	if (access(meta_path, F_OK) < 0 && errno == ENOENT) {
		gt_error("%s is not a trace directory: it has no meta.json\n"
			 "  giltrace makes one with --keep-data, or with giltrace record",
			 path);
		return -ENOENT;
	}
	r = gt_meta_read(meta_path, &recording->meta);
	if (r < 0)
		return r;
	r = gt_sources_open_directory(path, &recording->meta, &recording->sources);
	if (r < 0)
		return r;
	if (!recording->meta.is_complete)
		gt_warning(
			"the recording in %s was cut off: giltrace was killed, or could not write\n"
			"  what had been written until then is reported",
			path);
	/* Their file may be missing, or broken. */
	if (recording->sources.state)
		r = gt_load_unwinder(path, &recording->meta, &recording->unwinder);
	if (r < 0)
		return r;
	r = make_trace(recording, progress);
	if (r < 0)
		return r;
	if (recording->trace->processes.count > 0 &&
	    recording->trace->processes.items[0].maps_replaced_python)
		gt_warning("%s was replaced before the program was started: nothing was recorded\n"
			   "  run giltrace again",
			   recording->meta.gil_file);
	describe_directory(recording);
	return 0;
}

int gt_recording_load(const char *path, struct gt_progress *progress,
		      struct gt_recording *recording)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return gt_error_errno(-errno,
				      "cannot read %s\n"
				      "  give a trace directory of giltrace, or a perf.data file",
				      path);
	recording->report_meta =
		(struct gt_report_meta){.probe = "uprobe", .exit_status = -1, .probe_cost_ns = -1};
	return S_ISDIR(status.st_mode) ? load_directory(path, progress, recording)
				       : load_file(path, progress, recording);
}

void gt_recording_clear(struct gt_recording *recording)
{
	gt_stats_clear(&recording->stats);
	gt_trace_free(recording->trace);
	if (recording->unwinder)
		gt_unwinder_free(recording->unwinder);
	gt_comparison_clear(&recording->comparison);
	gt_sources_clear(&recording->sources);
	gt_meta_clear(&recording->meta);
	*recording = (struct gt_recording){0};
}
