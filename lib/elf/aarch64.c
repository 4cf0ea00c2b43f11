/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "elf/disassembly_internal.h"

/* x0 … x30. What the stack pointer is does not matter here. */
static uint32_t register_number(unsigned int name)
{
	if (name >= ARM64_REG_X0 && name <= ARM64_REG_X28)
		return name - ARM64_REG_X0;
	if (name >= ARM64_REG_W0 && name <= ARM64_REG_W30)
		return name - ARM64_REG_W0;
	if (name == ARM64_REG_X29)
		return 29;
	if (name == ARM64_REG_X30)
		return 30;
	return GT_REGISTER_NONE;
}

/* Capstone 4 knows nothing of signed addresses: retaa, retab, braa …, blraa …. */
static enum gt_instruction_kind kind_of_unknown(const cs_insn *decoded)
{
	uint32_t word;

	memcpy(&word, decoded->bytes, sizeof(word));
	if ((word & 0xfffffbff) == 0xd65f0bff)
		return GT_INSTRUCTION_RETURN;
	if ((word & 0xfefff800) == 0xd61f0800)
		return GT_INSTRUCTION_JUMP;
	if ((word & 0xfefff800) == 0xd63f0800)
		return GT_INSTRUCTION_CALL;
	/* udf */
	return word <= UINT16_MAX ? GT_INSTRUCTION_TRAP : GT_INSTRUCTION_PLAIN;
}

static enum gt_instruction_kind kind_of(const cs_insn *decoded)
{
	switch (decoded->id) {
	case 0:
		return decoded->size == 4 ? kind_of_unknown(decoded) : GT_INSTRUCTION_PLAIN;
	case ARM64_INS_BL:
	case ARM64_INS_BLR:
		return GT_INSTRUCTION_CALL;
	case ARM64_INS_RET:
		return GT_INSTRUCTION_RETURN;
	case ARM64_INS_BR:
		return GT_INSTRUCTION_JUMP;
	case ARM64_INS_B:
		return decoded->detail->arm64.cc == ARM64_CC_INVALID ||
				       decoded->detail->arm64.cc == ARM64_CC_AL ||
				       decoded->detail->arm64.cc == ARM64_CC_NV
			       ? GT_INSTRUCTION_JUMP
			       : GT_INSTRUCTION_BRANCH;
	case ARM64_INS_CBZ:
	case ARM64_INS_CBNZ:
	case ARM64_INS_TBZ:
	case ARM64_INS_TBNZ:
		return GT_INSTRUCTION_BRANCH;
	case ARM64_INS_BRK:
	case ARM64_INS_HLT:
		return GT_INSTRUCTION_TRAP;
	default:
		return GT_INSTRUCTION_PLAIN;
	}
}

static void classify(const struct gt_disassembler *disassembler, struct gt_instruction *instruction)
{
	const cs_insn *decoded = disassembler->decoded;
	const cs_arm64 *arm64;

	instruction->kind = kind_of(decoded);
	instruction->is_padding = decoded->id == ARM64_INS_NOP;
	if (instruction->kind == GT_INSTRUCTION_PLAIN || decoded->id == 0)
		return;
	arm64 = &decoded->detail->arm64;
	/* cbz and tbz name what they look at first. */
	for (uint8_t i = 0; i < arm64->op_count; i++)
		if (arm64->operands[i].type == ARM64_OP_IMM)
			instruction->target = (uint64_t)arm64->operands[i].imm;
	if (arm64->op_count == 1 && arm64->operands[0].type == ARM64_OP_REG)
		instruction->through = register_number(arm64->operands[0].reg);
	if (instruction->kind == GT_INSTRUCTION_TRAP)
		instruction->target = 0;
}

static struct gt_value value_of(const cs_arm64 *arm64, unsigned int id,
				const struct gt_registers *registers)
{
	const cs_arm64_op *first = &arm64->operands[1], *second = &arm64->operands[2];
	struct gt_value value = {0};

	switch (id) {
	case ARM64_INS_ADRP:
	case ARM64_INS_ADR:
	case ARM64_INS_MOVZ:
	case ARM64_INS_MOV:
		if (arm64->op_count == 2 && first->type == ARM64_OP_IMM &&
		    first->shift.type == ARM64_SFT_INVALID)
			value = (struct gt_value){.kind = GT_VALUE_CONSTANT,
						  .value = (uint64_t)first->imm};
		else if (arm64->op_count == 2 && first->type == ARM64_OP_REG &&
			 register_number(first->reg) != GT_REGISTER_NONE)
			value = registers->values[register_number(first->reg)];
		break;
	case ARM64_INS_ADD:
		if (arm64->op_count == 3 && first->type == ARM64_OP_REG &&
		    second->type == ARM64_OP_IMM)
			value = gt_value_moved(registers, register_number(first->reg),
					       (uint64_t)second->imm
						       << (second->shift.type == ARM64_SFT_LSL
								   ? second->shift.value & 63
								   : 0));
		break;
	case ARM64_INS_LDR:
		if (arm64->op_count != 2 || arm64->writeback || first->type != ARM64_OP_MEM ||
		    first->mem.index != ARM64_REG_INVALID)
			break;
		value = gt_value_moved(registers, register_number(first->mem.base),
				       (uint64_t)(int64_t)first->mem.disp);
		value.kind = value.kind == GT_VALUE_CONSTANT ? GT_VALUE_LOADED : GT_VALUE_UNKNOWN;
		break;
	default:
		break;
	}
	return value;
}

static void evaluate(const struct gt_disassembler *disassembler,
		     const struct gt_registers *registers, struct gt_effects *effects)
{
	const cs_insn *decoded = disassembler->decoded;
	const cs_arm64 *arm64 = &decoded->detail->arm64;

	if (arm64->op_count < 2 || arm64->operands[0].type != ARM64_OP_REG)
		return;
	/* Whole registers only: addresses fill them. */
	if (arm64->operands[0].reg >= ARM64_REG_W0 && arm64->operands[0].reg <= ARM64_REG_W30)
		return;
	effects->known = register_number(arm64->operands[0].reg);
	/* Of what it does not write (str, cmp) nothing new is known. */
	if (effects->known == GT_REGISTER_NONE ||
	    !(effects->written & UINT32_C(1) << effects->known)) {
		effects->known = GT_REGISTER_NONE;
		return;
	}
	effects->value = value_of(arm64, decoded->id, registers);
}

const struct gt_machine gt_machine_aarch64 = {
	.machine = EM_AARCH64,
	.architecture = CS_ARCH_ARM64,
	.mode = CS_MODE_LITTLE_ENDIAN,
	.set_by_calls = 0x4007ffff, /* x0 – x18, x30 */
	.register_number = register_number,
	.classify = classify,
	.evaluate = evaluate,
};
