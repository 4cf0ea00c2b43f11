/* SPDX-License-Identifier: MIT */
/* A sample of a stack that is kept for longer than the record that it is in. */
#pragma once

#include <stddef.h>

#include "unwind/sample.h"

/* Zeroed before the first use. */
struct gt_stack_copy {
	struct gt_stack_sample sample; /* points into BYTES */
	unsigned char *bytes;
	size_t capacity;
};

/* Keeps SAMPLE in place of what was kept before; nothing, when that is NULL. 0 or -ENOMEM. */
int gt_stack_copy_set(struct gt_stack_copy *copy, const struct gt_stack_sample *sample);
void gt_stack_copy_clear(struct gt_stack_copy *copy);
