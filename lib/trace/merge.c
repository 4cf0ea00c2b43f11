/* SPDX-License-Identifier: MIT */
#include "trace/merge.h"

#include <assert.h>
#include <stddef.h>

void gt_merge_add(struct gt_merge *merge, struct gt_event_source source)
{
	assert(merge->count < GT_MERGE_SOURCES);
	merge->inputs[merge->count++].source = source;
}

static bool is_before(const struct gt_event *a, const struct gt_event *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->type != GT_EVENT_EXIT && b->type == GT_EVENT_EXIT;
}

int gt_merge_next(void *object, struct gt_event *ret)
{
	struct gt_merge *merge = object;
	struct gt_merge_input *first = NULL;

	if (merge->count == 1)
		return merge->inputs[0].source.next(merge->inputs[0].source.object, ret);
	for (uint32_t i = 0; i < merge->count; i++) {
		struct gt_merge_input *input = &merge->inputs[i];

		/* Not before: what was given last points to what that source still holds. */
		if (input->state == GT_MERGE_EMPTY) {
			int r = input->source.next(input->source.object, &input->head);

			if (r < 0)
				return r;
			input->state = r > 0 ? GT_MERGE_HAS_HEAD : GT_MERGE_ENDED;
		}
		if (input->state == GT_MERGE_HAS_HEAD &&
		    (!first || is_before(&input->head, &first->head)))
			first = input;
	}
	if (!first)
		return 0;
	*ret = first->head;
	first->state = GT_MERGE_EMPTY;
	return 1;
}
