/* SPDX-License-Identifier: MIT */
/* Functions and their ranges, as .symtab names them. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "elf/elf_internal.h"

/* Of those that start together, the longest comes first. */
static int compare_functions(const void *left, const void *right)
{
	const struct gt_elf_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return strcmp(a->name, b->name);
}

/*
 * Gives each symbol without a size (assembler, some linkers) the room up to the next function or to
 * the end of its section, and drops what lies within the function before it: second names, and
 * labels.
 */
static void make_ranges(const struct gt_elf *elf, gt_elf_functions *functions)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < functions->count; i++) {
		struct gt_elf_function *function = &functions->items[i];
		const struct gt_elf_section *section = gt_elf_code_section_at(elf, function->start);
		uint64_t limit;

		if (!section || (kept > 0 && function->start < functions->items[kept - 1].end))
			continue;
		limit = section->header.sh_addr + section->header.sh_size;
		if (function->end == function->start) {
			function->end = limit;
			for (uint32_t next = i + 1; next < functions->count; next++) {
				if (functions->items[next].start == function->start)
					continue;
				function->end = GT_MIN(limit, functions->items[next].start);
				break;
			}
		}
		function->end = GT_MIN(limit, function->end);
		functions->items[kept++] = *function;
	}
	functions->count = kept;
}

int gt_elf_symbols_read(const struct gt_elf *elf, gt_elf_functions *ret)
{
	const struct gt_elf_section *section = gt_elf_section_of_type(elf, SHT_SYMTAB);
	gt_elf_functions functions = {0};
	Elf_Data *data;
	uint32_t count;
	int r;

	if (!section) {
		*ret = functions;
		return 0;
	}
	r = gt_elf_table_open(elf, section, &data, &count);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++) {
		struct gt_elf_function *function;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_value > UINT64_MAX - symbol.st_size)
			continue;
		function = gt_array_push(&functions);
		if (!function) {
			gt_array_clear(&functions);
			return gt_error_oom();
		}
		*function = (struct gt_elf_function){
			.start = symbol.st_value,
			.end = symbol.st_value + symbol.st_size,
			.name = gt_elf_symbol_name(elf, section, &symbol),
		};
	}
	if (functions.count > 0)
		qsort(functions.items, functions.count, sizeof(*functions.items),
		      compare_functions);
	make_ranges(elf, &functions);
	*ret = functions;
	return 0;
}

uint32_t gt_elf_function_at(const gt_elf_functions *functions, uint64_t address)
{
	uint32_t low = 0, high = functions->count;

	/* The first function that starts behind the address is at low, in the end. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (functions->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= functions->items[low - 1].end)
		return UINT32_MAX;
	return low - 1;
}
