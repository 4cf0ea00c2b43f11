/* SPDX-License-Identifier: MIT */
#include "cmd/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "cmd/agent_cost.h"
#include "cmd/buffer_size.h"
#include "cmd/optional_pass.h"
#include "cmd/options.h"
#include "cmd/preload.h"
#include "cmd/probe_choice.h"
#include "cmd/state_capture.h"
#include "cmd/state_choice.h"
#include "cmd/trace_directory.h"
#include "cmd/traced_python.h"
#include "probes/trap_cost.h"
#include "probes/uprobe.h"
#include "record/agent.h"
#include "record/pass.h"

/*
 * For tasks alone. What a user may lock is little, and what the first pass takes of it, the next
 * one lacks: 128 KiB hold what hundreds of processes tell of themselves between two drains.
 */
#define TASK_RING_BYTES (UINT64_C(1) << 20)
#define SMALL_TASK_RING_BYTES (UINT64_C(128) << 10)

enum source_kind { SOURCE_AGENT, SOURCE_GIL, SOURCE_STATE, SOURCE_KINDS };

struct gt_capture {
	const struct gt_capture_spec *spec;
	struct gt_uprobes *uprobes;
	struct gt_agent_recorder *agent;
	struct gt_pass *passes[SOURCE_KINDS]; /* SOURCE_GIL, of the kernel's probes or of tasks
						 alone; SOURCE_STATE */
	char *paths[SOURCE_KINDS];
	struct gt_preload_environment environment;
	enum gt_agent_clock clock;
	uint64_t buffer_bytes; /* as meta.json has it */
	int64_t event_cost_ns;
	/* Those that are open, in no fixed places. */
	struct gt_session_source sources[SOURCE_KINDS];
	enum source_kind source_kinds[SOURCE_KINDS];
	uint32_t source_count;
};

static void add_source(struct gt_capture *capture, enum source_kind kind,
		       struct gt_session_source source)
{
	capture->sources[capture->source_count] = source;
	capture->source_kinds[capture->source_count++] = kind;
}

static void add_pass(struct gt_capture *capture, enum source_kind kind, struct gt_pass *pass)
{
	capture->passes[kind] = pass;
	add_source(capture, kind, gt_pass_source(pass));
}

static int find_paths(struct gt_capture *capture)
{
	static const char *const names[SOURCE_KINDS] = {
		[SOURCE_AGENT] = GT_TRACE_AGENT_FILE,
		[SOURCE_GIL] = GT_TRACE_GIL_FILE,
		[SOURCE_STATE] = GT_TRACE_STATE_FILE,
	};

	for (enum source_kind kind = 0; kind < SOURCE_KINDS; kind++) {
		capture->paths[kind] = gt_format("%s/%s", capture->spec->directory, names[kind]);
		if (!capture->paths[kind])
			return gt_error_oom();
	}
	return 0;
}

static int install_uprobes(struct gt_capture *capture)
{
	uint64_t ns;
	int r;

	gt_uprobes_remove_leftovers();
	r = gt_uprobes_install(NULL, capture->spec->python->elf, capture->spec->sites,
			       &capture->uprobes);
	if (r < 0)
		return r;
	capture->buffer_bytes = gt_buffer_size_of_ring(capture->spec->options);
	r = gt_trap_cost_measure(capture->uprobes, &ns);
	if (r < 0) {
		gt_debug_errno(r, "cannot measure what a probe costs");
		return 0;
	}
	capture->event_cost_ns = (int64_t)ns;
	gt_debug("a probe costs %" PRIu64 " ns", ns);
	return 0;
}

static enum gt_agent_clock choose_clock(const struct gt_options *options)
{
	switch (options->agent_clock) {
	case GT_CLOCK_CHOICE_TSC:
		return GT_AGENT_CLOCK_TSC;
	case GT_CLOCK_CHOICE_MONOTONIC:
		return GT_AGENT_CLOCK_MONOTONIC;
	default:
		return gt_agent_clock_choose();
	}
}

static const char *clock_name(enum gt_agent_clock clock)
{
	return clock == GT_AGENT_CLOCK_TSC ? "tsc" : "monotonic";
}

/* Why there is none, is said as a warning: the program runs without. */
static int try_agent(const struct gt_capture *capture, const struct gt_agent_recorder_spec *spec,
		     struct gt_agent_recorder **ret)
{
	_cleanup_(gt_obstacle_clear) struct gt_obstacle obstacle = {0};
	struct gt_log_capture log;
	char *message;
	int r;

	gt_log_start_capture(&log);
	r = gt_agent_recorder_open(spec, ret);
	message = gt_log_end_capture(&log);
	if (r == 0) {
		free(message);
		return 0;
	}
	gt_obstacle_set_message(&obstacle, message);
	gt_probe_warn_without_agent(capture->spec->options, capture->spec->choice, &obstacle);
	(void)unlink(spec->path);
	return r;
}

char *const *gt_capture_environment(const struct gt_capture *capture)
{
	const struct gt_interpreter *interpreter = &capture->spec->python->interpreter;

	if (capture->environment.variables)
		return capture->environment.variables;
	return interpreter->environment ? interpreter->environment : environ;
}

