/* SPDX-License-Identifier: MIT */
#include "unwind/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gt_stacks *gt_stacks_new(void)
{
	_cleanup_(gt_stacks_freep) struct gt_stacks *stacks = calloc(1, sizeof(*stacks));

	/* GT_STACK_NONE */
	if (!stacks || !gt_array_push(&stacks->stacks))
		return NULL;
	return GT_STEAL(stacks);
}

void gt_stacks_free(struct gt_stacks *stacks)
{
	gt_array_for_each (&stacks->frames, frame) {
		free((char *)frame->name);
		free((char *)frame->file);
	}
	gt_array_clear(&stacks->frames);
	gt_array_clear(&stacks->stacks);
	gt_array_clear(&stacks->next_frame);
	gt_hash_clear(&stacks->frame_by_content);
	gt_hash_clear(&stacks->stack_by_content);
	free(stacks);
}

/* FNV-1a, 64 bits. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash * UINT64_C(0x100000001b3);
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_frame(const struct gt_frame *a, const struct gt_frame *b)
{
	return a->kind == b->kind && a->waits_for_gil == b->waits_for_gil &&
	       is_same_text(a->name, b->name) && is_same_text(a->file, b->file);
}

static int copy_frame(struct gt_stacks *stacks, const struct gt_frame *frame)
{
	_cleanup_free_ char *name = strdup(frame->name);
	_cleanup_free_ char *file = frame->file ? strdup(frame->file) : NULL;
	struct gt_frame *copy;

	if (!name || (frame->file && !file))
		return -ENOMEM;
	copy = gt_array_push(&stacks->frames);
	if (!copy)
		return -ENOMEM;
	*copy = *frame;
	copy->name = GT_STEAL(name);
	copy->file = GT_STEAL(file);
	return 0;
}

int gt_stacks_add_frame(struct gt_stacks *stacks, const struct gt_frame *frame, uint32_t *ret)
{
	uint64_t hash =
		hash_text(hash_text(UINT64_C(0xcbf29ce484222325), frame->name), frame->file);
	uint32_t first = gt_hash_get(&stacks->frame_by_content, hash);
	uint32_t *next;
	int r;

	for (uint32_t i = first; i != GT_HASH_NONE; i = stacks->next_frame.items[i]) {
		if (!is_same_frame(&stacks->frames.items[i], frame))
			continue;
		*ret = i;
		return 0;
	}
	next = gt_array_push(&stacks->next_frame);
	if (!next)
		return -ENOMEM;
	*next = first;
	r = copy_frame(stacks, frame);
	if (r == 0)
		r = gt_hash_set(&stacks->frame_by_content, hash, stacks->frames.count - 1);
	if (r < 0)
		return r;
	*ret = stacks->frames.count - 1;
	return 0;
}

int gt_stacks_push(struct gt_stacks *stacks, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint32_t known = gt_hash_get(&stacks->stack_by_content, key);
	struct gt_stack *stack;
	int r;

	if (known != GT_HASH_NONE) {
		*ret = known;
		return 0;
	}
	stack = gt_array_push(&stacks->stacks);
	if (!stack)
		return -ENOMEM;
	*stack = (struct gt_stack){.parent = parent, .frame = frame};
	r = gt_hash_set(&stacks->stack_by_content, key, stacks->stacks.count - 1);
	if (r < 0)
		return r;
	*ret = stacks->stacks.count - 1;
	return 0;
}
