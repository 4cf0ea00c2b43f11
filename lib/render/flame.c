/* SPDX-License-Identifier: MIT */
#include "render/flame.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "render/weights.h"

#define NO_NAME UINT32_MAX
#define ROOT 0

struct builder {
	const struct gt_report *report;
	struct gt_names *names;
	struct gt_flame *flame;
	uint32_t *thread_nodes; /* ROOT: none yet */
	uint32_t *frame_names;	/* NO_NAME: not asked for yet */
	GT_ARRAY(uint32_t) path;
};

static void builder_clear(struct builder *builder)
{
	free(builder->thread_nodes);
	free(builder->frame_names);
	gt_array_clear(&builder->path);
}

static int builder_init(struct builder *builder)
{
	const struct gt_stacks *stacks = builder->report->stacks;
	size_t frames = stacks ? stacks->frames.count : 0;

	builder->thread_nodes =
		calloc((size_t)builder->report->trace->threads.count + 1, sizeof(uint32_t));
	builder->frame_names = calloc(frames + 1, sizeof(uint32_t));
	if (!builder->thread_nodes || !builder->frame_names ||
	    !gt_array_push(&builder->flame->nodes))
		return -ENOMEM;
	for (size_t i = 0; i < frames; i++)
		builder->frame_names[i] = NO_NAME;
	return 0;
}

static int find_child(struct gt_flame *flame, uint32_t parent, uint32_t name, uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | name;
	struct gt_flame_node *node;

	*ret = gt_hash_get(&flame->by_content, key);
	if (*ret != GT_HASH_NONE)
		return 0;
	node = gt_array_push(&flame->nodes);
	if (!node)
		return -ENOMEM;
	*node = (struct gt_flame_node){.parent = parent, .name = name};
	*ret = flame->nodes.count - 1;
	return gt_hash_set(&flame->by_content, key, *ret);
}

static int find_thread(struct builder *builder, uint32_t index, uint32_t *ret)
{
	const struct gt_trace *trace = builder->report->trace;
	const struct gt_thread *thread = &trace->threads.items[index];
	const struct gt_process *process = &trace->processes.items[thread->process];
	uint32_t *node = &builder->thread_nodes[index];
	uint32_t name, parent;

	if (*node == ROOT) {
		if (gt_names_add_numbered(builder->names, process->command, process->pid, &name) <
			    0 ||
		    find_child(builder->flame, ROOT, name, &parent) < 0 ||
		    gt_names_add_numbered(builder->names, thread->name, thread->tid, &name) < 0 ||
		    find_child(builder->flame, parent, name, node) < 0)
			return -ENOMEM;
	}
	*ret = *node;
	return 0;
}

static int find_frame_name(struct builder *builder, uint32_t frame, uint32_t *ret)
{
	uint32_t *name = &builder->frame_names[frame];

	if (*name == NO_NAME &&
	    gt_names_add(builder->names, builder->report->stacks->frames.items[frame].name, name) <
		    0)
		return -ENOMEM;
	*ret = *name;
	return 0;
}

/* Goes from NODE down along a stack. */
static int descend(struct builder *builder, uint32_t stack, uint32_t *node)
{
	const struct gt_stacks *stacks = builder->report->stacks;

	builder->path.count = 0;
	for (; stacks && stack != GT_STACK_NONE; stack = stacks->stacks.items[stack].parent) {
		uint32_t *frame = gt_array_push(&builder->path);

		if (!frame)
			return -ENOMEM;
		*frame = stacks->stacks.items[stack].frame;
	}
	for (uint32_t i = builder->path.count; i-- > 0;) {
		uint32_t name;

		if (find_frame_name(builder, builder->path.items[i], &name) < 0 ||
		    find_child(builder->flame, *node, name, node) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_state(struct builder *builder, const struct gt_weight_place *place, uint32_t *node)
{
	const struct gt_state_interval state = {.kind = place->state, .reason = place->reason};
	char room[GT_STATE_NAME_SIZE];
	const char *text;
	uint32_t name;

	if (place->state == GT_WEIGHT_NO_STATE)
		return 0;
	text = place->state == GT_STATE_RUNNING	  ? "[on CPU]"
	       : place->state == GT_STATE_UNKNOWN ? "[unknown]"
						  : gt_state_name(&state, room);
	if (gt_names_add(builder->names, text, &name) < 0)
		return -ENOMEM;
	return find_child(builder->flame, *node, name, node);
}

int gt_flame_build(const struct gt_report *report, enum gt_folded_kind kind, struct gt_names *names,
		   struct gt_flame *ret)
{
	_cleanup_(gt_weights_clear) struct gt_weights weights = {0};
	_cleanup_(builder_clear) struct builder builder = {
		.report = report, .names = names, .flame = ret};
	int r;

	r = gt_weights_collect(report, kind, &weights);
	if (r < 0)
		return r;
	r = builder_init(&builder);
	if (r < 0)
		return r;
	gt_array_for_each (&weights.items, weight) {
		const struct gt_weight_place *place = &weights.places.items[weight->place];
		uint32_t node;

		if (find_thread(&builder, weight->thread, &node) < 0 ||
		    descend(&builder, place->stack, &node) < 0 ||
		    find_state(&builder, place, &node) < 0)
			return -ENOMEM;
		ret->nodes.items[node].ns += weight->ns;
	}
	return 0;
}

void gt_flame_clear(struct gt_flame *flame)
{
	gt_array_clear(&flame->nodes);
	gt_hash_clear(&flame->by_content);
}
