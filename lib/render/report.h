/* SPDX-License-Identifier: MIT */
/*
 * What a report is made of, and the outputs that it can be made into. One file an output; each is a
 * function that writes one report to one sink.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "render/sink.h"
#include "trace/comparison.h"
#include "trace/stats.h"
#include "trace/trace.h"
#include "unwind/stacks.h"

/* What is known of the recording besides its events. NULL or -1 where it is not. */
struct gt_report_meta {
	char *const *command; /* NULL-terminated; the target's, any bytes */
	const char *hostname;
	const char *python_path, *python_version, *python_build_id; /* of the target */
	const char *probe;					    /* "uprobe", "agent", "none" */
	const char *found_by;					    /* "symbols" */
	const char *clock;					    /* "CLOCK_MONOTONIC" */
	uint64_t realtime_ns;  /* CLOCK_REALTIME at start_ns; 0 when not known */
	int64_t exit_status;   /* of the target as a shell would give it; -1 when not known */
	int64_t probe_cost_ns; /* estimate of what probing added; -1 when not known */
	uint64_t kept_ns;      /* by the flight recorder; 0: all was kept */
	bool is_window;	       /* what was before that was there, and is not */
	bool is_others;	       /* recorded by another program, with its own options */
	/* How many stacks were recorded, how many go on behind what was copied of them, and how
	 * many could not be followed to their end. */
	uint64_t stacks, stacks_cut, stacks_broken;
	bool lacks_frame_pointers; /* by which stacks were recorded: they miss callers */
	const struct gt_comparison *comparison; /* NULL unless both ways of capture were used */
};

struct gt_report {
	const struct gt_trace *trace;
	const struct gt_stats *stats;
	const struct gt_stacks *stacks; /* of the states; NULL where they were not recorded */
	const struct gt_report_meta *meta;
	uint32_t page_slices; /* that a page has at most; 0: what a browser shows without delay */
	uint32_t columns;     /* of the terminal that the summary goes to; 0: no limit */
};

/*
 * Whether PROCESS of TRACE ran another Python than the target's. Of states that another program has
 * recorded alone, nobody knows which one that is: there, none is another.
 */
bool gt_report_has_other_python(const struct gt_trace *trace, const struct gt_process *process);

/* Whether PROCESS has something to do with a GIL: others are left out of what people look at. */
bool gt_report_shows_process(const struct gt_report *report, uint32_t process);

/* False when nobody has watched the GIL: then its figures are not known. */
bool gt_report_knows_waits(const struct gt_report *report);

/*
 * The same for one thread: false when it has no events and its life is unknown, or when its process
 * was not watched for the most of it.
 */
bool gt_report_knows_thread(const struct gt_report *report, uint32_t thread);

/*
 * Whether it is known how long a thread slept for the GIL: from its waits, or, where nobody was to
 * watch the GIL, from stacks that are whole.
 */
bool gt_report_knows_gil_sleep(const struct gt_report *report, uint32_t thread);

/* Whether its moments stand in for the true ones, so that all figures are estimates. */
bool gt_report_is_estimate(const struct gt_report *report);

/* Each returns 0 or a negative errno, which the sink has logged or which is -ENOMEM. */
int gt_render_summary(const struct gt_report *report, struct gt_sink *sink);
int gt_render_summary_json(const struct gt_report *report, struct gt_sink *sink);
int gt_render_chrome_json(const struct gt_report *report, struct gt_sink *sink);
int gt_render_html(const struct gt_report *report, struct gt_sink *sink);

/* The output for a file name, by its suffix: .html, .json, .json.gz; NULL when there is none. */
typedef int (*gt_render_function)(const struct gt_report *report, struct gt_sink *sink);
gt_render_function gt_render_for_path(const char *path, bool *ret_gzip);
