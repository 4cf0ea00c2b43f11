/* SPDX-License-Identifier: MIT */
#include "python/gil_calls.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "elf/frame.h"

/* From take_gil's entry to its first lock there are some dozens. */
#define MAX_STEPS 4096

/* The call at ADDRESS, or NULL. */
static const struct gt_gil_call *call_at(const struct gt_gil_code *code, uint64_t address)
{
	uint32_t low = 0, high = code->calls.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (code->calls.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < code->calls.count && code->calls.items[low].address == address
		       ? &code->calls.items[low]
		       : NULL;
}

/* -ENODATA when nothing returns from there. */
static int add_call(const struct gt_gil_code *code, struct gt_gil_sites *sites,
		    enum gt_gil_call_kind kind, uint64_t address)
{
	const struct gt_gil_call *call = call_at(code, address);
	struct gt_gil_call_site *site;

	if (!call || call->kind != GT_INSTRUCTION_CALL)
		return -ENODATA;
	gt_array_for_each (&sites->calls, known)
		if (known->return_offset == call->next)
			return known->kind == kind ? 0 : -ENODATA;
	site = gt_array_push(&sites->calls);
	if (!site)
		return gt_error_oom();
	site->kind = kind;
	site->return_offset = call->next;
	return 0;
}

/* A call in take_gil, and where its return address is then. */
static int add_take_call(const struct gt_gil_code *code, struct gt_gil_sites *sites,
			 enum gt_gil_call_kind kind, uint64_t address)
{
	struct gt_elf_return_slot slot = {0};
	struct gt_gil_call_site *site;
	uint32_t before = sites->calls.count;
	int r = add_call(code, sites, kind, address);

	if (r < 0 || sites->calls.count == before)
		return r;
	r = gt_elf_return_slot_at(code->elf, address, &slot);
	/* It serves to know a retake, which there is not in every version. */
	if (r < 0 && sites->offsets[GT_GIL_SITE_RETAKE].count > 0 && kind == GT_GIL_CALL_TAKE_LOCK)
		return r;
	site = &sites->calls.items[before];
	site->by_frame_pointer = slot.by_frame_pointer;
	site->caller_offset = slot.offset;
	return 0;
}

struct walk {
	struct gt_gil_code *code;
	uint32_t home; /* the whole function */
	GT_ARRAY(uint64_t) pending;
	struct gt_hash seen;
};

static void walk_clear(struct walk *walk)
{
	gt_array_clear(&walk->pending);
	gt_hash_clear(&walk->seen);
}

static int go(struct walk *walk, uint64_t address)
{
	uint32_t function = gt_elf_function_at(&walk->code->functions, address);
	uint64_t *pending;

	/* What leaves the function does not come back to its lock. */
	if (function == UINT32_MAX || gt_gil_code_whole(walk->code, function) != walk->home ||
	    gt_hash_get(&walk->seen, address) != GT_HASH_NONE)
		return 0;
	pending = gt_array_push(&walk->pending);
	if (!pending || gt_hash_set(&walk->seen, address, 0) < 0)
		return gt_error_oom();
	*pending = address;
	return 0;
}

static int step(struct walk *walk, struct gt_gil_sites *sites, uint64_t address)
{
	struct gt_instruction instruction;
	enum gt_gil_callee callee;
	int r;

	if (!gt_disassemble(walk->code->disassembler, address, &instruction))
		return 0;
	callee = gt_gil_code_callee(walk->code, &instruction);
	if (callee == GT_GIL_CALLEE_MUTEX_LOCK && instruction.kind != GT_INSTRUCTION_PLAIN)
		return add_take_call(walk->code, sites, GT_GIL_CALL_TAKE_LOCK, address);
	switch (instruction.kind) {
	case GT_INSTRUCTION_RETURN:
	case GT_INSTRUCTION_TRAP:
		return 0;
	case GT_INSTRUCTION_JUMP:
		return instruction.target ? go(walk, instruction.target) : 0;
	case GT_INSTRUCTION_BRANCH:
		r = instruction.target ? go(walk, instruction.target) : 0;
		if (r < 0)
			return r;
		break;
	case GT_INSTRUCTION_CALL:
		/* None of the others comes before the lock. */
		if (callee != GT_GIL_CALLEE_OTHER)
			return 0;
		break;
	case GT_INSTRUCTION_PLAIN:
		break;
	}
	return go(walk, address + instruction.size);
}

/* The lock calls that are reached from the entry of take_gil before any other of its calls. */
static int find_locks(struct gt_gil_code *code, struct gt_gil_sites *sites, uint64_t entry)
{
	_cleanup_(walk_clear) struct walk walk = {.code = code};
	uint32_t before = sites->calls.count, steps = 0;
	uint32_t function = gt_elf_function_at(&code->functions, entry);
	int r;

	if (function == UINT32_MAX)
		return -ENODATA;
	walk.home = gt_gil_code_whole(code, function);
	r = go(&walk, entry);
	while (r >= 0 && walk.pending.count > 0 && steps++ < MAX_STEPS)
		r = step(&walk, sites, walk.pending.items[--walk.pending.count]);
	if (r < 0)
		return r;
	return sites->calls.count > before ? 0 : -ENODATA;
}

static bool is_in_take(struct gt_gil_code *code, const struct gt_gil_sites *sites,
		       const struct gt_gil_call *call)
{
	uint64_t start = code->functions.items[gt_gil_code_whole(code, call->function)].start;

	gt_array_for_each (&sites->offsets[GT_GIL_SITE_TAKE], entry)
		if (*entry == start)
			return true;
	return false;
}

static int find_takes(struct gt_gil_code *code, struct gt_gil_sites *sites)
{
	int r;

	gt_array_for_each (&sites->offsets[GT_GIL_SITE_TAKE], entry) {
		r = find_locks(code, sites, *entry);
		if (r < 0)
			return r;
	}
	gt_array_for_each (&code->calls, call) {
		if (call->callee != GT_GIL_CALLEE_COND_TIMEDWAIT || !is_in_take(code, sites, call))
			continue;
		r = add_take_call(code, sites, GT_GIL_CALL_TAKE_WAIT, call->address);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_others(struct gt_gil_code *code, struct gt_gil_sites *sites)
{
	static const struct {
		enum gt_gil_site_kind site;
		enum gt_gil_call_kind call;
	} kinds[] = {
		{GT_GIL_SITE_ACQUIRED, GT_GIL_CALL_ACQUIRED},
		{GT_GIL_SITE_RELEASE, GT_GIL_CALL_RELEASE},
		{GT_GIL_SITE_SWITCHED, GT_GIL_CALL_SWITCHED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		gt_array_for_each (&sites->offsets[kinds[i].site], address) {
			int r = add_call(code, sites, kinds[i].call, *address);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int gt_gil_calls_find(struct gt_gil_code *code, struct gt_gil_sites *sites)
{
	int r = find_takes(code, sites);

	if (r == 0)
		r = find_others(code, sites);
	if (r == 0)
		return 0;
	gt_array_clear(&sites->calls);
	gt_debug("%s: the calls of its GIL cannot be told by where they return to",
		 gt_elf_path(code->elf));
	return r == -ENODATA ? 0 : r;
}
