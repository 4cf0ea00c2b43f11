/* SPDX-License-Identifier: MIT */
/* The functions of a file, stripped or not: .eh_frame has the ranges, symbols have the names. */
#include <string.h>

#include "base/log.h"
#include "elf/eh_frame.h"
#include "elf/elf_internal.h"

static int compare_functions(const void *left, const void *right)
{
	const struct gt_elf_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end < b->end) - (a->end > b->end);
}

/* Sorts, and drops what starts within the function before it. */
static void make_ranges(gt_elf_functions *functions)
{
	uint32_t kept = 0;

	if (functions->count > 0)
		qsort(functions->items, functions->count, sizeof(*functions->items),
		      compare_functions);
	for (uint32_t i = 0; i < functions->count; i++)
		if (kept == 0 || functions->items[i].start >= functions->items[kept - 1].end)
			functions->items[kept++] = functions->items[i];
	functions->count = kept;
}

/* BOLT leaves the table of the code that it has replaced behind, as .bolt.org.eh_frame. */
int gt_elf_frames_read(const struct gt_elf *elf, gt_elf_functions *ret)
{
	gt_elf_functions functions = {0};
	uint64_t address, size;
	const void *bytes = gt_elf_section_bytes(elf, ".eh_frame", &address, &size);
	int r;

	if (bytes) {
		r = gt_eh_frame_parse(bytes, size, address, &functions);
		if (r < 0)
			return r;
	}
	make_ranges(&functions);
	*ret = functions;
	return 0;
}

/*
 * A symbol names the range that starts with it. One outside of all ranges is one of its own, and
 * one within a range is a label. Both lists are sorted.
 */
static int merge(const gt_elf_functions *ranges, const gt_elf_functions *symbols,
		 gt_elf_functions *merged)
{
	uint32_t range = 0, symbol = 0;

	while (range < ranges->count || symbol < symbols->count) {
		const struct gt_elf_function *from;
		struct gt_elf_function *added;
		uint64_t limit = range < ranges->count ? ranges->items[range].start : UINT64_MAX;

		if (symbol < symbols->count && symbols->items[symbol].start < limit) {
			from = &symbols->items[symbol++];
			if (merged->count > 0 && from->start < merged->items[merged->count - 1].end)
				continue;
		} else {
			from = &ranges->items[range++];
			limit = UINT64_MAX;
		}
		added = gt_array_push(merged);
		if (!added)
			return gt_error_oom();
		*added = *from;
		added->end = GT_MIN(limit, from->end);
		if (symbol < symbols->count && symbols->items[symbol].start == added->start)
			added->name = symbols->items[symbol++].name;
	}
	return 0;
}

int gt_elf_functions_read(const struct gt_elf *elf, const struct gt_elf *symbols_of,
			  gt_elf_functions *ret)
{
	gt_elf_functions ranges = {0}, symbols = {0}, merged = {0};
	int r;

	r = gt_elf_frames_read(elf, &ranges);
	if (r >= 0)
		r = gt_elf_symbols_read(symbols_of, &symbols);
	if (r >= 0)
		r = merge(&ranges, &symbols, &merged);
	gt_array_clear(&ranges);
	gt_array_clear(&symbols);
	if (r < 0) {
		gt_array_clear(&merged);
		return r;
	}
	gt_array_for_each (&merged, function)
		function->is_part = function->is_part || strstr(function->name, ".cold");
	*ret = merged;
	return 0;
}
