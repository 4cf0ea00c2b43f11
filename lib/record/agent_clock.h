/* SPDX-License-Identifier: MIT */
/*
 * The agents' clock, and its times as nanoseconds of CLOCK_MONOTONIC. Now and then both clocks are
 * read at one moment; in between, the one is taken to run evenly against the other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "probes/agent/layout.h"

/* Between two moments that follow one another. */
struct gt_agent_clock_segment {
	uint64_t start_ticks, end_ticks;
	uint64_t start_ns;
	uint64_t ns_per_tick; /* in units of 2^-32 */
};

/* Enough for a minute of threads that were stopped in the middle of a record. A power of two. */
#define GT_AGENT_CLOCK_SEGMENTS 1024u

struct gt_agent_converter {
	enum gt_agent_clock clock;
	uint64_t ticks, ns; /* the newest moment; times up to here can be converted */
	/* The largest that ever was: more than `ticks` when the counter went back, as it may while
	 * a machine sleeps. Up to here are times from before that. */
	uint64_t largest_ticks;
	uint32_t count; /* segments that there ever were */
	struct gt_agent_clock_segment segments[GT_AGENT_CLOCK_SEGMENTS]; /* the newest of them */
};

/* Starts with the moment that is now. */
void gt_agent_converter_start(struct gt_agent_converter *converter, enum gt_agent_clock clock);

/* Adds the moment that is now. */
void gt_agent_converter_advance(struct gt_agent_converter *converter);

/* The same for the moment at which the clocks read TICKS and NS. */
void gt_agent_converter_add(struct gt_agent_converter *converter, uint64_t ticks, uint64_t ns);

/* What is to be made of a time that a record has. */
enum gt_agent_time {
	GT_AGENT_TIME_KNOWN, /* it can be converted */
	GT_AGENT_TIME_YOUNG, /* it is from behind the newest moment */
	GT_AGENT_TIME_WRONG, /* it has not come yet, and so is of another clock */
};

/* For a time beyond the newest moment; gt_agent_converter_judge() is for all. */
enum gt_agent_time gt_agent_converter_judge_late(const struct gt_agent_converter *converter,
						 uint64_t ticks);

static inline enum gt_agent_time gt_agent_converter_judge(
	const struct gt_agent_converter *converter, uint64_t ticks)
{
	if (__builtin_expect(ticks <= converter->ticks, 1))
		return GT_AGENT_TIME_KNOWN;
	return gt_agent_converter_judge_late(converter, ticks);
}

/* The newest segment that TICKS are in, or the oldest one that is known. */
const struct gt_agent_clock_segment *gt_agent_converter_find(
	const struct gt_agent_converter *converter, uint64_t ticks);

/* A time of the agents' clock in nanoseconds: not behind the newest moment. */
static inline uint64_t gt_agent_converter_ns(const struct gt_agent_converter *converter,
					     uint64_t ticks)
{
	const struct gt_agent_clock_segment *segment;
	uint64_t since;

	if (converter->clock != GT_AGENT_CLOCK_TSC)
		return GT_MIN(ticks, converter->ns);
	segment = &converter->segments[(converter->count - 1) % GT_AGENT_CLOCK_SEGMENTS];
	if (__builtin_expect(ticks < segment->start_ticks || ticks > segment->end_ticks, 0))
		segment = gt_agent_converter_find(converter, ticks);
	/* Before the oldest one, the line is drawn on. */
	if (__builtin_expect(ticks < segment->start_ticks, 0)) {
		since = (uint64_t)(((unsigned __int128)(segment->start_ticks - ticks) *
				    segment->ns_per_tick) >>
				   32);
		return since < segment->start_ns ? segment->start_ns - since : 0;
	}
	since = GT_MIN(ticks, segment->end_ticks) - segment->start_ticks;
	return segment->start_ns +
	       (uint64_t)(((unsigned __int128)since * segment->ns_per_tick) >> 32);
}
