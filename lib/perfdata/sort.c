/* SPDX-License-Identifier: MIT */
#include "perfdata/sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

/*
 * How far back a key is put into its run. The kernel takes a record's time before it reserves room
 * in the ring, so that an interrupt can put a few later ones in front of it, never many.
 */
#define MAX_SHIFT 32u

static int start_run(struct gt_sorter *sorter, uint32_t start)
{
	uint32_t *run = gt_array_push(&sorter->runs);

	if (!run)
		return -ENOMEM;
	*run = start;
	return 0;
}

int gt_sorter_add(struct gt_sorter *sorter, uint64_t time_ns, uint64_t position)
{
	uint32_t count = sorter->keys.count, at = count, start;
	struct gt_sort_key *keys;

	if (count == sorter->keys.capacity &&
	    !gt_array_grow((void **)&sorter->keys.items, &sorter->keys.capacity, count + 1,
			   sizeof(*sorter->keys.items)))
		return -ENOMEM;
	if (sorter->runs.count == 0 && start_run(sorter, 0) < 0)
		return -ENOMEM;
	keys = sorter->keys.items;
	start = sorter->runs.items[sorter->runs.count - 1];
	while (at > start && keys[at - 1].time_ns > time_ns && count - at < MAX_SHIFT)
		at--;
	if (at > start && keys[at - 1].time_ns > time_ns) {
		if (start_run(sorter, count) < 0)
			return -ENOMEM;
		at = count;
	}
	if (at < count)
		memmove(&keys[at + 1], &keys[at], (count - at) * sizeof(*keys));
	keys[at] = (struct gt_sort_key){.time_ns = time_ns, .position = position};
	sorter->keys.count++;
	/* A time of 0 is none: such a record belongs nowhere, and cannot be late. */
	if (time_ns < sorter->given_until_ns && time_ns != 0)
		sorter->late++;
	return 0;
}

/* Merges the two sorted runs [left, middle) and [middle, end) to TO. Equal times: left first. */
static void merge(struct gt_sort_key *to, const struct gt_sort_key *left,
		  const struct gt_sort_key *middle, const struct gt_sort_key *end)
{
	const struct gt_sort_key *right = middle;

	while (left < middle && right < end)
		*to++ = right->time_ns < left->time_ns ? *right++ : *left++;
	memcpy(to, left, (size_t)(middle - left) * sizeof(*to));
	memcpy(to + (middle - left), right, (size_t)(end - right) * sizeof(*to));
}

/* Merges neighbouring runs in pairs, until one is left. */
static int merge_runs(struct gt_sorter *sorter)
{
	uint32_t count = sorter->keys.count;

	if (sorter->runs.count > 1 && sorter->spare.capacity < count &&
	    !gt_array_grow((void **)&sorter->spare.items, &sorter->spare.capacity,
			   sorter->keys.capacity, sizeof(*sorter->spare.items)))
		return -ENOMEM;
	while (sorter->runs.count > 1) {
		uint32_t *runs = sorter->runs.items, merged = 0;
		__typeof__(sorter->keys) sorted = {.items = sorter->spare.items,
						   .count = count,
						   .capacity = sorter->spare.capacity};

		for (uint32_t i = 0; i < sorter->runs.count; i += 2) {
			bool paired = i + 1 < sorter->runs.count;
			uint32_t start = runs[i];
			uint32_t middle = paired ? runs[i + 1] : count;
			uint32_t end = i + 2 < sorter->runs.count ? runs[i + 2] : count;

			merge(sorted.items + start, sorter->keys.items + start,
			      sorter->keys.items + middle, sorter->keys.items + end);
			runs[merged++] = start;
		}
		sorter->runs.count = merged;
		sorter->spare.items = sorter->keys.items;
		sorter->spare.capacity = sorter->keys.capacity;
		sorter->keys = sorted;
	}
	return 0;
}

static void make_ready(struct gt_sorter *sorter, uint32_t end)
{
	sorter->ready = end;
	if (end > 0)
		sorter->given_until_ns =
			GT_MAX(sorter->given_until_ns, sorter->keys.items[end - 1].time_ns);
}

int gt_sorter_release(struct gt_sorter *sorter, uint64_t limit_ns)
{
	uint32_t low = 0, high = sorter->keys.count;
	int r = merge_runs(sorter);

	if (r < 0)
		return r;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sorter->keys.items[middle].time_ns <= limit_ns)
			low = middle + 1;
		else
			high = middle;
	}
	make_ready(sorter, low);
	return 0;
}

int gt_sorter_release_half(struct gt_sorter *sorter)
{
	int r = merge_runs(sorter);

	if (r < 0)
		return r;
	make_ready(sorter, sorter->keys.count / 2);
	return 0;
}

void gt_sorter_compact(struct gt_sorter *sorter)
{
	uint32_t left = sorter->keys.count - sorter->head;

	if (sorter->head > 0 && left > 0)
		memmove(sorter->keys.items, sorter->keys.items + sorter->head,
			left * sizeof(*sorter->keys.items));
	if (sorter->head > 0) {
		/* What is left has been merged: one run, or none. */
		sorter->runs.count = GT_MIN(left, 1u);
		if (left > 0)
			sorter->runs.items[0] = 0;
	}
	sorter->keys.count = left;
	sorter->head = sorter->ready = 0;
}

void gt_sorter_clear(struct gt_sorter *sorter)
{
	gt_array_clear(&sorter->keys);
	gt_array_clear(&sorter->spare);
	gt_array_clear(&sorter->runs);
}