/* Where the agents cannot be recorded, CAPTURE goes on without. -ENOMEM (logged). */
static int open_agent(struct gt_capture *capture)
{
	const struct gt_capture_spec *spec = capture->spec;
	struct gt_agent_recorder_spec recorder = {
		.path = capture->paths[SOURCE_AGENT],
		.elf = spec->python->elf,
		.sites = spec->sites,
		.buffer_bytes = gt_buffer_size_of_agents(spec->options),
		.keep_ns = spec->options->flight_recorder_ns,
	};
	int r;

	capture->clock = recorder.clock = choose_clock(spec->options);
	if (try_agent(capture, &recorder, &capture->agent) < 0)
		return 0;
	if (!capture->uprobes) {
		capture->buffer_bytes = recorder.buffer_bytes;
		capture->event_cost_ns = (int64_t)gt_agent_cost_measure(capture->clock);
	}
	gt_debug("the agent is %s, its clock %s", spec->choice->agent_file.path,
		 clock_name(capture->clock));
	r = gt_preload_environment_make(gt_capture_environment(capture),
					spec->choice->agent_file.preload, GT_AGENT_VARIABLE,
					gt_agent_recorder_address(capture->agent),
					&capture->environment);
	if (r < 0)
		return r;
	add_source(capture, SOURCE_AGENT, gt_agent_recorder_source(capture->agent));
	return 0;
}

int gt_capture_new(const struct gt_capture_spec *spec, struct gt_capture **ret)
{
	_cleanup_(gt_capture_closep) struct gt_capture *capture = calloc(1, sizeof(*capture));
	int r;

	if (!capture)
		return gt_error_oom();
	capture->spec = spec;
	capture->event_cost_ns = -1;
	r = find_paths(capture);
	if (r < 0)
		return r;
	r = spec->choice->uses_uprobes ? install_uprobes(capture) : 0;
	if (r < 0)
		return r;
	r = spec->choice->uses_agent ? open_agent(capture) : 0;
	if (r < 0)
		return r;
	*ret = GT_STEAL(capture);
	return 0;
}

static int open_gil_events(struct gt_capture *capture, pid_t pid)
{
	struct gt_pass_tracepoint tracepoints[GT_GIL_SITE_RETAKE];
	struct gt_pass_spec spec = {
		.path = capture->paths[SOURCE_GIL],
		.what = "the GIL's events",
		.tracefs = capture->spec->choice->rights.tracefs,
		.probed = gt_elf_path(capture->spec->python->elf),
		.tracepoints = tracepoints,
		.tracepoint_count = ARRAY_SIZE(tracepoints),
		.ring_bytes = capture->buffer_bytes,
		.command = capture->spec->arguments,
	};
	struct gt_pass *pass;
	int r;

	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_RETAKE; kind++)
		tracepoints[kind] =
			(struct gt_pass_tracepoint){.system = gt_uprobes_group(capture->uprobes),
						    .name = gt_gil_site_name(kind)};
	r = gt_pass_open(&spec, pid, &pass);
	if (r < 0)
		return r;
	add_pass(capture, SOURCE_GIL, pass);
	return 0;
}

/* Where perf events are refused, the agent alone tells of threads. */
static void open_tasks(struct gt_capture *capture, pid_t pid)
{
	bool may_lock = gt_rights_may_lock_memory(&capture->spec->choice->rights);
	struct gt_pass_spec spec = {
		.path = capture->paths[SOURCE_GIL],
		.what = "the tasks' events",
		.ring_bytes = may_lock ? TASK_RING_BYTES : SMALL_TASK_RING_BYTES,
		.may_shrink_rings = true,
		.command = capture->spec->arguments,
	};
	_cleanup_free_ char *why = NULL;
	struct gt_pass *pass;

	if (gt_optional_pass_open(&spec, pid, &pass, &why) == 0)
		add_pass(capture, SOURCE_GIL, pass);
	else
		gt_debug("%s", why ? why : "out of memory");
}

/* A negative errno when states are all that is to be recorded, and are not. */
static int open_states(struct gt_capture *capture, pid_t pid)
{
	const struct gt_capture_spec *spec = capture->spec;
	struct gt_state_capture_spec states = {
		.directory = spec->directory,
		.path = capture->paths[SOURCE_STATE],
		.options = spec->options,
		.rights = &spec->choice->rights,
		.arguments = spec->arguments,
	};
	struct gt_pass *pass;
	int r;

	if (!spec->states->has_switches)
		return 0;
	r = gt_state_capture_open(&states, spec->states, pid, &pass);
	if (r < 0)
		return spec->options->gil_detect ? 0 : r;
	add_pass(capture, SOURCE_STATE, pass);
	return 0;
}

int gt_capture_open(struct gt_capture *capture, pid_t pid)
{
	int r = 0;

	/* With the states alone, their file tells of tasks. */
	if (capture->uprobes)
		r = open_gil_events(capture, pid);
	else if (capture->spec->options->gil_detect)
		open_tasks(capture, pid);
	return r < 0 ? r : open_states(capture, pid);
}

