/* SPDX-License-Identifier: MIT */
/*
 * Makes fewer bars of many, where a page cannot have all: those that lie within one piece of time,
 * a quantum long, become one of each kind, as long as they are together. Time is cut into quanta
 * from the start of the trace on, so that bars which are merged lie behind one another and fill
 * nothing but their own quantum.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A bar of a lane, of whatever is shown there. */
struct gt_bar {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t kind; /* as the page knows it; 0: nothing is drawn there */
	uint32_t gil;  /* its number + 1, or 0 */
	uint32_t stack;
};

/* More kinds within one quantum make more than one bar each. */
#define GT_FOLD_KINDS 64

struct gt_fold {
	/* To be set at first. EMIT gets each bar that is left, in order. */
	uint64_t origin_ns;
	uint64_t quantum_ns; /* 0: all bars stay as they are */
	void (*emit)(const struct gt_bar *bar, void *context);
	void *context;

	uint64_t merged; /* bars that went into one with others */

	/* Of the quantum that is being read. */
	struct gt_bar bars[GT_FOLD_KINDS];
	uint32_t merged_into[GT_FOLD_KINDS];
	uint32_t count;
	uint64_t start_ns, quantum;
};

/* The next bar of the same thread, behind the one before; or the first one of another thread. */
void gt_fold_add(struct gt_fold *fold, const struct gt_bar *bar);

/* There are no more. */
void gt_fold_end(struct gt_fold *fold);
