/* SPDX-License-Identifier: MIT */
#include "unwind/step.h"

#include <string.h>

/* DWARF's number of rax, in which the kernel gives a result. */
#define RESULT_REGISTER 0

/* GT_STEP_CALLER when VALUE was read. */
static enum gt_step read_stack(const struct gt_walk *walk, uint64_t address, uint64_t *ret)
{
	uint64_t distance = address - walk->stack_start;

	if (address < walk->stack_start)
		return GT_STEP_BROKEN;
	if (walk->stack_bytes < sizeof(*ret) || distance > walk->stack_bytes - sizeof(*ret))
		return GT_STEP_CUT;
	memcpy(ret, walk->stack + distance, sizeof(*ret));
	return GT_STEP_CALLER;
}

static enum gt_step find_cfa(const struct gt_walk *walk, const struct gt_cfi_rule *rule,
			     uint64_t *ret)
{
	enum gt_step step = GT_STEP_CALLER;
	uint64_t value;

	if (!gt_registers_get(&walk->registers, rule->cfa_register, &value))
		return GT_STEP_BROKEN;
	value += (uint64_t)(int64_t)rule->cfa_offset;
	switch ((enum gt_cfi_cfa)rule->cfa) {
	case GT_CFI_CFA_REGISTER:
		break;
	case GT_CFI_CFA_MEMORY:
		step = read_stack(walk, value, &value);
		if (step == GT_STEP_CALLER)
			value += (uint64_t)(int64_t)rule->cfa_added;
		break;
	case GT_CFI_CFA_PLT:
		if ((walk->pc & 15) >= (uint64_t)rule->cfa_added)
			value += 8;
		break;
	case GT_CFI_CFA_UNKNOWN:
	default:
		return GT_STEP_BROKEN;
	}
	*ret = value;
	return step;
}

/* GT_STEP_CALLER when what the caller has in the register of SLOT is known. */
static enum gt_step find_slot(const struct gt_walk *walk, const struct gt_cfi_rule *rule,
			      uint64_t cfa, enum gt_cfi_slot slot, uint64_t *ret)
{
	uint8_t from = rule->from[slot], number = walk->numbers->slots[slot];
	uint64_t address = cfa;

	if (from == GT_CFI_UNDEFINED)
		return GT_STEP_BROKEN;
	if (from & GT_CFI_IN_REGISTER)
		number = from & (uint8_t)~GT_CFI_IN_REGISTER;
	if (from == GT_CFI_SAME || (from & GT_CFI_IN_REGISTER))
		return gt_registers_get(&walk->registers, number, ret) ? GT_STEP_CALLER
								       : GT_STEP_BROKEN;
	if ((from & GT_CFI_AT_REGISTER) &&
	    !gt_registers_get(&walk->registers, from & (uint8_t)~GT_CFI_AT_REGISTER, &address))
		return GT_STEP_BROKEN;
	return read_stack(walk, address + (uint64_t)(int64_t)rule->offsets[slot], ret);
}

/* Of the registers, the caller's stack pointer is the only one that is known yet. */
static void go_to(struct gt_walk *walk, uint64_t pc, uint64_t stack_pointer, bool is_interrupted)
{
	walk->registers.known = 0;
	gt_registers_set(&walk->registers, walk->numbers->stack_pointer, stack_pointer);
	walk->pc = gt_return_address(pc);
	walk->is_interrupted = is_interrupted;
}

/* A stack grows downwards; of a leaf function, there need not be anything on it. */
static bool is_above(const struct gt_walk *walk, uint64_t cfa, bool is_signal_frame)
{
	uint64_t stack_pointer = walk->registers.values[walk->numbers->stack_pointer];

	return cfa > stack_pointer || (cfa == stack_pointer && walk->is_interrupted) ||
	       is_signal_frame;
}

enum gt_step gt_walk_step(struct gt_walk *walk, const struct gt_cfi_rule *rule)
{
	enum gt_step steps[GT_CFI_SLOTS] = {0};
	uint64_t values[GT_CFI_SLOTS] = {0}, result, cfa;

	if (rule->from[GT_CFI_RETURN] == GT_CFI_UNDEFINED)
		return GT_STEP_END;
	if (rule->may_be_new && gt_registers_get(&walk->registers, RESULT_REGISTER, &result) &&
	    result == 0)
		return GT_STEP_END;
	steps[0] = find_cfa(walk, rule, &cfa);
	if (steps[0] != GT_STEP_CALLER)
		return steps[0];
	for (enum gt_cfi_slot slot = GT_CFI_RETURN; slot < GT_CFI_SLOTS; slot++)
		steps[slot] = find_slot(walk, rule, cfa, slot, &values[slot]);
	if (steps[GT_CFI_RETURN] != GT_STEP_CALLER)
		return steps[GT_CFI_RETURN];
	if (!is_above(walk, cfa, rule->is_signal_frame))
		return GT_STEP_BROKEN;
	go_to(walk, values[GT_CFI_RETURN], cfa, rule->is_signal_frame);
	for (enum gt_cfi_slot slot = GT_CFI_RETURN + 1; slot < GT_CFI_SLOTS; slot++)
		if (steps[slot] == GT_STEP_CALLER)
			gt_registers_set(&walk->registers, walk->numbers->slots[slot],
					 values[slot]);
	return walk->pc == 0 ? GT_STEP_END : GT_STEP_CALLER;
}

enum gt_step gt_walk_step_by_frame_pointer(struct gt_walk *walk)
{
	uint8_t number = walk->numbers->slots[GT_CFI_FRAME_POINTER];
	uint64_t frame, outer_frame, pc;

	if (!gt_registers_get(&walk->registers, number, &frame) ||
	    read_stack(walk, frame, &outer_frame) != GT_STEP_CALLER ||
	    read_stack(walk, frame + sizeof(frame), &pc) != GT_STEP_CALLER || outer_frame <= frame)
		return GT_STEP_BROKEN;
	go_to(walk, pc, frame + 2 * sizeof(frame), false);
	gt_registers_set(&walk->registers, number, outer_frame);
	return GT_STEP_CALLER;
}
