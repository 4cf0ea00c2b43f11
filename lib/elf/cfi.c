/* SPDX-License-Identifier: MIT */
#include "elf/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "elf/elf_internal.h"

/* Code of the file, counted from its lowest address on, and its rule. */
struct row {
	uint32_t start, end;
	struct gt_cfi_rule rule;
};

struct gt_cfi {
	const struct gt_cfi_numbers *numbers;
	uint64_t base; /* the lowest address */
	/* In the order in which they are asked. */
	Dwarf_CFI *tables[3];
	uint32_t table_count;
	Dwarf_CFI *eh_frame;
	Dwarf *debug_frames[2];	   /* of the file, and of its debug file */
	GT_ARRAY(struct row) rows; /* sorted, without overlaps: those that were asked for */
};

/* The psABI of each machine. */
const struct gt_cfi_numbers *gt_cfi_numbers(uint16_t machine)
{
	/* rip, rbp and rbx; x30, x29 and x19 */
	static const struct gt_cfi_numbers x86_64 = {.stack_pointer = 7, .slots = {16, 6, 3}};
	static const struct gt_cfi_numbers aarch64 = {.stack_pointer = 31, .slots = {30, 29, 19}};

	switch (machine) {
	case EM_X86_64:
		return &x86_64;
	case EM_AARCH64:
		return &aarch64;
	default:
		return NULL;
	}
}

/* The sections may be packed, in either of two ways. To unpack them, libdw writes to the image. */
static bool has_debug_frame(const struct gt_elf *elf)
{
	return elf && elf->is_mapped &&
	       (gt_elf_has_section(elf, ".debug_frame") ||
		gt_elf_has_section(elf, ".zdebug_frame"));
}

static void add_debug_frame(struct gt_cfi *cfi, const struct gt_elf *elf, Dwarf **ret)
{
	Dwarf_CFI *table;

	if (!has_debug_frame(elf))
		return;
	*ret = dwarf_begin_elf(elf->handle, DWARF_C_READ, NULL);
	table = *ret ? dwarf_getcfi(*ret) : NULL;
	if (table)
		cfi->tables[cfi->table_count++] = table;
}

int gt_cfi_new(const struct gt_elf *elf, const struct gt_elf *debug_file, struct gt_cfi **ret)
{
	struct gt_cfi *cfi = calloc(1, sizeof(*cfi));

	if (!cfi)
		return gt_error_oom();
	cfi->base = UINT64_MAX;
	gt_array_for_each (&elf->loads, load)
		cfi->base = GT_MIN(cfi->base, load->p_vaddr);
	cfi->numbers = gt_cfi_numbers(elf->machine);
	if (cfi->numbers) {
		cfi->eh_frame = dwarf_getcfi_elf(elf->handle);
		if (cfi->eh_frame)
			cfi->tables[cfi->table_count++] = cfi->eh_frame;
		add_debug_frame(cfi, elf, &cfi->debug_frames[0]);
		add_debug_frame(cfi, debug_file, &cfi->debug_frames[1]);
	}
	*ret = cfi;
	return 0;
}

void gt_cfi_free(struct gt_cfi *cfi)
{
	if (cfi->eh_frame)
		dwarf_cfi_end(cfi->eh_frame);
	for (uint32_t i = 0; i < ARRAY_SIZE(cfi->debug_frames); i++)
		if (cfi->debug_frames[i])
			dwarf_end(cfi->debug_frames[i]);
	gt_array_clear(&cfi->rows);
	free(cfi);
}

/* The operand of DW_OP_breg0 …: a register, and a distance. */
static bool read_register(const Dwarf_Op *op, uint8_t *ret_register, int64_t *ret_distance)
{
	uint64_t number;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		number = (uint64_t)op->atom - DW_OP_breg0;
		*ret_distance = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		number = op->number;
		*ret_distance = (int64_t)op->number2;
	} else {
		return false;
	}
	*ret_register = (uint8_t)number;
	return number < GT_CFI_REGISTERS;
}

