/* SPDX-License-Identifier: MIT */
/*
 * meta.json of a trace directory: what the events do not say. Written when the target has ended
 * (and perhaps before, in case giltrace is killed), read by `giltrace report`, perhaps elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "python/gil_sites.h"

struct gt_meta {
	char **command; /* the target's, NULL-terminated */
	char *hostname;
	char *program;	   /* the interpreter as it was started */
	char *gil_file;	   /* the file that has the GIL */
	char *version;	   /* of Python */
	char *build_id;	   /* of gil_file; "" when it has none */
	char *probe;	   /* "uprobe", "agent", "both", or "none" */
	char *agent_clock; /* "tsc" or "monotonic"; NULL without an agent */
	bool without_gil;  /* nobody was to watch it: the states alone were recorded */
	bool has_states;   /* state.perf.data was recorded, too */
	char *call_graph; /* how stacks were recorded in it, "dwarf" or "fp"; NULL: they were not */
	uint32_t stack_bytes; /* with "dwarf": how much of each */
	bool has_wakeups;     /* they are in it, too */
	char *root;	      /* of the target, where that is not ours; else NULL */
	bool is_complete;     /* false: giltrace was killed meanwhile */
	bool is_gil_off;      /* of a free-threaded Python: it is not used */
	uint64_t kept_ns;     /* how much the flight recorder kept of the GIL's events; 0: all */
	char *found_by;	      /* "symbols" */
	struct gt_gil_sites sites;
	uint32_t recorder_pid; /* of giltrace: the target's parent; 0 when not known */
	uint64_t clock_ns;     /* one moment on CLOCK_MONOTONIC … */
	uint64_t realtime_ns;  /* … and on CLOCK_REALTIME */
	uint64_t buffer_bytes; /* of each CPU's ring */
	uint64_t lost;
	uint64_t ended_ns;     /* when the target was seen to have ended; 0 when not known */
	int64_t exit_status;   /* as a shell would give it; -1 when not known */
	int64_t event_cost_ns; /* estimate of what one event cost its thread; -1 when not known */
};

/* Writes PATH. A negative errno (logged). */
int gt_meta_write(const struct gt_meta *meta, const char *path);

/* Reads PATH. -ENOENT … or -EBADMSG for what is no such file (logged). The caller clears RET. */
int gt_meta_read(const char *path, struct gt_meta *ret);
void gt_meta_clear(struct gt_meta *meta);
