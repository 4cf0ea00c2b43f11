/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <stdlib.h>

bool gt_array_grow(void **items, uint32_t *capacity, uint32_t needed, size_t item_size)
{
	uint64_t bigger = *capacity ? *capacity * UINT64_C(2) : 16;
	void *moved;

	/* needed is 0 when count + 1 has overflowed. */
	if (needed == 0 || *capacity == UINT32_MAX)
		return false;
	if (bigger < needed)
		bigger = needed;
	if (bigger > UINT32_MAX)
		bigger = UINT32_MAX;
	moved = reallocarray(*items, bigger, item_size);
	if (!moved)
		return false;
	*items = moved;
	*capacity = (uint32_t)bigger;
	return true;
}