static int describe_ways(bool has_uprobes, bool has_agent, struct gt_meta *meta)
{
	free(meta->probe);
	meta->probe = strdup(gt_probe_choice_name(has_uprobes, has_agent));
	return meta->probe ? 0 : gt_error_oom();
}

int gt_capture_describe(const struct gt_capture *capture, struct gt_meta *meta)
{
	if (capture->agent) {
		meta->agent_clock = strdup(clock_name(capture->clock));
		if (!meta->agent_clock)
			return gt_error_oom();
	}
	meta->buffer_bytes = capture->buffer_bytes;
	meta->event_cost_ns = capture->event_cost_ns;
	meta->without_gil = !capture->spec->options->gil_detect;
	if (capture->passes[SOURCE_STATE] &&
	    gt_state_capture_describe(capture->spec->options, capture->spec->states, meta) < 0)
		return -ENOMEM;
	return describe_ways(capture->uprobes != NULL, capture->agent != NULL, meta);
}

struct gt_session_source *gt_capture_sources(struct gt_capture *capture, uint32_t *ret_count)
{
	*ret_count = capture->source_count;
	return capture->sources;
}

static int finish_pass(struct gt_capture *capture, enum source_kind kind, struct gt_meta *meta)
{
	struct gt_pass_counts counts;
	int r = gt_pass_finish(capture->passes[kind], &counts);

	if (r < 0)
		return r;
	gt_debug("%s: %" PRIu64 " events in %" PRIu64 " bytes, lost %" PRIu64, capture->paths[kind],
		 counts.samples, counts.bytes, counts.lost);
	/* The figures say nothing by what else was lost. */
	if (kind == SOURCE_GIL && capture->uprobes)
		meta->lost += counts.lost;
	return 0;
}

/* 1 when processes have loaded the agent, 0 when none has. */
static int finish_agent(struct gt_capture *capture, struct gt_meta *meta)
{
	struct gt_agent_counts counts;
	int r = gt_agent_recorder_finish(capture->agent, &counts);

	if (r < 0)
		return r;
	gt_debug("%s: %" PRIu64 " records of %" PRIu32 " processes, %" PRIu32
		 " threads, lost %" PRIu64,
		 capture->paths[SOURCE_AGENT], counts.records, counts.processes, counts.threads,
		 counts.lost);
	meta->lost += counts.lost;
	/* Where the GIL is off, nobody takes it; that has been said. */
	if (counts.processes > 0 || !capture->spec->python->interpreter.is_gil_enabled)
		return 1;
	gt_warning(
		"%s: no Python of the program has loaded the agent\n"
		"  see whether the program, or a wrapper around it, takes LD_PRELOAD "
		"or " GT_AGENT_VARIABLE " out of the\n"
		"  environment, limits its memory (ulimit -v), runs Python as another user, or in "
		"a root or a PID\n"
		"  namespace of its own without our /proc; with the rights of root, --probe uprobe "
		"needs none of that",
		capture->uprobes ? "only the kernel's probes have watched the GIL"
				 : "the GIL was not watched");
	return 0;
}

int gt_capture_finish(struct gt_capture *capture, struct gt_meta *meta)
{
	bool is_good[SOURCE_KINDS] = {false};
	bool has_agent = false;

	for (uint32_t i = 0; i < capture->source_count; i++) {
		enum source_kind kind = capture->source_kinds[i];
		int r;

		if (capture->sources[i].has_failed)
			continue;
		r = kind == SOURCE_AGENT ? finish_agent(capture, meta)
					 : finish_pass(capture, kind, meta);
		is_good[kind] = r >= 0;
		has_agent |= kind == SOURCE_AGENT && r > 0;
	}
	if ((capture->uprobes && !is_good[SOURCE_GIL] && !is_good[SOURCE_AGENT]) ||
	    (!capture->uprobes && capture->agent && !is_good[SOURCE_AGENT]) ||
	    (!capture->spec->options->gil_detect && !is_good[SOURCE_STATE]))
		return -EIO;
	/* A part of a file would only be in the way of the others. */
	for (uint32_t i = 0; i < capture->source_count; i++)
		if (!is_good[capture->source_kinds[i]])
			(void)unlink(capture->paths[capture->source_kinds[i]]);
	meta->has_states = is_good[SOURCE_STATE];
	return describe_ways(capture->uprobes && is_good[SOURCE_GIL], has_agent, meta);
}

void gt_capture_close(struct gt_capture *capture)
{
	for (enum source_kind kind = 0; kind < SOURCE_KINDS; kind++) {
		if (capture->passes[kind])
			gt_pass_close(capture->passes[kind]);
		free(capture->paths[kind]);
	}
	if (capture->agent)
		gt_agent_recorder_close(capture->agent);
	/* No event of them is open any more. */
	if (capture->uprobes)
		gt_uprobes_remove(capture->uprobes);
	gt_preload_environment_clear(&capture->environment);
	free(capture);
}
