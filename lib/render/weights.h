/* SPDX-License-Identifier: MIT */
/*
 * The time in which threads did not run, or waited for the GIL, added up by where they were.
 * Private to lib/render.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "render/folded.h"

struct gt_weight {
	uint64_t ns;
	uint32_t thread;
	uint32_t place; /* index into the places */
};

/* Where a thread was: its stack, and what it did there as far as the stack does not tell. */
struct gt_weight_place {
	uint32_t stack; /* GT_STACK_NONE: not known */
	uint8_t state;	/* enum gt_state_kind, or GT_WEIGHT_NO_STATE */
	uint8_t reason; /* enum gt_sleep_reason */
};

#define GT_WEIGHT_NO_STATE UINT8_MAX

struct gt_weights {
	GT_ARRAY(struct gt_weight) items; /* each thread and place once */
	GT_ARRAY(struct gt_weight_place) places;
	/* Private. */
	struct gt_hash item_by_content, place_by_content;
};

/*
 * The weights of all threads that the report shows. Those of a thread add up to what the summary
 * says of it: off the GIL, to its wait for it, or, where nobody has watched it, to its sleeps for
 * it; off the CPU, to all but running. 0 or -ENOMEM; the caller clears RET.
 */
int gt_weights_collect(const struct gt_report *report, enum gt_folded_kind kind,
		       struct gt_weights *ret);
void gt_weights_clear(struct gt_weights *weights);
