/* SPDX-License-Identifier: MIT */
/* Stacks for tests, from what their functions are called. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "unwind/stacks.h"

static inline void stack_text_push(struct gt_stacks *stacks, uint32_t *stack,
				   const struct gt_frame *frame)
{
	uint32_t number;

	assert_int_equal(gt_stacks_add_frame(stacks, frame, &number), 0);
	assert_int_equal(gt_stacks_push(stacks, *stack, number, stack), 0);
}

/*
 * FUNCTIONS: from the innermost one on, with a bar between the kernel's and the program's. A '!'
 * before a name: it is known that threads wait for the GIL there.
 */
static inline uint32_t stack_text_make(struct gt_stacks *stacks, const char *functions)
{
	_cleanup_free_ char *text = strdup(functions);
	uint32_t stack = GT_STACK_NONE;
	bool in_kernel = false;
	char *name;

	assert_non_null(text);
	/* From the outermost one on. */
	while ((name = strrchr(text, ' ')) || text[0]) {
		struct gt_frame frame = {.name = name ? name + 1 : text};

		if (strcmp(frame.name, "|") == 0) {
			in_kernel = true;
		} else {
			frame.kind = in_kernel ? GT_FRAME_KERNEL : GT_FRAME_USER;
			frame.waits_for_gil = frame.name[0] == '!';
			frame.name += frame.waits_for_gil;
			frame.file = in_kernel ? NULL : "libpython3.so";
			stack_text_push(stacks, &stack, &frame);
		}
		*(name ? name : text) = '\0';
	}
	return stack;
}
