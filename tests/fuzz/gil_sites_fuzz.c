/* SPDX-License-Identifier: MIT */
/*
 * Feeds the reader of ELF files and the search for the GIL's sites with bytes of libFuzzer. What is
 * looked for is what the sanitizers find, searches that do not end, and sites that are none.
 */
#include <stddef.h>
#include <stdint.h>

#include "elf/eh_frame.h"
#include "elf/elf_file.h"
#include "python/gil_returns.h"
#include "python/gil_sites.h"
#include "python/runtime_offsets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			__builtin_trap();                                                          \
	} while (0)

static void check_functions(const gt_elf_functions *functions)
{
	for (uint32_t i = 0; i < functions->count; i++) {
		CHECK(functions->items[i].start <= functions->items[i].end);
		CHECK(i == 0 || functions->items[i - 1].end <= functions->items[i].start);
	}
}

static void check_sites(const struct gt_elf *elf, const struct gt_gil_sites *sites)
{
	CHECK(sites->found_by);
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++) {
		const gt_gil_offsets *offsets = &sites->offsets[kind];

		CHECK(offsets->count > 0 || kind == GT_GIL_SITE_RETAKE);
		for (uint32_t i = 0; i < offsets->count; i++) {
			CHECK(i == 0 || offsets->items[i - 1] < offsets->items[i]);
			CHECK(offsets->items[i] < gt_elf_size(elf));
		}
	}
	for (uint32_t i = 0; i < sites->calls.count; i++) {
		CHECK(sites->calls.items[i].return_offset < gt_elf_size(elf));
		CHECK(sites->calls.items[i].caller_offset % 8 == 0);
	}
}

static void search(const struct gt_elf *elf)
{
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0}, returns = {0};
	gt_elf_functions functions = {0};
	bool free_threaded;

	if (gt_elf_functions_read(elf, elf, &functions) == 0)
		check_functions(&functions);
	gt_array_clear(&functions);
	(void)gt_python_is_free_threaded(elf, &free_threaded);
	(void)gt_elf_exports(elf, "PyEval_RestoreThread");
	(void)gt_elf_needs(elf, "libpython");
	if (gt_gil_sites_find(elf, &sites) == 0)
		check_sites(elf, &sites);
	if (gt_gil_returns_find(elf, &returns) == 0)
		check_sites(elf, &returns);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	gt_elf_functions functions = {0};

	if (gt_elf_open_memory(bytes, size, "the input", &elf) == 0)
		search(elf);
	if (gt_eh_frame_parse(bytes, size, 0x1000, &functions) == 0)
		gt_array_clear(&functions);
	return 0;
}
