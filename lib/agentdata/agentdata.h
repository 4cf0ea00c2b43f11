/* SPDX-License-Identifier: MIT */
/* Reads gil.agent (agentdata/format.h): the events of all threads in the order of time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "trace/event.h"

struct gt_agentdata;

struct gt_agentdata_spec {
	const char *path;     /* of gil.agent */
	const char *gil_file; /* that has the GIL: for the events of mapping it */
	const char *build_id; /* of gil_file, hexadecimal; "" when not known */
	/* Whether something else tells of processes and threads, of their births, names and ends.
	 */
	bool gil_events_only;
};

/*
 * Maps and checks a file. One that was cut off is read as far as it goes, with a warning, and its
 * last event says so (GT_EVENT_CUT). -ENOENT … or -EBADMSG (logged).
 */
int gt_agentdata_open(const struct gt_agentdata_spec *spec, struct gt_agentdata **ret);
void gt_agentdata_close(struct gt_agentdata *data);
GT_DEFINE_CLEANUP(struct gt_agentdata *, gt_agentdata_close)

/* Records from before this were thrown away; 0: none were. */
uint64_t gt_agentdata_window_start_ns(const struct gt_agentdata *data);

/* The next event: 1, or 0 at the end, or a negative errno (logged). */
int gt_agentdata_next(struct gt_agentdata *data, struct gt_event *ret);

/* How many of the file's bytes have been read, of how many. */
void gt_agentdata_progress(const struct gt_agentdata *data, uint64_t *ret_done,
			   uint64_t *ret_total);
