/* SPDX-License-Identifier: MIT */
/*
 * Machine code, read one instruction at a time, and told apart only as far as the flow of control
 * needs: calls, jumps, returns, and where they lead. For those that go through a register, and for
 * what a call is given, the addresses that instructions put into registers are understood as well.
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

#define GT_REGISTERS 32	    /* general registers, by the numbers that the machine gives them */
#define GT_REGISTER_NONE 32 /* no register, or one that is not looked at */

struct gt_instruction {
	uint64_t address;
	uint32_t size; /* bytes, at least 1 */
	enum gt_instruction_kind kind;
	uint64_t target;  /* where a direct call, jump or branch goes; 0 when it tells otherwise */
	uint64_t slot;	  /* the word at a fixed address that an indirect one goes through, or 0 */
	uint32_t through; /* the register that an indirect one goes through, or GT_REGISTER_NONE */
	bool is_padding;  /* does nothing */
};

/* What is known of the content of a register. */
enum gt_value_kind {
	GT_VALUE_UNKNOWN,
	GT_VALUE_CONSTANT, /* value */
	GT_VALUE_LOADED,   /* the word at the address value, as it is when the program runs */
	GT_VALUE_RELATIVE, /* value, added to the register base as it still is */
	GT_VALUE_ANY,	   /* no way there has been seen yet: to be taken as unknown */
};

struct gt_value {
	enum gt_value_kind kind;
	uint32_t base;
	uint64_t value;
};

struct gt_registers {
	struct gt_value values[GT_REGISTERS];
};

/* What an instruction does to the registers. */
struct gt_effects {
	uint32_t written; /* a bit for each register that it sets, and that a call may set */
	uint32_t known;	  /* the register that is known afterwards, or GT_REGISTER_NONE */
	struct gt_value value;
};

/*
 * For the code of ELF, which must outlive it. -EOPNOTSUPP, logged, for an unknown machine; -ENOMEM.
 */
int gt_disassembler_new(const struct gt_elf *elf, struct gt_disassembler **ret);
void gt_disassembler_free(struct gt_disassembler *disassembler);
GT_DEFINE_CLEANUP(struct gt_disassembler *, gt_disassembler_free)

/* Whether it has read so much code that it reads no more: what it was for is then not complete. */
bool gt_disassembler_is_exhausted(const struct gt_disassembler *disassembler);

/*
 * Reads the instruction at ADDRESS. Bytes that are no known instruction are a plain one of the
 * machine's smallest size, so that a sweep gets past them. False when the file has no bytes there,
 * and when more has been read already than any interpreter needs: so no file takes for ever.
 */
bool gt_disassemble(struct gt_disassembler *disassembler, uint64_t address,
		    struct gt_instruction *ret);

/* The same, and what it does to REGISTERS, which are as they are before it. */
bool gt_disassemble_effects(struct gt_disassembler *disassembler, uint64_t address,
			    const struct gt_registers *registers, struct gt_instruction *ret,
			    struct gt_effects *ret_effects);

void gt_registers_apply(struct gt_registers *registers, const struct gt_effects *effects);

/* What is known whichever of two ways was taken. */
void gt_registers_merge(struct gt_registers *registers, const struct gt_registers *others);

/* True when both surely are the same. */
bool gt_values_equal(const struct gt_value *left, const struct gt_value *right);

/* The register that carries the first argument of a call. */
uint32_t gt_first_argument_register(uint16_t machine);
