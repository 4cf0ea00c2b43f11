/* SPDX-License-Identifier: MIT */
/* The files of a recording, as one stream of events in the order of time. */
#pragma once

#include "agentdata/agentdata.h"
#include "perfdata/perfdata.h"
#include "record/meta.h"
#include "trace/merge.h"
#include "trace/perf_source.h"
#include "trace/window.h"

struct gt_sources {
	char *gil_path, *state_path, *agent_path;
	struct gt_perfdata *gil_perfdata, *state_perfdata;
	struct gt_perf_source *gil, *state; /* NULL without the file */
	struct gt_agentdata *agent;	    /* NULL without the file */
	/* Up to when STATE has told; what is broken behind it, is told as a loss at the end. */
	uint64_t state_ns;
	bool state_is_broken;
	uint64_t latest_ns; /* of what was given */
	bool without_gil; /* nobody was to watch it, or a file that stands alone has no such events
			   */
	bool has_wakeups;
	bool agent_is_twin; /* of the uprobes: not in the stream, but to be compared with it */
	struct gt_merge merge;
	struct gt_window *window;
	struct gt_event_source stream;
};

/* One perf.data file with GIL events, or with the scheduler's. SOURCES is empty before; the caller
 * clears it, also on failure. A negative errno (logged). */
int gt_sources_open_file(const char *path, struct gt_sources *sources);

/* The same for a trace directory. What META tells of and is not there, or broken, is done without
 * where that is possible, with a warning. */
int gt_sources_open_directory(const char *path, const struct gt_meta *meta,
			      struct gt_sources *sources);

/* The next event: 1, or 0 at the end, or a negative errno (logged). */
int gt_sources_next(struct gt_sources *sources, struct gt_event *ret);

/* How far it has come, in bytes of all files. */
void gt_sources_progress(const struct gt_sources *sources, uint64_t *ret_done, uint64_t *ret_total);

/* At the end: tells what was not as it should be. */
void gt_sources_warn(const struct gt_sources *sources);

void gt_sources_clear(struct gt_sources *sources);
