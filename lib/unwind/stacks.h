/* SPDX-License-Identifier: MIT */
/*
 * Call stacks, each kept once: a tree in which a stack is a frame and the stack of its caller. So a
 * thousand sleeps at one place take the room of one, and whoever adds up times by stacks adds to
 * one number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/macros.h"

/* The stack of which nothing is known; its parent is itself. */
#define GT_STACK_NONE UINT32_C(0)

enum gt_frame_kind {
	GT_FRAME_USER,
	GT_FRAME_KERNEL,
	GT_FRAME_MARK, /* no code: says what is missing, as "[cut]" */
};

struct gt_frame {
	/* "take_gil"; "libfoo.so+0x1234" where no name is known. Any bytes but NUL. Owned. */
	const char *name;
	const char *file; /* where the code is; NULL for the kernel and marks. Owned. */
	uint8_t kind;	  /* enum gt_frame_kind */
	/*
	 * A thread that is here waits for the GIL: inside of take_gil, or where drop_gil waits
	 * after a requested drop, in whichever function that was put.
	 */
	bool waits_for_gil;
};

struct gt_stack {
	uint32_t parent; /* the caller's; GT_STACK_NONE: no caller is known */
	uint32_t frame;
};

struct gt_stacks {
	GT_ARRAY(struct gt_frame) frames;
	GT_ARRAY(struct gt_stack) stacks; /* parents stand before their children */
	/* Private: where the same one is, if it is there already. */
	struct gt_hash frame_by_content, stack_by_content;
	GT_ARRAY(uint32_t) next_frame; /* with the same hash */
};

/* NULL when out of memory. */
struct gt_stacks *gt_stacks_new(void);
void gt_stacks_free(struct gt_stacks *stacks);
GT_DEFINE_CLEANUP(struct gt_stacks *, gt_stacks_free)

/* The number of a frame, which is copied when it is a new one. 0 or -ENOMEM. */
int gt_stacks_add_frame(struct gt_stacks *stacks, const struct gt_frame *frame, uint32_t *ret);

/* The number of the stack in which PARENT has called FRAME. 0 or -ENOMEM. */
int gt_stacks_push(struct gt_stacks *stacks, uint32_t parent, uint32_t frame, uint32_t *ret);

/* The innermost frame of a stack that is not GT_STACK_NONE. */
static inline const struct gt_frame *gt_stacks_top(const struct gt_stacks *stacks, uint32_t stack)
{
	return &stacks->frames.items[stacks->stacks.items[stack].frame];
}
