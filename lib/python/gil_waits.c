/* SPDX-License-Identifier: MIT */
#include "python/gil_waits.h"

#include "base/log.h"
#include "elf/elf_file.h"

int gt_gil_waits_add(gt_elf_ranges *waits, uint64_t start, uint64_t end)
{
	struct gt_elf_range *range = gt_array_push(waits);

	if (!range)
		return gt_error_oom();
	*range = (struct gt_elf_range){.start = start, .end = end};
	return 0;
}

int gt_gil_waits_add_function(struct gt_gil_code *code, uint32_t function, gt_elf_ranges *waits)
{
	gt_gil_parts parts = {0};
	int r = gt_gil_code_parts(code, function, &parts);

	gt_array_for_each (&parts, part) {
		const struct gt_elf_function *range = &code->functions.items[*part];

		if (r >= 0)
			r = gt_gil_waits_add(waits, range->start, range->end);
	}
	gt_array_clear(&parts);
	return r;
}

/* False when it is not in the file as one piece. */
static bool find_offsets(const struct gt_elf *elf, struct gt_elf_range *range)
{
	uint64_t first, last;

	if (range->start >= range->end || !gt_elf_address_to_offset(elf, range->start, &first) ||
	    !gt_elf_address_to_offset(elf, range->end - 1, &last) || last < first ||
	    last - first != range->end - 1 - range->start)
		return false;
	*range = (struct gt_elf_range){.start = first, .end = last + 1};
	return true;
}

static int by_start(const void *left, const void *right)
{
	const struct gt_elf_range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

void gt_gil_waits_finish(const struct gt_elf *elf, gt_elf_ranges *waits)
{
	uint32_t kept = 0;

	gt_array_for_each (waits, range)
		if (find_offsets(elf, range))
			waits->items[kept++] = *range;
	waits->count = kept;
	if (kept == 0)
		return;
	qsort(waits->items, kept, sizeof(*waits->items), by_start);
	kept = 1;
	for (uint32_t i = 1; i < waits->count; i++) {
		struct gt_elf_range *last = &waits->items[kept - 1];

		if (waits->items[i].start <= last->end)
			last->end = GT_MAX(last->end, waits->items[i].end);
		else
			waits->items[kept++] = waits->items[i];
	}
	waits->count = kept;
}
