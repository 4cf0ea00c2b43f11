/* SPDX-License-Identifier: MIT */
/* A sample's registers by the numbers that tables for unwinding have for them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/cfi.h"
#include "unwind/sample.h"

struct gt_registers {
	uint64_t values[GT_CFI_REGISTERS];
	uint64_t known; /* a bit for each */
};

static inline bool gt_registers_get(const struct gt_registers *registers, uint8_t number,
				    uint64_t *ret)
{
	if (number >= GT_CFI_REGISTERS || !(registers->known & UINT64_C(1) << number))
		return false;
	*ret = registers->values[number];
	return true;
}

static inline void gt_registers_set(struct gt_registers *registers, uint8_t number, uint64_t value)
{
	registers->values[number] = value;
	registers->known |= UINT64_C(1) << number;
}

static inline void gt_registers_forget(struct gt_registers *registers, uint8_t number)
{
	registers->known &= ~(UINT64_C(1) << number);
}

/* The numbers of this machine, or NULL where stacks are not unwound. */
const struct gt_cfi_numbers *gt_registers_numbers(void);

/*
 * The registers of SAMPLE, and the address at which it was. False when it has not recorded that or
 * the stack pointer, or the machine's registers are not known.
 */
bool gt_registers_read(const struct gt_stack_sample *sample, struct gt_registers *ret,
		       uint64_t *ret_pc);

/* A return address without what a processor may have signed it with. */
static inline uint64_t gt_return_address(uint64_t value)
{
#ifdef __aarch64__
	return value & ((UINT64_C(1) << 48) - 1);
#else
	return value;
#endif
}
