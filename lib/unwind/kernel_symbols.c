/* SPDX-License-Identifier: MIT */
#include "unwind/kernel_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/io.h"
#include "base/log.h"

/* A large kernel's are 15 MB. */
#define MAX_FILE_BYTES (UINT32_C(256) << 20)

/* A function's end is not told. Behind the last one before a gap as large, there is no code. */
#define MAX_FUNCTION_BYTES (UINT64_C(1) << 20)

struct symbol {
	uint64_t address;
	uint32_t name; /* offset in the text */
};

struct gt_kernel_symbols {
	char *text; /* of the file; a NUL behind each name */
	GT_ARRAY(struct symbol) symbols;
};

/* One line: "ffffffff81000000 T _text", and "\t[module]" behind it for a module's. */
static int read_line(struct gt_kernel_symbols *symbols, char *line)
{
	struct symbol *added;
	uint64_t address;
	char *name, type;

	errno = 0;
	address = strtoull(line, &name, 16);
	if (name == line || errno != 0 || address == 0 || name[0] != ' ' || !name[1] ||
	    name[2] != ' ')
		return 0;
	type = name[1];
	name += 3;
	name[strcspn(name, "\t ")] = '\0';
	if (!strchr("tTwW", type) || !name[0])
		return 0;
	added = gt_array_push(&symbols->symbols);
	if (!added)
		return gt_error_oom();
	*added = (struct symbol){.address = address, .name = (uint32_t)(name - symbols->text)};
	return 0;
}

/* Of several at one address, the one that the file has first comes first. */
static int compare_symbols(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

int gt_kernel_symbols_read(const char *path, struct gt_kernel_symbols **ret)
{
	_cleanup_(gt_kernel_symbols_freep) struct gt_kernel_symbols *symbols =
		calloc(1, sizeof(*symbols));
	char *line, *rest;
	int r;

	if (!symbols)
		return gt_error_oom();
	r = gt_read_file(path, MAX_FILE_BYTES, &symbols->text, NULL);
	if (r < 0)
		return gt_debug_errno(r, "cannot read the kernel's symbols from %s", path);
	rest = symbols->text;
	while ((line = strsep(&rest, "\n"))) {
		r = read_line(symbols, line);
		if (r < 0)
			return r;
	}
	if (symbols->symbols.count == 0) {
		gt_debug("%s has no addresses: the kernel's functions have no names", path);
		return -ENODATA;
	}
	qsort(symbols->symbols.items, symbols->symbols.count, sizeof(*symbols->symbols.items),
	      compare_symbols);
	*ret = GT_STEAL(symbols);
	return 0;
}

void gt_kernel_symbols_free(struct gt_kernel_symbols *symbols)
{
	gt_array_clear(&symbols->symbols);
	free(symbols->text);
	free(symbols);
}

const char *gt_kernel_symbols_find(const struct gt_kernel_symbols *symbols, uint64_t address)
{
	const struct symbol *items = symbols->symbols.items;
	uint32_t low = 0, high = symbols->symbols.count;
	uint64_t start;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - items[low - 1].address > MAX_FUNCTION_BYTES)
		return NULL;
	start = items[low - 1].address;
	while (low > 1 && items[low - 2].address == start)
		low--;
	return symbols->text + items[low - 1].name;
}
