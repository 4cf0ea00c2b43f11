/* SPDX-License-Identifier: MIT */
#include "elf/sweep.h"

/*
 * Targets of jumps for which registers are remembered, 512 bytes each. The largest function of an
 * interpreter has some thousand. Further ones are as if nobody knew where they are reached from.
 */
#define MAX_STATES 16384

void gt_sweep_begin(struct gt_sweep *sweep, struct gt_disassembler *disassembler,
		    const struct gt_elf_function *function)
{
	*sweep = (struct gt_sweep){.disassembler = disassembler,
				   .next = function->start,
				   .end = function->end,
				   .pending = {.known = GT_REGISTER_NONE},
				   .is_reachable = true};
}

void gt_sweep_clear(struct gt_sweep *sweep)
{
	gt_hash_clear(&sweep->joins);
	gt_array_clear(&sweep->states);
}

static void arrive(struct gt_sweep *sweep)
{
	uint32_t join = gt_hash_get(&sweep->joins, sweep->next);

	for (uint32_t i = 0; !sweep->is_reachable && i < GT_REGISTERS; i++)
		sweep->registers.values[i] = (struct gt_value){.kind = GT_VALUE_ANY};
	if (join != GT_HASH_NONE)
		gt_registers_merge(&sweep->registers, &sweep->states.items[join]);
}

/* Out of memory, less is known. */
static void remember_jump(struct gt_sweep *sweep, const struct gt_instruction *instruction)
{
	struct gt_registers *state;
	uint32_t join;

	if (instruction->target <= instruction->address || instruction->target >= sweep->end)
		return;
	join = gt_hash_get(&sweep->joins, instruction->target);
	if (join != GT_HASH_NONE) {
		gt_registers_merge(&sweep->states.items[join], &sweep->registers);
		return;
	}
	if (sweep->states.count >= MAX_STATES)
		return;
	state = gt_array_push(&sweep->states);
	if (!state)
		return;
	*state = sweep->registers;
	(void)gt_hash_set(&sweep->joins, instruction->target, sweep->states.count - 1);
}

bool gt_sweep_next(struct gt_sweep *sweep, struct gt_instruction *ret)
{
	if (sweep->next >= sweep->end)
		return false;
	gt_registers_apply(&sweep->registers, &sweep->pending);
	arrive(sweep);
	if (!gt_disassemble_effects(sweep->disassembler, sweep->next, &sweep->registers, ret,
				    &sweep->pending))
		return false;
	sweep->next += ret->size;
	sweep->is_reachable = ret->kind != GT_INSTRUCTION_JUMP &&
			      ret->kind != GT_INSTRUCTION_RETURN &&
			      ret->kind != GT_INSTRUCTION_TRAP;
	if (ret->kind == GT_INSTRUCTION_JUMP || ret->kind == GT_INSTRUCTION_BRANCH)
		remember_jump(sweep, ret);
	return true;
}
