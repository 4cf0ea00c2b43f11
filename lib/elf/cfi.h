/* SPDX-License-Identifier: MIT */
/*
 * The tables for unwinding of a file (.eh_frame; .debug_frame where that is missing) as rows that a
 * search finds at once: how to get from a frame to its caller's. libdw runs the tables' programs,
 * once for each row that is needed.
 *
 * Of a caller, four registers are known: the address at which it goes on, its stack pointer, its
 * frame pointer, and one more that code with a table of its own (the dynamic loader's) counts from.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct gt_cfi;

/* DWARF's numbers of registers are below it. */
#define GT_CFI_REGISTERS 33u

/* How the canonical frame address (CFA) is found: the caller's stack pointer. */
enum gt_cfi_cfa {
	GT_CFI_CFA_UNKNOWN,  /* in a way that no row can express */
	GT_CFI_CFA_REGISTER, /* register + offset */
	GT_CFI_CFA_MEMORY,   /* what is at register + offset, + added */
	GT_CFI_CFA_PLT, /* stack pointer + offset, + 8 from byte `added` of 16 bytes of code on */
};

enum gt_cfi_slot { GT_CFI_RETURN, GT_CFI_FRAME_POINTER, GT_CFI_SAVED, GT_CFI_SLOTS };

/* Where what the caller had in a register is; a number of a register may be added to the last two.
 */
#define GT_CFI_SAME 0x00u	 /* where it was */
#define GT_CFI_UNDEFINED 0x01u	 /* nowhere; a return address: there is no caller */
#define GT_CFI_AT_CFA 0x02u	 /* in memory, at the CFA + offset */
#define GT_CFI_AT_REGISTER 0x40u /* in memory, at register + offset */
#define GT_CFI_IN_REGISTER 0x80u /* in another register */

struct gt_cfi_rule {
	int32_t cfa_offset;
	int16_t cfa_added;
	int16_t offsets[GT_CFI_SLOTS];
	uint8_t from[GT_CFI_SLOTS];
	uint8_t cfa; /* enum gt_cfi_cfa */
	uint8_t cfa_register;
	bool is_signal_frame; /* the caller was interrupted: its address is not behind a call */
	bool may_be_new; /* a thread begins here, without a caller, when a system call gave 0 */
};

/* DWARF's numbers of the registers of a machine. */
struct gt_cfi_numbers {
	uint8_t stack_pointer;
	uint8_t slots[GT_CFI_SLOTS]; /* the return address: its column */
};

/* NULL for a machine whose frames are not understood. */
const struct gt_cfi_numbers *gt_cfi_numbers(uint16_t machine);

/*
 * ELF must live as long; DEBUG_FILE too, which may be NULL. Whether there are tables at all, shows
 * when they are asked. -ENOMEM.
 */
int gt_cfi_new(const struct gt_elf *elf, const struct gt_elf *debug_file, struct gt_cfi **ret);
void gt_cfi_free(struct gt_cfi *cfi);
GT_DEFINE_CLEANUP(struct gt_cfi *, gt_cfi_free)

/*
 * The rule when the instruction at ADDRESS, virtual in the file, is about to be executed. False
 * when the tables have none that can be followed. Logs nothing.
 */
bool gt_cfi_find(struct gt_cfi *cfi, uint64_t address, struct gt_cfi_rule *ret);
