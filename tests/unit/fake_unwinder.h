/* SPDX-License-Identifier: MIT */
/*
 * Takes the place of the unwinder: samples say in words what their stacks are (see stack_text.h),
 * and what becomes of address spaces is written down.
 */
#pragma once

#include <stdio.h>

#include "stack_text.h"
#include "unwind/unwinder.h"

struct gt_unwinder {
	struct gt_stacks *stacks;
	char log[1024]; /* one word for each change of a space */
};

static inline struct gt_unwinder *fake_unwinder_new(void)
{
	struct gt_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	assert_non_null(unwinder);
	unwinder->stacks = gt_stacks_new();
	assert_non_null(unwinder->stacks);
	return unwinder;
}

static inline void fake_unwinder_free(struct gt_unwinder *unwinder)
{
	gt_stacks_free(unwinder->stacks);
	free(unwinder);
}
GT_DEFINE_CLEANUP(struct gt_unwinder *, fake_unwinder_free)

static inline struct gt_stack_sample fake_sample(const char *functions)
{
	return (struct gt_stack_sample){.stack = functions,
					.stack_bytes = (uint32_t)strlen(functions) + 1};
}

static inline __attribute__((format(printf, 2, 3))) void fake_log(struct gt_unwinder *unwinder,
								  const char *format, ...)
{
	size_t length = strlen(unwinder->log);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(unwinder->log + length, sizeof(unwinder->log) - length, format, arguments);
	va_end(arguments);
}

int gt_unwinder_map(struct gt_unwinder *unwinder, uint32_t space, const struct gt_mapping *mapping)
{
	fake_log(unwinder, "map(%u,%s) ", space, mapping->path);
	return 0;
}

int gt_unwinder_fork(struct gt_unwinder *unwinder, uint32_t parent, uint32_t child)
{
	fake_log(unwinder, "fork(%u,%u) ", parent, child);
	return 0;
}

void gt_unwinder_exec(struct gt_unwinder *unwinder, uint32_t space)
{
	fake_log(unwinder, "exec(%u) ", space);
}

int gt_unwinder_unwind(struct gt_unwinder *unwinder, uint32_t space,
		       const struct gt_stack_sample *sample, uint32_t *ret_stack)
{
	(void)space;
	*ret_stack = stack_text_make(unwinder->stacks, sample->stack);
	return 0;
}

struct gt_stacks *gt_unwinder_stacks(struct gt_unwinder *unwinder)
{
	return unwinder->stacks;
}
