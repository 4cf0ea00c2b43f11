/* SPDX-License-Identifier: MIT */
#include "trace/stack_copy.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Copies SIZE bytes to *AT, and steps behind them. */
static const void *put(unsigned char **at, const void *from, size_t size)
{
	unsigned char *copy = *at;

	if (!from || size == 0)
		return NULL;
	memcpy(copy, from, size);
	*at += size;
	return copy;
}

int gt_stack_copy_set(struct gt_stack_copy *copy, const struct gt_stack_sample *sample)
{
	size_t frames_size, registers_size, size;
	unsigned char *at;

	copy->sample = (struct gt_stack_sample){0};
	if (!sample)
		return 0;
	frames_size = (size_t)sample->frame_count * sizeof(uint64_t);
	registers_size = (size_t)__builtin_popcountll(sample->register_mask) * sizeof(uint64_t);
	size = frames_size + registers_size + sample->stack_bytes;
	if (size > copy->capacity) {
		at = realloc(copy->bytes, size);
		if (!at)
			return -ENOMEM;
		copy->bytes = at;
		copy->capacity = size;
	}
	at = copy->bytes;
	copy->sample = *sample;
	copy->sample.frames = put(&at, sample->frames, frames_size);
	copy->sample.registers = put(&at, sample->registers, registers_size);
	copy->sample.stack = put(&at, sample->stack, sample->stack_bytes);
	return 0;
}

void gt_stack_copy_clear(struct gt_stack_copy *copy)
{
	free(copy->bytes);
	*copy = (struct gt_stack_copy){0};
}
