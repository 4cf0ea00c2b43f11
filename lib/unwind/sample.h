/* SPDX-License-Identifier: MIT */
/*
 * What the kernel has copied of a thread's stack at one moment: enough to find out by which calls
 * it got there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Nothing in it need be aligned, and none of it is owned. Any part may be missing: a count of 0, a
 * NULL.
 */
struct gt_stack_sample {
	/*
	 * The call chain as the kernel has walked it: 64-bit addresses, innermost first, with the
	 * marks PERF_CONTEXT_KERNEL and PERF_CONTEXT_USER between them. User code is in it only
	 * when that was recorded by frame pointers.
	 */
	const void *frames;
	uint32_t frame_count;
	/* User registers, 64 bits each, in the order of the bits of the mask (asm/perf_regs.h). */
	const void *registers;
	uint64_t register_mask;
	/* The user's stack from its pointer on. */
	const void *stack;
	uint32_t stack_bytes;
	bool is_cut; /* the stack goes on behind it */
};

/* One of the registers, by its number in asm/perf_regs.h. False when it was not recorded. */
static inline bool gt_stack_sample_register(const struct gt_stack_sample *sample, unsigned number,
					    uint64_t *ret)
{
	uint64_t bit = UINT64_C(1) << number;

	if (!sample->registers || !(sample->register_mask & bit))
		return false;
	__builtin_memcpy(ret,
			 (const char *)sample->registers +
				 sizeof(uint64_t) * (unsigned)__builtin_popcountll(
							    sample->register_mask & (bit - 1)),
			 sizeof(*ret));
	return true;
}
