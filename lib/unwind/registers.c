/* SPDX-License-Identifier: MIT */
#include "unwind/registers.h"

#include <elf.h>
#include <stddef.h>

#include "base/macros.h"

#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

#ifdef __x86_64__
#define MACHINE EM_X86_64
#define PC PERF_REG_X86_IP

/* By DWARF's numbers. */
static const uint8_t perf_numbers[] = {
	PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,
	PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,
	PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
	PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
};

#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define PC PERF_REG_ARM64_PC

/* Both count them in the same way, up to the stack pointer. */
static const uint8_t perf_numbers[] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

#else
#define MACHINE EM_NONE
#define PC 0

static const uint8_t perf_numbers[] = {0};
#endif

const struct gt_cfi_numbers *gt_registers_numbers(void)
{
	return gt_cfi_numbers(MACHINE);
}

bool gt_registers_read(const struct gt_stack_sample *sample, struct gt_registers *ret,
		       uint64_t *ret_pc)
{
	const struct gt_cfi_numbers *numbers = gt_registers_numbers();

	ret->known = 0;
	if (!numbers || !gt_stack_sample_register(sample, PC, ret_pc))
		return false;
	for (uint8_t number = 0; number < ARRAY_SIZE(perf_numbers); number++) {
		uint64_t value;

		if (gt_stack_sample_register(sample, perf_numbers[number], &value))
			gt_registers_set(ret, number, value);
	}
	return ret->known & UINT64_C(1) << numbers->stack_pointer;
}
