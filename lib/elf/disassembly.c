/* SPDX-License-Identifier: MIT */
#include "elf/disassembly.h"

#include <capstone.h>
#include <elf.h>
#include <errno.h>

#include "base/log.h"
#include "elf/elf_file.h"

struct gt_disassembler {
	const struct gt_elf *elf;
	csh handle;
	cs_insn *decoded; /* room for one instruction, used again and again */
};

int gt_disassembler_new(const struct gt_elf *elf, struct gt_disassembler **ret)
{
	_cleanup_(gt_disassembler_freep) struct gt_disassembler *disassembler = NULL;

	if (gt_elf_machine(elf) != EM_X86_64) {
		gt_error("%s is made for a machine whose code giltrace does not read: x86-64 only",
			 gt_elf_path(elf));
		return -EOPNOTSUPP;
	}
	disassembler = calloc(1, sizeof(*disassembler));
	if (!disassembler)
		return gt_error_oom();
	disassembler->elf = elf;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler->handle) != CS_ERR_OK)
		return gt_error_oom();
	/* Capstone 4 stops at instructions that it does not know (rdsspq), unless told to go on. */
	if (cs_option(disassembler->handle, CS_OPT_SKIPDATA, CS_OPT_ON) != CS_ERR_OK ||
	    cs_option(disassembler->handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
		return gt_error_oom();
	disassembler->decoded = cs_malloc(disassembler->handle);
	if (!disassembler->decoded)
		return gt_error_oom();
	*ret = GT_STEAL(disassembler);
	return 0;
}

void gt_disassembler_free(struct gt_disassembler *disassembler)
{
	if (!disassembler)
		return;
	if (disassembler->decoded)
		cs_free(disassembler->decoded, 1);
	if (disassembler->handle)
		cs_close(&disassembler->handle);
	free(disassembler);
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

static void set_target(const cs_insn *decoded, struct gt_instruction *instruction)
{
	const cs_x86 *x86 = &decoded->detail->x86;

	if (x86->op_count != 1)
		return;
	if (x86->operands[0].type == X86_OP_IMM)
		instruction->target = (uint64_t)x86->operands[0].imm;
	else if (x86->operands[0].type == X86_OP_MEM && x86->operands[0].mem.base == X86_REG_RIP &&
		 x86->operands[0].mem.index == X86_REG_INVALID)
		instruction->slot = instruction->address + instruction->size +
				    (uint64_t)x86->operands[0].mem.disp;
}

bool gt_disassemble(struct gt_disassembler *disassembler, uint64_t address,
		    struct gt_instruction *ret)
{
	uint64_t left, at = address;
	const uint8_t *bytes = gt_elf_bytes_left(disassembler->elf, address, &left);
	struct gt_instruction instruction = {.address = address};
	size_t size;

	if (!bytes)
		return false;
	size = (size_t)left;
	if (!cs_disasm_iter(disassembler->handle, &bytes, &size, &at, disassembler->decoded))
		return false;
	instruction.size = disassembler->decoded->size;
	instruction.kind = kind_of(disassembler->handle, disassembler->decoded);
	if (instruction.kind != GT_INSTRUCTION_PLAIN)
		set_target(disassembler->decoded, &instruction);
	*ret = instruction;
	return true;
}

static bool is_first_argument(x86_reg reg)
{
	return reg == X86_REG_RDI || reg == X86_REG_EDI || reg == X86_REG_DI || reg == X86_REG_DIL;
}

static bool writes_first_argument(csh handle, const cs_insn *decoded)
{
	cs_regs read, written;
	uint8_t read_count, written_count;

	if (cs_regs_access(handle, decoded, read, &read_count, written, &written_count) !=
	    CS_ERR_OK)
		return false;
	for (uint8_t i = 0; i < written_count; i++)
		if (is_first_argument(written[i]))
			return true;
	return false;
}

/* lea of an address, and a move of a constant (in programs that are not position-independent). */
static struct gt_argument argument_of(csh handle, const cs_insn *decoded,
				      const struct gt_instruction *instruction)
{
	struct gt_argument argument = {.kind = GT_ARGUMENT_UNKNOWN};
	const cs_x86_op *source;

	if (decoded->id == 0 || !writes_first_argument(handle, decoded)) {
		if (instruction->kind != GT_INSTRUCTION_CALL)
			argument.kind = GT_ARGUMENT_KEPT;
		return argument;
	}
	if (decoded->detail->x86.op_count != 2)
		return argument;
	source = &decoded->detail->x86.operands[1];
	if (decoded->id == X86_INS_LEA && source->type == X86_OP_MEM &&
	    source->mem.index == X86_REG_INVALID) {
		argument.kind = GT_ARGUMENT_RELATIVE;
		argument.base = source->mem.base;
		argument.value = source->mem.disp;
		if (source->mem.base == X86_REG_RIP) {
			argument.kind = GT_ARGUMENT_CONSTANT;
			argument.value += (int64_t)(instruction->address + instruction->size);
		}
	} else if ((decoded->id == X86_INS_MOV || decoded->id == X86_INS_MOVABS) &&
		   source->type == X86_OP_IMM) {
		argument.kind = GT_ARGUMENT_CONSTANT;
		argument.value = source->imm;
	}
	return argument;
}

bool gt_disassemble_argument(struct gt_disassembler *disassembler, uint64_t address,
			     struct gt_instruction *ret, struct gt_argument *ret_argument)
{
	if (!gt_disassemble(disassembler, address, ret))
		return false;
	*ret_argument = argument_of(disassembler->handle, disassembler->decoded, ret);
	return true;
}
