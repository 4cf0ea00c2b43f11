/* SPDX-License-Identifier: MIT */
#include "cmd/sources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "cmd/trace_directory.h"

static int next_of_perf(void *object, struct gt_event *ret)
{
	return gt_perf_source_next(object, ret);
}

/* What is broken further on ends there, and does not take the GIL's events along. */
static int next_of_optional(void *object, struct gt_event *ret)
{
	int r = gt_perf_source_next(object, ret);

	return r < 0 && r != -ENOMEM ? 0 : r;
}

/* Likewise; but that a thread was last seen on a CPU does not mean that it stayed there. */
static int next_of_states(void *object, struct gt_event *ret)
{
	struct gt_sources *sources = object;
	int r = gt_perf_source_next(sources->state, ret);

	if (r > 0)
		sources->state_ns = GT_MAX(sources->state_ns, ret->time_ns);
	if (r >= 0 || r == -ENOMEM)
		return r;
	sources->state_is_broken = true;
	return 0;
}

static int next_of_agent(void *object, struct gt_event *ret)
{
	return gt_agentdata_next(object, ret);
}

static int open_perf(const char *path, unsigned int wants, struct gt_perfdata **ret_perfdata,
		     struct gt_perf_source **ret_source)
{
	struct gt_perf_source_spec spec = {.path = path, .wants = wants};
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	int r;

	r = gt_perfdata_open(path, &perfdata);
	if (r < 0)
		return r;
	r = gt_perf_source_new(perfdata, &spec, ret_source);
	if (r < 0)
		return r;
	*ret_perfdata = GT_STEAL(perfdata);
	return 0;
}

/* A file that can be done without: -ENOENT without a word; else a warning that says what INSTEAD.
 */
static int try_perf(const char *path, unsigned int wants, const char *instead,
		    struct gt_perfdata **ret_perfdata, struct gt_perf_source **ret_source)
{
	struct gt_log_capture capture;
	_cleanup_free_ char *said = NULL;
	int r;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return -ENOENT;
	gt_log_start_capture(&capture);
	r = open_perf(path, wants, ret_perfdata, ret_source);
	said = gt_log_end_capture(&capture);
	if (said)
		gt_debug("%s", said);
	if (r < 0 && r != -ENOMEM)
		gt_warning("%s was not finished, or is broken: %s", path, instead);
	return r;
}

static int open_agent(const struct gt_meta *meta, struct gt_sources *sources, bool gil_events_only)
{
	struct gt_agentdata_spec spec = {.path = sources->agent_path,
					 .gil_file = meta->gil_file,
					 .build_id = meta->build_id ? meta->build_id : "",
					 .gil_events_only = gil_events_only};

	return gt_agentdata_open(&spec, &sources->agent);
}

static void add_source(struct gt_sources *sources, int (*next)(void *, struct gt_event *),
		       void *object)
{
	gt_merge_add(&sources->merge, (struct gt_event_source){.next = next, .object = object});
}

static void begin_stream(struct gt_sources *sources)
{
	sources->stream =
		(struct gt_event_source){.next = gt_merge_next, .object = &sources->merge};
}

/* Uprobes; beside them perhaps the agent, which then is looked at later. */
static int open_uprobes(const struct gt_meta *meta, struct gt_sources *sources)
{
	struct gt_log_capture capture;
	_cleanup_free_ char *said = NULL;
	int r = open_perf(sources->gil_path, GT_PERF_WANTS_GIL | GT_PERF_WANTS_TASKS,
			  &sources->gil_perfdata, &sources->gil);

	if (r < 0)
		return r;
	add_source(sources, next_of_perf, sources->gil);
	if (strcmp(meta->probe, "both") != 0)
		return 0;
	sources->agent_is_twin = true;
	gt_log_start_capture(&capture);
	r = open_agent(meta, sources, true);
	said = gt_log_end_capture(&capture);
	if (r < 0)
		gt_warning("there is nothing to compare the uprobes with: %s",
			   said ? said : strerror(-r));
	else if (said)
		gt_warning("%s", said);
	return r == -ENOMEM ? r : 0;
}

