/* SPDX-License-Identifier: MIT */
/*
 * Feeds the unwinder with bytes of libFuzzer: all of them are a file that is mapped as code, and
 * the last of them are the registers and the stack of a thread in it. What is looked for is what
 * the sanitizers find, walks that do not end, and stacks that are none.
 */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "elf/cfi.h"
#include "elf/elf_file.h"
#include "elf/names.h"
#include "unwind/unwinder.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			__builtin_trap();                                                          \
	} while (0)

enum {
	BASE = 0x10000000,
	STACK_POINTER = 0x7fff0000,
	WORDS = 96,	 /* of the registers and the stack */
	MAX_DEPTH = 514, /* of the frames of a stack, and of its marks */
	MAX_ASKED = 64,	 /* functions; a broken file may have any number of them */
};

static void check_functions(const gt_elf_functions *functions)
{
	for (uint32_t i = 0; i < functions->count; i++) {
		CHECK(functions->items[i].start <= functions->items[i].end);
		CHECK(functions->items[i].name[0]);
		CHECK(i == 0 || functions->items[i - 1].end <= functions->items[i].start);
	}
}

/* The rule of an address is the same whenever it is asked for. */
static void ask_for(struct gt_cfi *cfi, uint64_t address)
{
	struct gt_cfi_rule rule, again;
	bool is_found = gt_cfi_find(cfi, address, &rule);

	CHECK(gt_cfi_find(cfi, address, &again) == is_found);
	if (!is_found)
		return;
	CHECK(memcmp(&rule, &again, sizeof(rule)) == 0);
	CHECK(rule.cfa != GT_CFI_CFA_UNKNOWN && rule.cfa_register < GT_CFI_REGISTERS);
}

static void ask_for_rules(const struct gt_elf *elf)
{
	gt_elf_functions functions = {0}, names = {0};
	struct gt_cfi *cfi = NULL;

	CHECK(gt_cfi_new(elf, elf, &cfi) == 0);
	CHECK(gt_elf_frames_read(elf, &functions) == 0);
	for (uint32_t i = 0; i < GT_MIN(functions.count, (uint32_t)MAX_ASKED); i++) {
		const struct gt_elf_function *function = &functions.items[i];

		ask_for(cfi, function->start);
		ask_for(cfi, function->start + (function->end - function->start) / 2);
		ask_for(cfi, function->end - 1);
	}
	CHECK(gt_elf_names_read(elf, elf, &names) == 0);
	check_functions(&names);
	gt_array_clear(&functions);
	gt_array_clear(&names);
	gt_cfi_free(cfi);
}

/* Every second word leads into the file, or onto the stack, as in a stack that makes sense. */
static void make_plausible(uint64_t words[WORDS], size_t size)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		if (words[i] % 4 == 1)
			words[i] = BASE + words[i] / 4 % size;
		else if (words[i] % 4 == 2)
			words[i] = STACK_POINTER + words[i] / 4 % (WORDS * sizeof(words[i]));
	}
}

static void check_stack(struct gt_unwinder *unwinder, uint32_t stack)
{
	const struct gt_stacks *stacks = gt_unwinder_stacks(unwinder);
	uint32_t depth = 0;

	for (; stack != GT_STACK_NONE; stack = stacks->stacks.items[stack].parent) {
		CHECK(gt_stacks_top(stacks, stack)->name[0]);
		CHECK(++depth <= MAX_DEPTH);
	}
}

static void unwind(const char *path, size_t size, uint64_t words[WORDS])
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = NULL;
	struct gt_unwinder_spec spec = {0};
	struct gt_mapping mapping = {.start = BASE, .length = size, .path = path};
	/* x86-64: ax, bx, cx, dx, si, di, bp, sp, ip, and r8 … r15 */
	const uint32_t register_count = 17;
	struct gt_stack_sample sample = {
		.registers = words,
		.register_mask = 0xff01ff,
		.stack = words + register_count,
		.stack_bytes = (uint32_t)((WORDS - register_count) * sizeof(*words)),
	};
	uint32_t stack;

	words[7] = STACK_POINTER;
	words[8] = BASE + words[8] % size;
	CHECK(gt_unwinder_new(&spec, &unwinder) == 0);
	CHECK(gt_unwinder_map(unwinder, 1, &mapping) == 0);
	for (uint32_t i = 0; i < 8; i++) {
		CHECK(gt_unwinder_unwind(unwinder, 1, &sample, &stack) == 0);
		check_stack(unwinder, stack);
		words[8] = BASE + (words[8] - BASE + words[i]) % size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("code", MFD_CLOEXEC);
	_cleanup_free_ char *path = gt_format("/proc/self/fd/%d", fd);
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	uint64_t words[WORDS];

	if (size < sizeof(words))
		return 0;
	CHECK(fd >= 0 && path);
	CHECK(gt_write_all(fd, bytes, size) == 0);
	if (gt_elf_open(path, &elf) == 0)
		ask_for_rules(elf);
	memcpy(words, bytes + size - sizeof(words), sizeof(words));
	make_plausible(words, size);
	unwind(path, size, words);
	return 0;
}