/*
 * The linker's rule for the stubs of a PLT, each of 16 bytes of which the first instructions have
 * not pushed anything: sp + 8 + ((ip & 15) >= 11) * 8.
 */
static bool read_plt(const Dwarf_Op *ops, size_t count, const struct gt_cfi_numbers *numbers,
		     struct gt_cfi_rule *rule)
{
	static const uint8_t atoms[] = {0,	  0,	      DW_OP_lit15, DW_OP_and, 0,
					DW_OP_ge, DW_OP_lit3, DW_OP_shl,   DW_OP_plus};
	uint8_t stack_pointer, ip;
	int64_t distance, ip_distance;

	if (count != ARRAY_SIZE(atoms) || !read_register(&ops[0], &stack_pointer, &distance) ||
	    !read_register(&ops[1], &ip, &ip_distance))
		return false;
	for (size_t i = 0; i < count; i++)
		if (atoms[i] != 0 && ops[i].atom != atoms[i])
			return false;
	if (stack_pointer != numbers->stack_pointer || ip != numbers->slots[GT_CFI_RETURN] ||
	    distance != 8 || ip_distance != 0 || ops[4].atom < DW_OP_lit0 ||
	    ops[4].atom > DW_OP_lit15)
		return false;
	rule->cfa = GT_CFI_CFA_PLT;
	rule->cfa_register = stack_pointer;
	rule->cfa_offset = 8;
	rule->cfa_added = (int16_t)(ops[4].atom - DW_OP_lit0);
	return true;
}

static bool read_cfa(const Dwarf_Op *ops, size_t count, const struct gt_cfi_numbers *numbers,
		     struct gt_cfi_rule *rule)
{
	int64_t distance, added = 0;
	bool is_memory = count >= 2 && ops[1].atom == DW_OP_deref;

	if (read_plt(ops, count, numbers, rule))
		return true;
	if (count == 0 || !read_register(&ops[0], &rule->cfa_register, &distance) ||
	    distance != (int32_t)distance)
		return false;
	if (count > 1 && !is_memory)
		return false;
	if (count == 3 && ops[2].atom == DW_OP_plus_uconst)
		added = (int64_t)ops[2].number;
	else if (count > 2)
		return false;
	if (added != (int16_t)added)
		return false;
	rule->cfa = is_memory ? GT_CFI_CFA_MEMORY : GT_CFI_CFA_REGISTER;
	rule->cfa_offset = (int32_t)distance;
	rule->cfa_added = (int16_t)added;
	return true;
}

/* Where a value in memory is, as DW_CFA_offset or DW_CFA_expression tell it. */
static bool read_memory(const Dwarf_Op *ops, size_t count, uint8_t *ret_from, int64_t *ret_offset)
{
	uint8_t number;

	if (count == 0 || count > 2 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	*ret_from = GT_CFI_AT_CFA;
	*ret_offset = 0;
	if (count == 1)
		return true;
	if (ops[1].atom == DW_OP_plus_uconst) {
		*ret_offset = (int64_t)ops[1].number;
		return true;
	}
	if (!read_register(&ops[1], &number, ret_offset))
		return false;
	*ret_from = (uint8_t)(GT_CFI_AT_REGISTER | number);
	return true;
}

/* What cannot be expressed is as good as not kept. */
static void read_slot(const Dwarf_Op *ops, size_t count, uint8_t *ret_from, int16_t *ret_offset)
{
	int64_t offset = 0;
	uint8_t from = GT_CFI_UNDEFINED;

	if (count == 0) {
		from = ops ? GT_CFI_UNDEFINED : GT_CFI_SAME;
	} else if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		from = (uint8_t)(GT_CFI_IN_REGISTER | (ops[0].atom - DW_OP_reg0));
	} else if (count == 1 && ops[0].atom == DW_OP_regx && ops[0].number < GT_CFI_REGISTERS) {
		from = (uint8_t)(GT_CFI_IN_REGISTER | ops[0].number);
	} else if (!read_memory(ops, count, &from, &offset) || offset != (int16_t)offset) {
		from = GT_CFI_UNDEFINED;
		offset = 0;
	}
	*ret_from = from;
	*ret_offset = (int16_t)offset;
}

