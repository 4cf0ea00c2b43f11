/* SPDX-License-Identifier: MIT */
/*
 * Reading all the code of an interpreter instruction by instruction takes a second. So its bytes
 * are searched first for what might be a call of one of the targets, whatever it is a part of; then
 * only the functions with such bytes are read from their start, and that tells which are
 * instructions.
 */
#include "python/gil_code.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "elf/sweep.h"

static const char *const callee_names[GT_GIL_CALLEES] = {
	[GT_GIL_CALLEE_COND_SIGNAL] = "pthread_cond_signal",
	[GT_GIL_CALLEE_COND_TIMEDWAIT] = "pthread_cond_timedwait",
	[GT_GIL_CALLEE_COND_WAIT] = "pthread_cond_wait",
	[GT_GIL_CALLEE_MUTEX_LOCK] = "pthread_mutex_lock",
	[GT_GIL_CALLEE_MUTEX_UNLOCK] = "pthread_mutex_unlock",
};

static bool may_call(const struct gt_instruction *instruction)
{
	return instruction->kind == GT_INSTRUCTION_CALL ||
	       instruction->kind == GT_INSTRUCTION_JUMP ||
	       instruction->kind == GT_INSTRUCTION_BRANCH;
}

/* REGISTERS: what they hold before the instruction, or NULL. */
static uint32_t find_target(const struct gt_hash *targets, const struct gt_instruction *instruction,
			    const struct gt_registers *registers)
{
	if (!may_call(instruction))
		return GT_HASH_NONE;
	if (instruction->target)
		return gt_hash_get(targets, instruction->target);
	if (instruction->slot)
		return gt_hash_get(targets, instruction->slot);
	if (registers && instruction->through != GT_REGISTER_NONE) {
		const struct gt_value *value = &registers->values[instruction->through];

		if (value->kind == GT_VALUE_LOADED || value->kind == GT_VALUE_CONSTANT)
			return gt_hash_get(targets, value->value);
	}
	return GT_HASH_NONE;
}

