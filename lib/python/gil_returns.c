/* SPDX-License-Identifier: MIT */
#include "python/gil_returns.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/strings.h"
#include "python/gil_code.h"
#include "python/gil_waits.h"
#include "python/runtime_offsets.h"

/* Between drop_gil and take_gil in the eval loop. There are none to five. */
#define MAX_BETWEEN 16

enum function_kind {
	FUNCTION_TAKE,
	FUNCTION_DROP,
};

struct search {
	struct gt_gil_code code;
	struct gt_hash entries; /* of take_gil and drop_gil, and of their copies → function_kind */
	struct gt_gil_sites sites;
};

static void search_clear(struct search *search)
{
	gt_gil_code_clear(&search->code);
	gt_hash_clear(&search->entries);
	gt_gil_sites_clear(&search->sites);
}

static int refuse(const struct search *search, const char *reason)
{
	gt_error("cannot find the GIL in %s: %s", gt_elf_path(search->code.elf), reason);
	return -ENODATA;
}

/* A jump out of the function, and not into a part of it, ends it as a return does. */
static bool leaves(struct search *search, const struct gt_instruction *instruction, uint32_t whole)
{
	uint32_t target;

	if (instruction->kind == GT_INSTRUCTION_RETURN)
		return true;
	if (instruction->kind != GT_INSTRUCTION_JUMP && instruction->kind != GT_INSTRUCTION_BRANCH)
		return false;
	/* Through a register or a word: the ways on of a switch, or a call at the end. */
	if (!instruction->target)
		return instruction->slot != 0;
	target = gt_elf_function_at(&search->code.functions, instruction->target);
	return target == UINT32_MAX || gt_gil_code_whole(&search->code, target) != whole;
}

/* Adds the ends of one function, or of a part of one, as sites of KIND. */
static int add_returns(struct search *search, uint32_t function, enum gt_gil_site_kind kind)
{
	const struct gt_elf_function *range = &search->code.functions.items[function];
	uint32_t whole = gt_gil_code_whole(&search->code, function);
	struct gt_instruction instruction;
	int r;

	for (uint64_t address = range->start; address < range->end; address += instruction.size) {
		if (!gt_disassemble(search->code.disassembler, address, &instruction))
			return refuse(search, "the code of take_gil or drop_gil is cut off");
		if (!leaves(search, &instruction, whole))
			continue;
		/* A probe there would fire whether the function ends or not. */
		if (instruction.kind == GT_INSTRUCTION_BRANCH)
			return refuse(search, "take_gil or drop_gil ends in a branch");
		r = gt_gil_sites_add(&search->sites, kind, address);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_functions(struct search *search)
{
	int r;

	for (uint32_t i = 0; i < search->code.functions.count; i++) {
		const struct gt_elf_function *function = &search->code.functions.items[i];
		bool is_take = gt_string_starts_with(function->name, "take_gil");

		if (!is_take && !gt_string_starts_with(function->name, "drop_gil"))
			continue;
		/* What is left of a function whose start was put into its callers: which is called
		 * how? */
		if (strstr(function->name, ".part"))
			return refuse(search, "take_gil or drop_gil is in pieces");
		r = add_returns(search, i, is_take ? GT_GIL_SITE_ACQUIRED : GT_GIL_SITE_SWITCHED);
		if (r < 0)
			return r;
		r = is_take ? gt_gil_waits_add(&search->sites.waits, function->start, function->end)
			    : 0;
		if (r < 0)
			return r;
		if (function->is_part)
			continue;
		if (gt_hash_set(&search->entries, function->start,
				is_take ? FUNCTION_TAKE : FUNCTION_DROP) < 0)
			return gt_error_oom();
		r = gt_gil_sites_add(&search->sites,
				     is_take ? GT_GIL_SITE_TAKE : GT_GIL_SITE_RELEASE,
				     function->start);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Adds the return address of a call of take_gil that comes right behind ADDRESS. */
static int add_retake(struct search *search, uint64_t address)
{
	struct gt_instruction instruction;

	for (uint32_t i = 0; i < MAX_BETWEEN; i++) {
		if (!gt_disassemble(search->code.disassembler, address, &instruction))
			return 0;
		address += instruction.size;
		if (instruction.kind == GT_INSTRUCTION_CALL)
			return gt_hash_get(&search->entries, instruction.target) == FUNCTION_TAKE
				       ? gt_gil_sites_add(&search->sites, GT_GIL_SITE_RETAKE,
							  address)
				       : 0;
		if (instruction.kind == GT_INSTRUCTION_JUMP && instruction.target)
			address = instruction.target;
		else if (instruction.kind != GT_INSTRUCTION_PLAIN &&
			 instruction.kind != GT_INSTRUCTION_BRANCH)
			return 0;
	}
	return 0;
}

static int find_retakes(struct search *search)
{
	gt_gil_calls calls = {0};
	int r;

	r = gt_gil_code_find_calls(&search->code, &search->entries, &calls);
	if (r < 0)
		return r;
	gt_array_for_each (&calls, call) {
		if (call->callee != FUNCTION_DROP || call->kind != GT_INSTRUCTION_CALL)
			continue;
		r = add_retake(search, call->next);
		if (r < 0)
			break;
	}
	gt_array_clear(&calls);
	return r;
}

int gt_gil_returns_find(const struct gt_elf *elf, struct gt_gil_sites *ret)
{
	_cleanup_(search_clear) struct search search = {0};
	bool free_threaded;
	int r;

	r = gt_gil_code_read(elf, &search.code);
	if (r < 0)
		return r;
	r = gt_python_is_free_threaded(elf, &free_threaded);
	if (r < 0)
		return r;
	if (free_threaded)
		return refuse(&search, "it is free-threaded, and its code looks like no known one");
	r = find_functions(&search);
	if (r < 0)
		return r;
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_RETAKE; kind++)
		if (search.sites.offsets[kind].count == 0)
			return refuse(&search, "no symbols say where take_gil and drop_gil are");
	r = find_retakes(&search);
	if (r < 0)
		return r;
	gt_warning("the code of %s does not look like a GIL that giltrace knows\n"
		   "  the returns of take_gil and drop_gil serve instead: figures are estimates",
		   gt_elf_path(elf));
	gt_gil_sites_finish(elf, &search.sites);
	*ret = search.sites;
	ret->found_by = "returns";
	search.sites = (struct gt_gil_sites){0};
	return 0;
}