static int open_agents(const struct gt_meta *meta, struct gt_sources *sources)
{
	int r = try_perf(sources->gil_path, GT_PERF_WANTS_TASKS,
			 "threads, their names and their ends are taken from the agent alone",
			 &sources->gil_perfdata, &sources->gil);

	if (r == -ENOMEM)
		return r;
	if (sources->gil)
		add_source(sources, next_of_optional, sources->gil);
	return open_agent(meta, sources, sources->gil);
}

/* Nobody has watched the GIL: there may be tasks at the most. */
static int open_tasks(struct gt_sources *sources)
{
	int r = try_perf(sources->gil_path, GT_PERF_WANTS_TASKS, "there are no threads to report",
			 &sources->gil_perfdata, &sources->gil);

	if (r == -ENOMEM)
		return r;
	if (sources->gil)
		add_source(sources, next_of_optional, sources->gil);
	return 0;
}

static int open_states(const struct gt_meta *meta, struct gt_sources *sources)
{
	int r;

	if (!meta->has_states)
		return 0;
	r = try_perf(sources->state_path, GT_PERF_WANTS_SWITCHES,
		     "when threads were on a CPU is not known", &sources->state_perfdata,
		     &sources->state);
	if (sources->state)
		add_source(sources, next_of_states, sources);
	return r == -ENOMEM ? r : 0;
}

static int open_window(struct gt_sources *sources)
{
	uint64_t start_ns = sources->agent ? gt_agentdata_window_start_ns(sources->agent) : 0;
	int r;

	if (start_ns == 0 || sources->agent_is_twin)
		return 0;
	r = gt_window_new(sources->stream, start_ns, &sources->window);
	if (r < 0)
		return r;
	sources->stream =
		(struct gt_event_source){.next = gt_window_next, .object = sources->window};
	return 0;
}

/* The states are all there is, tasks included. */
static int open_states_alone(struct gt_sources *sources)
{
	int r = open_perf(sources->state_path, GT_PERF_WANTS_TASKS | GT_PERF_WANTS_SWITCHES,
			  &sources->state_perfdata, &sources->state);

	if (r < 0)
		return r;
	add_source(sources, next_of_states, sources);
	return 0;
}

static bool has_event(const struct gt_perfdata *perfdata, const char *name)
{
	for (uint32_t i = 0; i < gt_perfdata_event_count(perfdata); i++) {
		const struct gt_perf_event *event = gt_perfdata_event(perfdata, i);

		if (event->name && strcmp(event->name, name) == 0)
			return true;
	}
	return false;
}

/* All in one file: perf record --switch-events. */
static int open_whole(struct gt_sources *sources)
{
	struct gt_perf_source_spec spec = {
		.path = sources->gil_path,
		.wants = GT_PERF_WANTS_TASKS | GT_PERF_WANTS_SWITCHES,
	};
	int r = gt_perfdata_open(sources->gil_path, &sources->gil_perfdata);

	if (r < 0)
		return r;
	sources->without_gil = has_event(sources->gil_perfdata, "sched_switch") &&
			       !has_event(sources->gil_perfdata, "acquired");
	if (!sources->without_gil)
		spec.wants |= GT_PERF_WANTS_GIL;
	sources->has_wakeups = has_event(sources->gil_perfdata, "sched_waking");
	r = gt_perf_source_new(sources->gil_perfdata, &spec, &sources->gil);
	if (r < 0)
		return r;
	add_source(sources, next_of_perf, sources->gil);
	return 0;
}

int gt_sources_open_file(const char *path, struct gt_sources *sources)
{
	begin_stream(sources);
	sources->gil_path = strdup(path);
	return sources->gil_path ? open_whole(sources) : gt_error_oom();
}

int gt_sources_open_directory(const char *path, const struct gt_meta *meta,
			      struct gt_sources *sources)
{
	bool has_agent = meta->probe && strcmp(meta->probe, "agent") == 0;
	bool has_none = meta->probe && strcmp(meta->probe, "none") == 0;
	int r;

