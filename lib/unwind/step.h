/* SPDX-License-Identifier: MIT */
/* From one frame of a stack to its caller's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/cfi.h"
#include "unwind/registers.h"

/* A frame, and the bytes of the stack that it is on. */
struct gt_walk {
	const struct gt_cfi_numbers *numbers;
	struct gt_registers registers;
	uint64_t pc;	     /* where it is, or goes on */
	bool is_interrupted; /* there, and not behind a call: the innermost, and a signal's caller
			      */
	/* The copy is not aligned, and starts with what is at stack_start. */
	const unsigned char *stack;
	uint64_t stack_start;
	uint32_t stack_bytes;
};

enum gt_step {
	GT_STEP_CALLER, /* the walk is at the caller now */
	GT_STEP_END,	/* there is none */
	GT_STEP_CUT,	/* where it is told is behind what was copied of the stack */
	GT_STEP_BROKEN, /* the rule makes no sense with this stack */
};

/* Goes to the caller by RULE, the one for the frame's address. */
enum gt_step gt_walk_step(struct gt_walk *walk, const struct gt_cfi_rule *rule);

/*
 * Goes to the caller as if the function had set up a frame pointer: for code without a rule. It is
 * only a guess that is not against what the stack holds.
 */
enum gt_step gt_walk_step_by_frame_pointer(struct gt_walk *walk);
