/* SPDX-License-Identifier: MIT */
/*
 * What a perf.data file tells of states besides its context switches: who leaves a CPU, and from
 * where; who is woken; how much memory there is; and what is counted. Private to the folder.
 */
#pragma once

#include "perfdata/perfdata.h"
#include "trace/event.h"
#include "unwind/sample.h"

struct gt_perf_state_meaning;

struct gt_perf_states {
	struct gt_perfdata *perfdata;
	struct gt_perf_state_meaning *meanings; /* one for each event of the file */
	uint32_t count;
	struct gt_stack_sample stack; /* that the last event points to */
};

/* Looks for them in PERFDATA, which stays the caller's. None need be there. 0 or -ENOMEM. */
int gt_perf_states_find(struct gt_perfdata *perfdata, struct gt_perf_states *ret);
void gt_perf_states_clear(struct gt_perf_states *states);

/*
 * Turns a sample, or a record of a counter, into an event, whose time and thread are set. False for
 * any other. What it points to is valid until the next call, and as long as the record is.
 */
bool gt_perf_states_convert(struct gt_perf_states *states, const struct gt_perf_record *record,
			    struct gt_event *ret);

/* Whether EVENT is the wake-ups of the whole system, with rings of its own: it alone loses there.
 */
bool gt_perf_states_has_own_rings(const struct gt_perf_states *states, uint32_t event);
