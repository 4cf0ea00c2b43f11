/* SPDX-License-Identifier: MIT */
#include "elf/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "elf/elf_internal.h"

struct symbol {
	uint64_t start, end;
	const char *name;
	uint8_t binding;
	bool is_label; /* no function */
};

typedef GT_ARRAY(struct symbol) symbols;

static bool names_code(const GElf_Sym *symbol)
{
	uint8_t type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value <= UINT64_MAX - symbol->st_size &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC ||
		(type == STT_NOTYPE && symbol->st_shndx != SHN_ABS));
}

static int add_table(const struct gt_elf *elf, uint32_t type, symbols *all)
{
	const struct gt_elf_section *section = gt_elf_section_of_type(elf, type);
	Elf_Data *data;
	uint32_t count;

	if (!section || gt_elf_table_open(elf, section, &data, &count) < 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct symbol *added;
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol))
			return 0;
		name = gt_elf_symbol_name(elf, section, &symbol);
		if (!names_code(&symbol) || !name[0])
			continue;
		added = gt_array_push(all);
		if (!added)
			return gt_error_oom();
		*added = (struct symbol){.start = symbol.st_value,
					 .end = symbol.st_value + symbol.st_size,
					 .name = name,
					 .binding = GELF_ST_BIND(symbol.st_info),
					 .is_label = GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE};
	}
	return 0;
}

/* By start; of those that start together, the best comes first. */
static int compare_symbols(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;
	size_t a_underscores, b_underscores;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->is_label != b->is_label)
		return a->is_label ? 1 : -1;
	if ((a->end == a->start) != (b->end == b->start))
		return a->end == a->start ? 1 : -1;
	if ((a->binding == STB_LOCAL) != (b->binding == STB_LOCAL))
		return a->binding == STB_LOCAL ? 1 : -1;
	a_underscores = strspn(a->name, "_");
	b_underscores = strspn(b->name, "_");
	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	if ((a->binding == STB_WEAK) != (b->binding == STB_WEAK))
		return a->binding == STB_WEAK ? 1 : -1;
	return strcmp(a->name, b->name);
}

/*
 * What has no size reaches to the next name, or to the end of its section. A label within a
 * function, as assembler has them, is not kept; a function within another one ends it.
 */
static int make_ranges(const struct gt_elf *elf, const symbols *all, gt_elf_functions *ranges)
{
	const struct gt_elf_section *section = NULL;

	for (uint32_t i = 0; i < all->count; i++) {
		const struct symbol *symbol = &all->items[i];
		struct gt_elf_function *last =
			ranges->count > 0 ? &ranges->items[ranges->count - 1] : NULL;
		struct gt_elf_function *added;
		uint64_t limit;

		if (last && (symbol->start == last->start ||
			     (symbol->is_label && symbol->start < last->end)))
			continue;
		if (!section || symbol->start < section->header.sh_addr ||
		    symbol->start - section->header.sh_addr >= section->header.sh_size)
			section = gt_elf_code_section_at(elf, symbol->start);
		if (!section)
			continue;
		limit = section->header.sh_addr + section->header.sh_size;
		if (last)
			last->end = GT_MIN(last->end, symbol->start);
		added = gt_array_push(ranges);
		if (!added)
			return gt_error_oom();
		*added = (struct gt_elf_function){
			.start = symbol->start,
			.end = symbol->end == symbol->start ? limit : GT_MIN(limit, symbol->end),
			.name = symbol->name};
	}
	return 0;
}

int gt_elf_names_read(const struct gt_elf *elf, const struct gt_elf *symbols_of,
		      gt_elf_functions *ret)
{
	gt_elf_functions ranges = {0};
	symbols all = {0};
	int r = add_table(elf, SHT_SYMTAB, &all);

	if (r == 0)
		r = add_table(elf, SHT_DYNSYM, &all);
	if (r == 0 && symbols_of)
		r = add_table(symbols_of, SHT_SYMTAB, &all);
	if (r == 0 && all.count > 0) {
		qsort(all.items, all.count, sizeof(*all.items), compare_symbols);
		r = make_ranges(elf, &all, &ranges);
	}
	gt_array_clear(&all);
	if (r < 0) {
		gt_array_clear(&ranges);
		return r;
	}
	*ret = ranges;
	return 0;
}
