/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays of plain structs, indexed by uint32_t:
 *
 *     GT_ARRAY(struct gt_thread) threads = {0};
 *     struct gt_thread *thread = gt_array_push(&threads);    (zeroed; NULL when out of memory)
 *
 * A push may move the items: keep indices, not pointers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_ARRAY(type)                                                                             \
	struct {                                                                                   \
		type *items;                                                                       \
		uint32_t count;                                                                    \
		uint32_t capacity;                                                                 \
	}

/* Makes room for one more item, by doubling. False when out of memory or of indices. */
bool gt_array_grow(void **items, uint32_t *capacity, uint32_t needed, size_t item_size);

/* The new last item, zeroed; NULL when out of memory. */
#define gt_array_push(array)                                                                       \
	((__typeof__((array)->items))gt_array_push_item((void **)&(array)->items, &(array)->count, \
							&(array)->capacity,                        \
							sizeof(*(array)->items)))

/* Frees the items. The array is empty afterwards, and can be used again. */
#define gt_array_clear(array)                                                                      \
	do {                                                                                       \
		free((array)->items);                                                              \
		(array)->items = NULL;                                                             \
		(array)->count = (array)->capacity = 0;                                            \
	} while (0)

#define gt_array_for_each(array, item)                                                             \
	for (__typeof__((array)->items + 0) item = (array)->items;                                 \
	     item && item < (array)->items + (array)->count; item++)

static inline void *gt_array_push_item(void **items, uint32_t *count, uint32_t *capacity,
				       size_t item_size)
{
	unsigned char *item;

	if (*count == *capacity && !gt_array_grow(items, capacity, *count + 1, item_size))
		return NULL;
	item = (unsigned char *)*items + (size_t)*count * item_size;
	__builtin_memset(item, 0, item_size);
	(*count)++;
	return item;
}