	begin_stream(sources);
	sources->gil_path = gt_format("%s/%s", path, GT_TRACE_GIL_FILE);
	sources->state_path = gt_format("%s/%s", path, GT_TRACE_STATE_FILE);
	sources->agent_path = gt_format("%s/%s", path, GT_TRACE_AGENT_FILE);
	if (!sources->gil_path || !sources->state_path || !sources->agent_path)
		return gt_error_oom();
	sources->without_gil = meta->without_gil;
	sources->has_wakeups = meta->has_wakeups;
	if (meta->without_gil)
		return open_states_alone(sources);
	r = has_agent	  ? open_agents(meta, sources)
	    : has_none	  ? open_tasks(sources)
	    : meta->probe ? open_uprobes(meta, sources)
			  : open_whole(sources);
	if (r < 0)
		return r;
	/* Behind those of the GIL: of events of one time, births come first. */
	r = open_states(meta, sources);
	if (r < 0)
		return r;
	if (has_agent)
		add_source(sources, next_of_agent, sources->agent);
	return open_window(sources);
}

/* Nothing is known of states from where their file is broken up to the end. */
static int tell_of_broken_states(struct gt_sources *sources, struct gt_event *ret)
{
	if (!sources->state_is_broken)
		return 0;
	sources->state_is_broken = false;
	gt_warning("%s is broken: when threads were on a CPU is not known any more from there on",
		   sources->state_path);
	*ret = (struct gt_event){.time_ns = GT_MAX(sources->latest_ns, sources->state_ns),
				 .type = GT_EVENT_SWITCHES_LOST,
				 .ring = GT_EVENT_NO_RING,
				 .gap = {.since_ns = sources->state_ns}};
	return 1;
}

int gt_sources_next(struct gt_sources *sources, struct gt_event *ret)
{
	int r = sources->stream.next(sources->stream.object, ret);

	if (r == 0)
		r = tell_of_broken_states(sources, ret);
	if (r > 0)
		sources->latest_ns = GT_MAX(sources->latest_ns, ret->time_ns);
	return r;
}

void gt_sources_progress(const struct gt_sources *sources, uint64_t *ret_done, uint64_t *ret_total)
{
	const struct gt_perfdata *files[] = {sources->gil_perfdata, sources->state_perfdata};
	uint64_t done, total;

	*ret_done = *ret_total = 0;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!files[i])
			continue;
		gt_perfdata_progress(files[i], &done, &total);
		*ret_done += done;
		*ret_total += total;
	}
	if (!sources->agent)
		return;
	gt_agentdata_progress(sources->agent, &done, &total);
	*ret_done += done;
	*ret_total += total;
}

static void warn_of_late_records(const struct gt_perfdata *perfdata, const char *path)
{
	uint64_t late = perfdata ? gt_perfdata_late_records(perfdata) : 0;

	if (late > 0)
		gt_warning("%s is not in order: %" PRIu64 " records came late", path, late);
}

void gt_sources_warn(const struct gt_sources *sources)
{
	warn_of_late_records(sources->gil_perfdata, sources->gil_path);
	warn_of_late_records(sources->state_perfdata, sources->state_path);
	/* The losses of GIL events and of context switches are a part of the trace. */
	if (sources->gil && gt_perf_source_lost(sources->gil) > 0)
		gt_warning("%s: %" PRIu64 " births, names or ends of threads were lost\n"
			   "  a larger --buffer-size may keep them",
			   sources->gil_path, gt_perf_source_lost(sources->gil));
}

void gt_sources_clear(struct gt_sources *sources)
{
	if (sources->window)
		gt_window_free(sources->window);
	gt_perf_source_free(sources->gil);
	gt_perf_source_free(sources->state);
	gt_perfdata_close(sources->gil_perfdata);
	gt_perfdata_close(sources->state_perfdata);
	gt_agentdata_close(sources->agent);
	free(sources->gil_path);
	free(sources->state_path);
	free(sources->agent_path);
	*sources = (struct gt_sources){0};
}