static void read_rule(Dwarf_Frame *frame, const struct gt_cfi_numbers *numbers,
		      struct gt_cfi_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) != 0 || !read_cfa(ops, count, numbers, rule)) {
		rule->cfa = GT_CFI_CFA_UNKNOWN;
		return;
	}
	for (uint32_t slot = 0; slot < GT_CFI_SLOTS; slot++) {
		if (dwarf_frame_register(frame, numbers->slots[slot], memory, &ops, &count) != 0) {
			rule->cfa = GT_CFI_CFA_UNKNOWN;
			return;
		}
		read_slot(ops, count, &rule->from[slot], &rule->offsets[slot]);
		/* Only for a return address that is undefined there is no caller. */
		if (slot == GT_CFI_RETURN && rule->from[slot] == GT_CFI_UNDEFINED && count > 0)
			rule->cfa = GT_CFI_CFA_UNKNOWN;
		/*
		 * The other registers are those that a function keeps. Of rbx, libdw does not know
		 * that (its x86_64_abi_cfi() has the number of rax there).
		 */
		if (slot != GT_CFI_RETURN && count == 0)
			rule->from[slot] = GT_CFI_SAME;
	}
}

/*
 * Asks the tables. False when none of them knows ADDRESS. The row is from ADDRESS on: behind a
 * DW_CFA_restore_state, libdw (0.188) gives for a row's start that of the row whose state it is.
 */
static bool turn(const struct gt_cfi *cfi, uint64_t address, struct row *ret)
{
	for (uint32_t i = 0; i < cfi->table_count; i++) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr end;
		struct row row = {0};
		int return_column;

		if (dwarf_cfi_addrframe(cfi->tables[i], address, &frame) != 0)
			continue;
		return_column = dwarf_frame_info(frame, NULL, &end, &row.rule.is_signal_frame);
		if (return_column == cfi->numbers->slots[GT_CFI_RETURN])
			read_rule(frame, cfi->numbers, &row.rule);
		free(frame);
		if (return_column < 0 || end <= address)
			continue;
		row.start = (uint32_t)(address - cfi->base);
		row.end = (uint32_t)GT_MIN(end - cfi->base, (Dwarf_Addr)UINT32_MAX);
		*ret = row;
		return true;
	}
	return false;
}

/* The number of rows that start at ADDRESS or before it. */
static uint32_t count_rows_up_to(const struct gt_cfi *cfi, uint32_t address)
{
	uint32_t low = 0, high = cfi->rows.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cfi->rows.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts ROW at POSITION, cut to the room between its neighbours: entries of broken tables overlap.
 */
static void insert(struct gt_cfi *cfi, uint32_t position, struct row row)
{
	struct row *items;

	/* Without memory, it is asked for again the next time. */
	if (!gt_array_push(&cfi->rows))
		return;
	items = cfi->rows.items;
	memmove(&items[position + 1], &items[position],
		(cfi->rows.count - 1 - position) * sizeof(*items));
	if (position + 1 < cfi->rows.count)
		row.end = GT_MIN(row.end, items[position + 1].start);
	items[position] = row;
}

bool gt_cfi_find(struct gt_cfi *cfi, uint64_t address, struct gt_cfi_rule *ret)
{
	uint64_t distance = address - cfi->base;
	uint32_t position;
	struct row row;

	if (address < cfi->base || distance >= UINT32_MAX)
		return false;
	position = count_rows_up_to(cfi, (uint32_t)distance);
	if (position > 0 && distance < cfi->rows.items[position - 1].end) {
		row = cfi->rows.items[position - 1];
	} else {
		if (!turn(cfi, address, &row))
			return false;
		insert(cfi, position, row);
	}
	if (row.rule.cfa == GT_CFI_CFA_UNKNOWN)
		return false;
	*ret = row.rule;
	return true;
}
