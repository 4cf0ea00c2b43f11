/* SPDX-License-Identifier: MIT */
#include "python/gil_argument.h"

struct gt_argument gt_gil_argument(const struct gt_gil_code *code, const struct gt_gil_call *call)
{
	const struct gt_elf_function *function = &code->functions.items[call->function];
	struct gt_argument argument = {.kind = GT_ARGUMENT_UNKNOWN};
	struct gt_instruction instruction;

	for (uint64_t address = function->start; address < call->address;
	     address += instruction.size) {
		struct gt_argument change;

		if (!gt_disassemble_argument(code->disassembler, address, &instruction, &change))
			break;
		if (change.kind != GT_ARGUMENT_KEPT)
			argument = change;
		/* What follows these may be reached from elsewhere, with another value. */
		if (instruction.kind == GT_INSTRUCTION_JUMP ||
		    instruction.kind == GT_INSTRUCTION_RETURN ||
		    instruction.kind == GT_INSTRUCTION_TRAP)
			argument.kind = GT_ARGUMENT_UNKNOWN;
	}
	return argument;
}

bool gt_gil_arguments_equal(const struct gt_argument *left, const struct gt_argument *right)
{
	if (left->kind == GT_ARGUMENT_CONSTANT && right->kind == GT_ARGUMENT_CONSTANT)
		return left->value == right->value;
	/*
	 * The register keeps the address of the GIL, or of what it is in, throughout the function.
	 * A copied register would not do: it may have held another address at the other call.
	 */
	return left->kind == GT_ARGUMENT_RELATIVE && right->kind == GT_ARGUMENT_RELATIVE &&
	       left->base == right->base && left->value == right->value;
}
