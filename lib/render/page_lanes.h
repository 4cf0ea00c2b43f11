/* SPDX-License-Identifier: MIT */
/*
 * What is in the lanes of a page: its threads in their order, and the bars of each, which are
 * folded when there are too many for one page.
 */
#pragma once

#include "base/macros.h"
#include "render/fold.h"
#include "render/report.h"

/* The bars that are seen, lane after lane. */
struct gt_page_bars {
	struct gt_bar (*get)(const struct gt_trace *trace, uint32_t index);
	uint64_t *ends;	 /* of each thread of the trace: the end of its part of ORDER */
	uint32_t *order; /* of the trace's */
	uint32_t count;	 /* of ORDER */
	/* What is left of them when they are folded. */
	uint32_t *lengths; /* of each thread: how many */
	uint64_t left;
	uint64_t merged; /* how many went into one with others */
};

struct gt_page_lanes {
	const struct gt_trace *trace;
	uint32_t *threads; /* that the page shows, in its order */
	uint32_t count;
	struct gt_page_bars intervals, states;
	uint64_t quantum_ns; /* into which they are folded; 0: they are not */
};

/* Each reason makes another kind of state; 0 is no kind. The page is told what they are called. */
static inline uint32_t gt_page_state_number(uint8_t kind, uint8_t reason)
{
	return 1 + (uint32_t)kind * GT_SLEEP_REASONS + reason;
}

#define GT_PAGE_STATE_NUMBERS (1 + (GT_STATE_UNINTERRUPTIBLE + 1) * GT_SLEEP_REASONS)

/* 0 or -ENOMEM. The caller clears RET, which is zeroed, in any case. */
int gt_page_lanes_find(const struct gt_report *report, struct gt_page_lanes *ret);
void gt_page_lanes_clear(struct gt_page_lanes *lanes);

/* Gives all BARS that are left to EMIT, and returns how many went into one with others. */
uint64_t gt_page_bars_walk(const struct gt_page_lanes *lanes, const struct gt_page_bars *bars,
			   void (*emit)(const struct gt_bar *bar, void *context), void *context);
