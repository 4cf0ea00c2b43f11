/* SPDX-License-Identifier: MIT */
#include "elf/disassembly.h"

#include <errno.h>

#include "base/log.h"
#include "elf/disassembly_internal.h"

/* An interpreter takes some 300,000. */
#define MAX_INSTRUCTIONS 8000000

static const struct gt_machine *const machines[] = {&gt_machine_x86_64, &gt_machine_aarch64};

int gt_disassembler_new(const struct gt_elf *elf, struct gt_disassembler **ret)
{
	_cleanup_(gt_disassembler_freep) struct gt_disassembler *disassembler = NULL;
	const struct gt_machine *machine = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i]->machine == gt_elf_machine(elf))
			machine = machines[i];
	if (!machine) {
		gt_error("%s is made for a machine whose code giltrace does not read: x86-64 and "
			 "aarch64 only",
			 gt_elf_path(elf));
		return -EOPNOTSUPP;
	}
	disassembler = calloc(1, sizeof(*disassembler));
	if (!disassembler)
		return gt_error_oom();
	disassembler->elf = elf;
	disassembler->machine = machine;
	if (cs_open(machine->architecture, machine->mode, &disassembler->handle) != CS_ERR_OK)
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

bool gt_disassembler_is_exhausted(const struct gt_disassembler *disassembler)
{
	return disassembler->instructions >= MAX_INSTRUCTIONS;
}

bool gt_disassemble(struct gt_disassembler *disassembler, uint64_t address,
		    struct gt_instruction *ret)
{
	uint64_t left, at = address;
	const uint8_t *bytes = gt_elf_bytes_left(disassembler->elf, address, &left);
	struct gt_instruction instruction = {.address = address, .through = GT_REGISTER_NONE};
	size_t size;

	if (!bytes || gt_disassembler_is_exhausted(disassembler))
		return false;
	disassembler->instructions++;
	size = (size_t)left;
	if (!cs_disasm_iter(disassembler->handle, &bytes, &size, &at, disassembler->decoded))
		return false;
	instruction.size = disassembler->decoded->size;
	disassembler->machine->classify(disassembler, &instruction);
	*ret = instruction;
	return true;
}

static uint32_t written_registers(const struct gt_disassembler *disassembler)
{
	cs_regs read, written;
	uint8_t read_count, written_count;
	uint32_t mask = 0;

	/* A byte that was skipped has no details to ask for. */
	if (disassembler->decoded->id == 0 ||
	    cs_regs_access(disassembler->handle, disassembler->decoded, read, &read_count, written,
			   &written_count) != CS_ERR_OK)
		return 0;
	for (uint8_t i = 0; i < written_count; i++) {
		uint32_t number = disassembler->machine->register_number(written[i]);

		if (number != GT_REGISTER_NONE)
			mask |= UINT32_C(1) << number;
	}
	return mask;
}

bool gt_disassemble_effects(struct gt_disassembler *disassembler, uint64_t address,
			    const struct gt_registers *registers, struct gt_instruction *ret,
			    struct gt_effects *ret_effects)
{
	struct gt_effects effects = {.known = GT_REGISTER_NONE};

	if (!gt_disassemble(disassembler, address, ret))
		return false;
	effects.written = written_registers(disassembler);
	if (ret->kind == GT_INSTRUCTION_CALL)
		effects.written |= disassembler->machine->set_by_calls;
	else if (effects.written)
		disassembler->machine->evaluate(disassembler, registers, &effects);
	/* A register that is moved on from its own value has lost what it was relative to. */
	if (effects.value.kind == GT_VALUE_RELATIVE &&
	    (effects.written & UINT32_C(1) << effects.value.base))
		effects.value.kind = GT_VALUE_UNKNOWN;
	/* A copy is not on all ways what its source will turn out to be. */
	if (effects.value.kind == GT_VALUE_ANY)
		effects.value.kind = GT_VALUE_UNKNOWN;
	*ret_effects = effects;
	return true;
}

void gt_registers_apply(struct gt_registers *registers, const struct gt_effects *effects)
{
	if (!effects->written)
		return;
	for (uint32_t i = 0; i < GT_REGISTERS; i++) {
		struct gt_value *value = &registers->values[i];

		if ((effects->written & UINT32_C(1) << i) ||
		    (value->kind == GT_VALUE_RELATIVE &&
		     (effects->written & UINT32_C(1) << value->base)))
			*value = (struct gt_value){0};
	}
	if (effects->known != GT_REGISTER_NONE)
		registers->values[effects->known] = effects->value;
}

static struct gt_value merged_value(const struct gt_registers *one,
				    const struct gt_registers *other, uint32_t number)
{
	const struct gt_value *value = &one->values[number];

	/* The register that it is relative to must not have been set on the other way. */
	if (other->values[number].kind == GT_VALUE_ANY &&
	    (value->kind != GT_VALUE_RELATIVE || other->values[value->base].kind == GT_VALUE_ANY))
		return *value;
	if (gt_values_equal(value, &other->values[number]))
		return *value;
	return (struct gt_value){0};
}

void gt_registers_merge(struct gt_registers *registers, const struct gt_registers *others)
{
	struct gt_registers merged;

	for (uint32_t i = 0; i < GT_REGISTERS; i++)
		merged.values[i] = registers->values[i].kind == GT_VALUE_ANY
					   ? merged_value(others, registers, i)
					   : merged_value(registers, others, i);
	*registers = merged;
}

/*
 * Of relative ones it is assumed that the register keeps the address of the GIL, or of what it is
 * in, throughout the function.
 */
bool gt_values_equal(const struct gt_value *left, const struct gt_value *right)
{
	return left->kind != GT_VALUE_UNKNOWN && left->kind != GT_VALUE_ANY &&
	       left->kind == right->kind && left->value == right->value &&
	       left->base == right->base;
}

uint32_t gt_first_argument_register(uint16_t machine)
{
	return machine == EM_X86_64 ? 7 : 0;
}

struct gt_value gt_value_moved(const struct gt_registers *registers, uint32_t base,
			       uint64_t distance)
{
	struct gt_value value = {0};

	if (base >= GT_REGISTERS)
		return value;
	value = registers->values[base];
	if (value.kind == GT_VALUE_CONSTANT || value.kind == GT_VALUE_RELATIVE)
		value.value += distance;
	else
		value = (struct gt_value){
			.kind = GT_VALUE_RELATIVE, .base = base, .value = distance};
	return value;
}