/* The signed number in the lowest BITS bits of VALUE. */
static uint64_t sign_extended(uint64_t value, uint32_t bits)
{
	return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

/*
 * What the bytes at ADDRESS lead to if they are call or jmp (e8, e9), a conditional jump (0f 80 …
 * 8f), call or jmp through a word (ff 15, ff 25), or mov of a word to a register (48 8b, 4c 8b):
 * all end in a distance from the next instruction. 0 if they are none of these.
 */
static uint64_t guess_target_x86_64(const unsigned char *bytes, uint64_t left, uint64_t address)
{
	int32_t distance;
	uint32_t opcode_size;

	if (bytes[0] == 0xe8 || bytes[0] == 0xe9)
		opcode_size = 1;
	else if (left >= 2 && ((bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80) ||
			       (bytes[0] == 0xff && (bytes[1] == 0x15 || bytes[1] == 0x25))))
		opcode_size = 2;
	else if (left >= 3 && (bytes[0] == 0x48 || bytes[0] == 0x4c) && bytes[1] == 0x8b &&
		 (bytes[2] & 0xc7) == 0x05)
		opcode_size = 3;
	else
		return 0;
	if (left < opcode_size + sizeof(distance))
		return 0;
	memcpy(&distance, bytes + opcode_size, sizeof(distance));
	return address + opcode_size + sizeof(distance) + (uint64_t)(int64_t)distance;
}

/* How far behind adrp a word is loaded from its page. Compilers put the two next to each other. */
#define MAX_WORDS_TO_LOAD 8

/* The address that "ldr x…, [xPAGE, #…]", among the next words, loads from. */
static uint64_t guess_slot_aarch64(const unsigned char *bytes, uint64_t left, uint64_t page,
				   uint32_t page_register)
{
	uint32_t word;

	for (uint32_t i = 0; i < MAX_WORDS_TO_LOAD && left >= sizeof(word); i++) {
		memcpy(&word, bytes, sizeof(word));
		if ((word & 0xffc00000) == 0xf9400000 && (word >> 5 & 31) == page_register)
			return page + (word >> 10 & 0xfff) * 8;
		bytes += sizeof(word);
		left -= sizeof(word);
	}
	return 0;
}

/*
 * The same for bl and b, b.cond, cbz and cbnz, tbz and tbnz, and for adrp with ldr, which load a
 * word to a register.
 */
static uint64_t guess_target_aarch64(const unsigned char *bytes, uint64_t left, uint64_t address)
{
	uint32_t word;

	if (left < sizeof(word))
		return 0;
	memcpy(&word, bytes, sizeof(word));
	if ((word & 0x9f000000) == 0x90000000) {
		uint64_t pages = sign_extended((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);

		return guess_slot_aarch64(bytes + sizeof(word), left - sizeof(word),
					  (address & ~UINT64_C(0xfff)) + pages * 4096, word & 31);
	}
	if ((word & 0x7c000000) == 0x14000000)
		return address + sign_extended(word, 26) * 4;
	if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		return address + sign_extended(word >> 5, 19) * 4;
	if ((word & 0x7e000000) == 0x36000000)
		return address + sign_extended(word >> 5, 14) * 4;
	return 0;
}

typedef uint64_t (*guess_target_t)(const unsigned char *bytes, uint64_t left, uint64_t address);

static guess_target_t guess_of(const struct gt_gil_code *code, uint32_t *ret_step)
{
	if (gt_elf_machine(code->elf) == EM_AARCH64) {
		*ret_step = 4;
		return guess_target_aarch64;
	}
	*ret_step = 1;
	return guess_target_x86_64;
}

/* Adds the calls in one function, which is read from its start. */
static int read_function(const struct gt_gil_code *code, uint32_t index,
			 const struct gt_hash *targets, gt_gil_calls *calls)
{
	_cleanup_(gt_sweep_clear) struct gt_sweep sweep;
	uint32_t argument = gt_first_argument_register(gt_elf_machine(code->elf));
	struct gt_instruction instruction;

	gt_sweep_begin(&sweep, code->disassembler, &code->functions.items[index]);
	while (gt_sweep_next(&sweep, &instruction)) {
		uint32_t callee = find_target(targets, &instruction, &sweep.registers);
		struct gt_gil_call *call;

		if (callee == GT_HASH_NONE)
			continue;
		call = gt_array_push(calls);
		if (!call)
			return gt_error_oom();
		*call = (struct gt_gil_call){.address = instruction.address,
					     .next = instruction.address + instruction.size,
					     .function = index,
					     .callee = callee,
					     .kind = instruction.kind,
					     .argument = sweep.registers.values[argument]};
	}
	return 0;
}

int gt_gil_code_find_calls(const struct gt_gil_code *code, const struct gt_hash *targets,
			   gt_gil_calls *ret)
{
	gt_gil_calls calls = {0};
	uint32_t step;
	guess_target_t guess_target = guess_of(code, &step);
	int r;

	gt_array_for_each (&code->sections, section) {
		uint64_t size = section->end - section->start;
		const unsigned char *bytes = gt_elf_bytes(code->elf, section->start, size);
		uint64_t offset = 0;

		while (bytes && offset < size) {
			uint64_t address = section->start + offset;
			uint64_t target = guess_target(bytes + offset, size - offset, address);
			uint32_t function;

			offset += step;
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
	uint32_t callee = find_target(&code->targets, instruction, NULL);

	if (callee == GT_HASH_NONE && instruction->through != GT_REGISTER_NONE)
		callee = gt_hash_get(&code->callees, instruction->address);
	return callee == GT_HASH_NONE ? GT_GIL_CALLEE_OTHER : (enum gt_gil_callee)callee;
}

static int compare_entries(const void *left, const void *right)
{
	const struct gt_gil_entry *a = left, *b = right;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* Looks through all the code, once, for what may be a jump into a part of another function. */
static int find_entries(struct gt_gil_code *code)
{
	uint32_t step;
	guess_target_t guess_target = guess_of(code, &step);

	gt_array_for_each (&code->sections, section) {
		uint64_t size = section->end - section->start;
		const unsigned char *bytes = gt_elf_bytes(code->elf, section->start, size);

		for (uint64_t offset = 0; bytes && offset < size; offset += step) {
			uint64_t address = section->start + offset;
			uint64_t target = guess_target(bytes + offset, size - offset, address);
			struct gt_gil_entry *entry;
			uint32_t part, from;

			if (!target)
				continue;
			part = gt_elf_function_at(&code->functions, target);
			if (part == UINT32_MAX || !code->functions.items[part].is_part)
				continue;
			from = gt_elf_function_at(&code->functions, address);
			if (from == part || from == UINT32_MAX)
				continue;
			entry = gt_array_push(&code->entries);
			if (!entry)
				return gt_error_oom();
			*entry = (struct gt_gil_entry){.part = part, .from = from};
		}
	}
	if (code->entries.count > 0)
		qsort(code->entries.items, code->entries.count, sizeof(*code->entries.items),
		      compare_entries);
	return 0;
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

/* The index of the first entry into PART. */
static uint32_t first_entry(const struct gt_gil_code *code, uint32_t part)
{
	uint32_t low = 0, high = code->entries.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (code->entries.items[middle].part < part)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Parts of one function that jump to each other. No function has more. */
#define MAX_PARTS 16

/* From part to part, back to the function that is none. */
static uint32_t find_whole(const struct gt_gil_code *code, uint32_t function)
{
	uint32_t parts[MAX_PARTS] = {function};
	uint32_t count = 1, whole = UINT32_MAX;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t previous = UINT32_MAX;

		for (uint32_t at = first_entry(code, parts[i]); at < code->entries.count; at++) {
			const struct gt_gil_entry *entry = &code->entries.items[at];
			bool known = entry->from == previous || entry->from == whole;

			if (entry->part != parts[i])
				break;
			for (uint32_t j = 0; j < count && !known; j++)
				known = parts[j] == entry->from;
			previous = entry->from;
			if (known || !jumps_into(code, &code->functions.items[entry->from],
						 &code->functions.items[parts[i]]))
				continue;
			if (!code->functions.items[entry->from].is_part && whole == UINT32_MAX)
				whole = entry->from;
			else if (code->functions.items[entry->from].is_part && count < MAX_PARTS)
				parts[count++] = entry->from;
			else
				return function;
		}
	}
	return whole == UINT32_MAX ? function : whole;
}

/* Once. */
static int need_entries(struct gt_gil_code *code)
{
	int r = code->has_entries ? 0 : find_entries(code);

	if (r >= 0)
		code->has_entries = true;
	return r;
}

uint32_t gt_gil_code_whole(struct gt_gil_code *code, uint32_t function)
{
	uint32_t whole;

	if (!code->functions.items[function].is_part)
		return function;
	whole = gt_hash_get(&code->wholes, function);
	if (whole != GT_HASH_NONE)
		return whole;
	if (need_entries(code) < 0)
		return function;
	whole = find_whole(code, function);
	/* Out of memory, it is found out again the next time. */
	(void)gt_hash_set(&code->wholes, function, whole);
	return whole;
}

static bool has_part(const gt_gil_parts *parts, uint32_t function)
{
	gt_array_for_each (parts, part)
		if (*part == function)
			return true;
	return false;
}

static int add_part(gt_gil_parts *parts, uint32_t function)
{
	uint32_t *part = gt_array_push(parts);

	if (!part)
		return gt_error_oom();
	*part = function;
	return 0;
}

int gt_gil_code_parts(struct gt_gil_code *code, uint32_t function, gt_gil_parts *ret)
{
	uint32_t before = 0;
	int r = need_entries(code);

	if (r >= 0)
		r = add_part(ret, function);
	/* What jumps to a part may be a part itself, which was not known as one before. */
	while (r >= 0 && before < ret->count && ret->count <= MAX_PARTS) {
		before = ret->count;
		gt_array_for_each (&code->entries, entry) {
			if (!has_part(ret, entry->from) || has_part(ret, entry->part) ||
			    gt_gil_code_whole(code, entry->part) != function)
				continue;
			r = add_part(ret, entry->part);
			if (r < 0)
				return r;
		}
	}
	return r;
}

static int read_targets(struct gt_gil_code *code)
{
	int r;

	r = gt_elf_imports_read(code->elf, callee_names, GT_GIL_CALLEES, &code->imports);
	if (r < 0)
		return r;
	gt_array_for_each (&code->imports, import) {
		code->is_static = code->is_static || import->kind == GT_ELF_IMPORT_BODY;
		r = gt_hash_set(&code->targets, import->address, import->name);
		if (r < 0)
			return gt_error_oom();
	}
	return 0;
}

static int read_functions(struct gt_gil_code *code)
{
	const struct gt_elf *elf = code->elf;
	int r;

	if (gt_elf_is_stripped(elf)) {
		r = gt_elf_open_debug_file(elf, &code->debug_file);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	r = gt_elf_functions_read(elf, code->debug_file ? code->debug_file : elf, &code->functions);
	if (r < 0)
		return r;
	if (code->functions.count > 0)
		return 0;
	gt_error("cannot find the GIL in %s: it has neither .eh_frame nor symbols, so nothing says "
		 "where its functions start",
		 gt_elf_path(elf));
	return -ENODATA;
}

int gt_gil_code_read(const struct gt_elf *elf, struct gt_gil_code *ret)
{
	_cleanup_(gt_gil_code_clear) struct gt_gil_code code = {.elf = elf};
	int r;

	r = read_functions(&code);
	if (r < 0)
		return r;
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
	gt_array_for_each (&code.calls, call) {
		r = gt_hash_set(&code.callees, call->address, call->callee);
		if (r < 0)
			return gt_error_oom();
	}
	*ret = code;
	code = (struct gt_gil_code){0};
	return 0;
}

void gt_gil_code_clear(struct gt_gil_code *code)
{
	gt_disassembler_free(code->disassembler);
	gt_elf_close(code->debug_file);
	gt_array_clear(&code->sections);
	gt_array_clear(&code->functions);
	gt_array_clear(&code->imports);
	gt_hash_clear(&code->targets);
	gt_hash_clear(&code->wholes);
	gt_array_clear(&code->calls);
	gt_hash_clear(&code->callees);
	gt_array_clear(&code->entries);
	*code = (struct gt_gil_code){0};
}
