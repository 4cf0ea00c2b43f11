/* SPDX-License-Identifier: MIT */
/*
 * When the threads of a pass are woken. Whoever wakes them need not be followed, so the wake-ups of
 * the whole system go through rings of their own: they may be many, and must not take the place of
 * anything else. Those of other programs are left where they are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/event_set.h"
#include "record/pass_rings.h"

struct gt_followed_threads;
struct gt_pass_output;
struct gt_pass_spec;
struct gt_pass_tracepoint;

struct gt_wakeups {
	struct gt_event_set set; /* of one event */
	struct gt_pass_rings rings;
	uint32_t tid_offset; /* of who is woken, from a record's start */
	bool is_behind;	     /* a ring was more than a quarter full */
};

extern const struct gt_pass_tracepoint gt_wakeups_tracepoint;

/* Opens and starts them. Logs what failed; WAKEUPS can be closed also then. */
int gt_wakeups_open(struct gt_wakeups *wakeups, const struct gt_pass_spec *spec);
void gt_wakeups_close(struct gt_wakeups *wakeups);

/*
 * To be called before the pass's own rings are read: what is written from here on has to wait for
 * the next time. So no wake-up of a thread is looked at before its birth was, nor is one left for
 * the next round that is older than what was written in the last one.
 */
void gt_wakeups_begin(struct gt_wakeups *wakeups);

/* Writes those of FOLLOWED, and what was lost. Logs what failed. */
int gt_wakeups_drain(struct gt_wakeups *wakeups, const struct gt_followed_threads *followed,
		     struct gt_pass_output *output);

/* How long the rings can be left alone, when they are not behind. */
uint64_t gt_wakeups_rest_ms(const struct gt_wakeups *wakeups);
