/* SPDX-License-Identifier: MIT */
#include "elf/frame.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>

#include "elf/elf_internal.h"

/* DWARF's numbers of the registers: the psABI of each machine. */
struct register_numbers {
	uint32_t stack_pointer, frame_pointer;
};

static int find_numbers(const struct gt_elf *elf, struct register_numbers *ret)
{
	switch (gt_elf_machine(elf)) {
	case EM_X86_64:
		*ret = (struct register_numbers){.stack_pointer = 7, .frame_pointer = 6};
		return 0;
	case EM_AARCH64:
		*ret = (struct register_numbers){.stack_pointer = 31, .frame_pointer = 29};
		return 0;
	default:
		return -ENODATA;
	}
}

/* A register and a distance, as all compilers write the canonical frame address of a function. */
static int read_cfa(const Dwarf_Op *op, size_t count, const struct register_numbers *numbers,
		    bool *ret_by_frame_pointer, int64_t *ret_distance)
{
	uint64_t number;

	if (count != 1)
		return -ENODATA;
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		number = (uint64_t)op->atom - DW_OP_breg0;
		*ret_distance = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		number = op->number;
		*ret_distance = (int64_t)op->number2;
	} else {
		return -ENODATA;
	}
	*ret_by_frame_pointer = number == numbers->frame_pointer;
	return number == numbers->stack_pointer || *ret_by_frame_pointer ? 0 : -ENODATA;
}

static int read_frame(Dwarf_Frame *frame, const struct register_numbers *numbers,
		      struct gt_elf_return_slot *ret)
{
	Dwarf_Op memory[3], *ops;
	int64_t distance, offset;
	int return_register;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) != 0 ||
	    read_cfa(ops, count, numbers, &ret->by_frame_pointer, &distance) < 0)
		return -ENODATA;
	return_register = dwarf_frame_info(frame, NULL, NULL, NULL);
	if (return_register < 0 ||
	    dwarf_frame_register(frame, return_register, memory, &ops, &count) != 0)
		return -ENODATA;
	/* "at the canonical frame address, and so many bytes from it" */
	if (count != 2 || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_plus_uconst)
		return -ENODATA;
	if (__builtin_add_overflow(distance, (int64_t)ops[1].number, &offset) ||
	    offset != (int32_t)offset || offset % 8 != 0)
		return -ENODATA;
	ret->offset = (int32_t)offset;
	return 0;
}

int gt_elf_return_slot_at(const struct gt_elf *elf, uint64_t address,
			  struct gt_elf_return_slot *ret)
{
	struct gt_elf_return_slot slot = {0};
	struct register_numbers numbers;
	Dwarf_Frame *frame = NULL;
	Dwarf_CFI *tables;
	int r = find_numbers(elf, &numbers);

	if (r < 0)
		return r;
	tables = dwarf_getcfi_elf(elf->handle);
	if (!tables)
		return -ENODATA;
	r = dwarf_cfi_addrframe(tables, address, &frame) == 0 ? read_frame(frame, &numbers, &slot)
							      : -ENODATA;
	free(frame);
	dwarf_cfi_end(tables);
	if (r == 0)
		*ret = slot;
	return r;
}
