/* SPDX-License-Identifier: MIT */
/*
 * Reading all the code of an interpreter instruction by instruction takes a second. So its bytes
 * are searched first for what might be a call of one of the targets, whatever it is a part of; then
 * only the functions with such bytes are read from their start, and that tells which are
 * instructions.
 */
#include "python/gil_code.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

static const char *const callee_names[GT_GIL_CALLEES] = {
	[GT_GIL_CALLEE_COND_SIGNAL] = "pthread_cond_signal",
	[GT_GIL_CALLEE_COND_TIMEDWAIT] = "pthread_cond_timedwait",
	[GT_GIL_CALLEE_COND_WAIT] = "pthread_cond_wait",
	[GT_GIL_CALLEE_MUTEX_LOCK] = "pthread_mutex_lock",
	[GT_GIL_CALLEE_MUTEX_UNLOCK] = "pthread_mutex_unlock",
};

static uint32_t find_target(const struct gt_hash *targets, const struct gt_instruction *instruction)
{
	if (instruction->kind != GT_INSTRUCTION_CALL && instruction->kind != GT_INSTRUCTION_JUMP &&
	    instruction->kind != GT_INSTRUCTION_BRANCH)
		return GT_HASH_NONE;
	if (instruction->target)
		return gt_hash_get(targets, instruction->target);
	if (instruction->slot)
		return gt_hash_get(targets, instruction->slot);
	return GT_HASH_NONE;
}

/*
 * Where the bytes at ADDRESS lead if they are call or jmp (e8, e9), a conditional jump (0f 80 …
 * 8f), or call or jmp through a word (ff 15, ff 25), on x86-64: all end in a distance from the next
 * instruction. 0 if they are none of these.
 */
static uint64_t guess_target(const unsigned char *bytes, uint64_t left, uint64_t address)
{
	int32_t distance;
	uint32_t opcode_size;

	if (bytes[0] == 0xe8 || bytes[0] == 0xe9)
		opcode_size = 1;
	else if (left >= 2 && ((bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80) ||
			       (bytes[0] == 0xff && (bytes[1] == 0x15 || bytes[1] == 0x25))))
		opcode_size = 2;
	else
		return 0;
	if (left < opcode_size + sizeof(distance))
		return 0;
	memcpy(&distance, bytes + opcode_size, sizeof(distance));
	return address + opcode_size + sizeof(distance) + (uint64_t)(int64_t)distance;
}

/* Adds the calls in one function, which is read from its start. */
static int read_function(const struct gt_gil_code *code, uint32_t index,
			 const struct gt_hash *targets, gt_gil_calls *calls)
{
	const struct gt_elf_function *function = &code->functions.items[index];
	struct gt_instruction instruction;

	for (uint64_t address = function->start; address < function->end;
	     address += instruction.size) {
		struct gt_gil_call *call;
		uint32_t callee;

		if (!gt_disassemble(code->disassembler, address, &instruction))
			break;
		callee = find_target(targets, &instruction);
		if (callee == GT_HASH_NONE)
			continue;
		call = gt_array_push(calls);
		if (!call)
			return gt_error_oom();
		*call = (struct gt_gil_call){.address = address,
					     .next = address + instruction.size,
					     .function = index,
					     .callee = callee,
					     .kind = instruction.kind};
	}
	return 0;
}

int gt_gil_code_find_calls(const struct gt_gil_code *code, const struct gt_hash *targets,
			   gt_gil_calls *ret)
{
	gt_gil_calls calls = {0};
	int r;

	gt_array_for_each (&code->sections, section) {
		uint64_t size = section->end - section->start;
		const unsigned char *bytes = gt_elf_bytes(code->elf, section->start, size);
		uint64_t offset = 0;

		while (bytes && offset < size) {
			uint64_t address = section->start + offset;
			uint64_t target = guess_target(bytes + offset, size - offset, address);
			uint32_t function;

			offset++;
			if (!target || gt_hash_get(targets, target) == GT_HASH_NONE)
				continue;
			function = gt_elf_function_at(&code->functions, address);
			if (function == UINT32_MAX)
				continue;
			r = read_function(code, function, targets, &calls);
			if (r < 0) {
				gt_array_clear(&calls);
				return r;
			}
			offset = code->functions.items[function].end - section->start;
		}
	}
	*ret = calls;
	return 0;
}

