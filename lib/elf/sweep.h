/* SPDX-License-Identifier: MIT */
/*
 * Reads a function from its start to its end, and follows what the registers hold on the way. What
 * is known at a jump is known at its target too, as long as that is further on: compilers put code
 * that rarely runs there, and load addresses before loops. What is jumped to from further on only,
 * the body of a loop, changes nothing but what it sets itself.
 */
#pragma once

#include "base/hash.h"
#include "elf/disassembly.h"
#include "elf/elf_file.h"

struct gt_sweep {
	struct gt_disassembler *disassembler;
	uint64_t next, end;
	struct gt_registers registers; /* before the instruction that was read last */
	/* private: */
	struct gt_effects pending;
	bool is_reachable;    /* from the instruction before */
	struct gt_hash joins; /* address → index of what is known from jumps to it */
	GT_ARRAY(struct gt_registers) states;
};

void gt_sweep_begin(struct gt_sweep *sweep, struct gt_disassembler *disassembler,
		    const struct gt_elf_function *function);

/* The next instruction; false behind the last one. */
bool gt_sweep_next(struct gt_sweep *sweep, struct gt_instruction *ret);

void gt_sweep_clear(struct gt_sweep *sweep);
