/* SPDX-License-Identifier: MIT */
/* Where a function's frame keeps its return address, as the tables for unwinding tell. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* In bytes from the stack pointer, or from the frame pointer. */
struct gt_elf_return_slot {
	bool by_frame_pointer;
	int32_t offset;
};

/*
 * When the instruction at ADDRESS is about to be executed. -ENODATA where the tables do not tell,
 * or tell it in another way. Logs nothing.
 */
int gt_elf_return_slot_at(const struct gt_elf *elf, uint64_t address,
			  struct gt_elf_return_slot *ret);