enum gt_gil_callee gt_gil_code_callee(const struct gt_gil_code *code,
				      const struct gt_instruction *instruction)
{
	uint32_t callee = find_target(&code->targets, instruction);

	return callee == GT_HASH_NONE ? GT_GIL_CALLEE_OTHER : (enum gt_gil_callee)callee;
}

static bool jumps_into(const struct gt_gil_code *code, const struct gt_elf_function *from,
		       const struct gt_elf_function *part)
{
	struct gt_instruction instruction;

	for (uint64_t address = from->start; address < from->end; address += instruction.size) {
		if (!gt_disassemble(code->disassembler, address, &instruction))
			return false;
		if ((instruction.kind == GT_INSTRUCTION_JUMP ||
		     instruction.kind == GT_INSTRUCTION_BRANCH) &&
		    instruction.target >= part->start && instruction.target < part->end)
			return true;
	}
	return false;
}

static uint32_t find_whole(const struct gt_gil_code *code, uint32_t function)
{
	const struct gt_elf_function *part = &code->functions.items[function];
	const char *suffix = strstr(part->name, ".cold");
	size_t length;

	if (!suffix)
		return function;
	length = (size_t)(suffix - part->name);
	/* Static functions of several files may share a name: the one that jumps there is meant. */
	for (uint32_t i = 0; i < code->functions.count; i++) {
		const struct gt_elf_function *whole = &code->functions.items[i];

		if (strncmp(whole->name, part->name, length) == 0 && whole->name[length] == '\0' &&
		    jumps_into(code, whole, part))
			return i;
	}
	return function;
}

uint32_t gt_gil_code_whole(struct gt_gil_code *code, uint32_t function)
{
	uint32_t whole = gt_hash_get(&code->wholes, function);

	if (whole != GT_HASH_NONE)
		return whole;
	whole = find_whole(code, function);
	/* Out of memory, it is found out again the next time. */
	(void)gt_hash_set(&code->wholes, function, whole);
	return whole;
}

static int read_targets(struct gt_gil_code *code)
{
	int r;

	r = gt_elf_imports_read(code->elf, callee_names, GT_GIL_CALLEES, &code->imports);
	if (r < 0)
		return r;
	gt_array_for_each (&code->imports, import) {
		r = gt_hash_set(&code->targets, import->address, import->name);
		if (r < 0)
			return gt_error_oom();
	}
	return 0;
}

int gt_gil_code_read(const struct gt_elf *elf, gt_elf_functions *functions, struct gt_gil_code *ret)
{
	_cleanup_(gt_gil_code_clear) struct gt_gil_code code = {.elf = elf,
								.functions = *functions};
	int r;

	*functions = (gt_elf_functions){0};
	r = gt_disassembler_new(elf, &code.disassembler);
	if (r < 0)
		return r;
	r = gt_elf_code_sections_read(elf, &code.sections);
	if (r < 0)
		return r;
	r = read_targets(&code);
	if (r < 0)
		return r;
	r = gt_gil_code_find_calls(&code, &code.targets, &code.calls);
	if (r < 0)
		return r;
	*ret = code;
	code = (struct gt_gil_code){0};
	return 0;
}

void gt_gil_code_clear(struct gt_gil_code *code)
{
	gt_disassembler_free(code->disassembler);
	gt_array_clear(&code->sections);
	gt_array_clear(&code->functions);
	gt_array_clear(&code->imports);
	gt_hash_clear(&code->targets);
	gt_hash_clear(&code->wholes);
	gt_array_clear(&code->calls);
	*code = (struct gt_gil_code){0};
}
