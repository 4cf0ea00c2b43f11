/* SPDX-License-Identifier: MIT */
#include "elf/disassembly_internal.h"

/* As instructions number them: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15. */
static uint32_t register_number(unsigned int name)
{
	switch (name) {
	case X86_REG_RAX:
	case X86_REG_EAX:
	case X86_REG_AX:
	case X86_REG_AL:
	case X86_REG_AH:
		return 0;
	case X86_REG_RCX:
	case X86_REG_ECX:
	case X86_REG_CX:
	case X86_REG_CL:
	case X86_REG_CH:
		return 1;
	case X86_REG_RDX:
	case X86_REG_EDX:
	case X86_REG_DX:
	case X86_REG_DL:
	case X86_REG_DH:
		return 2;
	case X86_REG_RBX:
	case X86_REG_EBX:
	case X86_REG_BX:
	case X86_REG_BL:
	case X86_REG_BH:
		return 3;
	case X86_REG_RSP:
	case X86_REG_ESP:
	case X86_REG_SP:
	case X86_REG_SPL:
		return 4;
	case X86_REG_RBP:
	case X86_REG_EBP:
	case X86_REG_BP:
	case X86_REG_BPL:
		return 5;
	case X86_REG_RSI:
	case X86_REG_ESI:
	case X86_REG_SI:
	case X86_REG_SIL:
		return 6;
	case X86_REG_RDI:
	case X86_REG_EDI:
	case X86_REG_DI:
	case X86_REG_DIL:
		return 7;
	default:
		break;
	}
	/* Capstone lists each width of these in a row. */
	if (name >= X86_REG_R8 && name <= X86_REG_R15)
		return 8 + name - X86_REG_R8;
	if (name >= X86_REG_R8D && name <= X86_REG_R15D)
		return 8 + name - X86_REG_R8D;
	if (name >= X86_REG_R8W && name <= X86_REG_R15W)
		return 8 + name - X86_REG_R8W;
	if (name >= X86_REG_R8B && name <= X86_REG_R15B)
		return 8 + name - X86_REG_R8B;
	return GT_REGISTER_NONE;
}

static enum gt_instruction_kind kind_of(csh handle, const cs_insn *decoded)
{
	/* A byte that was skipped has no details to ask for. */
	if (decoded->id == 0)
		return GT_INSTRUCTION_PLAIN;
	if (decoded->id == X86_INS_UD2 || decoded->id == X86_INS_HLT)
		return GT_INSTRUCTION_TRAP;
	if (cs_insn_group(handle, decoded, CS_GRP_CALL))
		return GT_INSTRUCTION_CALL;
	if (cs_insn_group(handle, decoded, CS_GRP_RET))
		return GT_INSTRUCTION_RETURN;
	if (decoded->id == X86_INS_JMP)
		return GT_INSTRUCTION_JUMP;
	if (cs_insn_group(handle, decoded, CS_GRP_JUMP))
		return GT_INSTRUCTION_BRANCH;
	return GT_INSTRUCTION_PLAIN;
}

/* The address of an operand in memory, when it is a fixed one. */
static bool fixed_address(const cs_insn *decoded, const cs_x86_op *operand, uint64_t *ret)
{
	if (operand->type != X86_OP_MEM || operand->mem.index != X86_REG_INVALID ||
	    operand->mem.segment != X86_REG_INVALID)
		return false;
	if (operand->mem.base == X86_REG_RIP)
		*ret = decoded->address + decoded->size + (uint64_t)operand->mem.disp;
	else if (operand->mem.base == X86_REG_INVALID)
		*ret = (uint64_t)operand->mem.disp;
	else
		return false;
	return true;
}

static void classify(const struct gt_disassembler *disassembler, struct gt_instruction *instruction)
{
	const cs_insn *decoded = disassembler->decoded;
	const cs_x86_op *operand;

	instruction->kind = kind_of(disassembler->handle, decoded);
	instruction->is_padding = decoded->id == X86_INS_NOP;
	if (instruction->kind == GT_INSTRUCTION_PLAIN || decoded->detail->x86.op_count != 1)
		return;
	operand = &decoded->detail->x86.operands[0];
	if (operand->type == X86_OP_IMM)
		instruction->target = (uint64_t)operand->imm;
	else if (operand->type == X86_OP_REG)
		instruction->through = register_number(operand->reg);
	else if (!fixed_address(decoded, operand, &instruction->slot))
		instruction->slot = 0;
}

static struct gt_value value_of(const cs_insn *decoded, const cs_x86_op *source,
				const struct gt_registers *registers)
{
	struct gt_value value = {0};

	if (decoded->id == X86_INS_LEA) {
		if (fixed_address(decoded, source, &value.value))
			value.kind = GT_VALUE_CONSTANT;
		else if (source->mem.index == X86_REG_INVALID)
			value = gt_value_moved(registers, register_number(source->mem.base),
					       (uint64_t)source->mem.disp);
	} else if (decoded->id == X86_INS_MOV || decoded->id == X86_INS_MOVABS) {
		if (source->type == X86_OP_IMM)
			value = (struct gt_value){.kind = GT_VALUE_CONSTANT,
						  .value = (uint64_t)source->imm};
		else if (source->type == X86_OP_REG &&
			 register_number(source->reg) != GT_REGISTER_NONE)
			value = registers->values[register_number(source->reg)];
		else if (source->size == 8 && fixed_address(decoded, source, &value.value))
			value.kind = GT_VALUE_LOADED;
	}
	return value;
}

static void evaluate(const struct gt_disassembler *disassembler,
		     const struct gt_registers *registers, struct gt_effects *effects)
{
	const cs_insn *decoded = disassembler->decoded;
	const cs_x86_op *operands = decoded->detail->x86.operands;

	if (decoded->detail->x86.op_count != 2 || operands[0].type != X86_OP_REG ||
	    operands[0].size < 4)
		return;
	effects->known = register_number(operands[0].reg);
	effects->value = value_of(decoded, &operands[1], registers);
	if (operands[0].size == 8)
		return;
	/* Half a register, and the other half cleared. */
	if (effects->value.kind == GT_VALUE_CONSTANT)
		effects->value.value &= UINT32_MAX;
	else
		effects->value.kind = GT_VALUE_UNKNOWN;
}

const struct gt_machine gt_machine_x86_64 = {
	.machine = EM_X86_64,
	.architecture = CS_ARCH_X86,
	.mode = CS_MODE_64,
	.set_by_calls = 0x0fc7, /* all but rbx, rsp, rbp, r12 – r15 */
	.register_number = register_number,
	.classify = classify,
	.evaluate = evaluate,
};
