/* SPDX-License-Identifier: MIT */
/*
 * Machine code, read one instruction at a time, and told apart only as far as the flow of control
 * needs: calls, jumps, returns, and where they lead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct gt_elf;
struct gt_disassembler;

enum gt_instruction_kind {
	GT_INSTRUCTION_PLAIN,  /* the next one follows */
	GT_INSTRUCTION_CALL,   /* the next one follows when the function returns */
	GT_INSTRUCTION_JUMP,   /* goes to the target, always */
	GT_INSTRUCTION_BRANCH, /* goes to the target, or on to the next one */
	GT_INSTRUCTION_RETURN,
	GT_INSTRUCTION_TRAP, /* nothing follows */
};

struct gt_instruction {
	uint64_t address;
	uint32_t size; /* bytes, at least 1 */
	enum gt_instruction_kind kind;
	uint64_t target; /* where a direct call, jump or branch goes; 0 when it tells otherwise */
	uint64_t slot;	 /* the word at a fixed address that an indirect one goes through, or 0 */
};

/* What an instruction does to the register that carries the first argument of a call. */
enum gt_argument_kind {
	GT_ARGUMENT_KEPT,     /* does not touch it */
	GT_ARGUMENT_CONSTANT, /* sets it to value */
	GT_ARGUMENT_RELATIVE, /* sets it to the register base + value */
	GT_ARGUMENT_UNKNOWN,  /* sets it, to what cannot be told; all calls do */
};

struct gt_argument {
	enum gt_argument_kind kind;
	uint32_t base; /* the disassembler's number for the register */
	int64_t value;
};

/* For the code of ELF, which must outlive it. -EOPNOTSUPP, logged, for an unknown machine; -ENOMEM.
 */
int gt_disassembler_new(const struct gt_elf *elf, struct gt_disassembler **ret);
void gt_disassembler_free(struct gt_disassembler *disassembler);
GT_DEFINE_CLEANUP(struct gt_disassembler *, gt_disassembler_free)

/*
 * Reads the instruction at ADDRESS. Bytes that are no known instruction are a plain one of the
 * machine's smallest size, so that a sweep gets past them. False when the file has no bytes there.
 */
bool gt_disassemble(struct gt_disassembler *disassembler, uint64_t address,
		    struct gt_instruction *ret);

/* The same, and what it does to the register of the first argument. */
bool gt_disassemble_argument(struct gt_disassembler *disassembler, uint64_t address,
			     struct gt_instruction *ret, struct gt_argument *ret_argument);
