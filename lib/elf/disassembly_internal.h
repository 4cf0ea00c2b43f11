/* SPDX-License-Identifier: MIT */
/* What the disassembler and the machines that it knows share. */
#pragma once

#include <capstone.h>
#include <elf.h>

#include "elf/disassembly.h"
#include "elf/elf_file.h"

struct gt_disassembler {
	const struct gt_elf *elf;
	const struct gt_machine *machine;
	csh handle;
	cs_insn *decoded; /* room for one instruction, used again and again */
	uint64_t instructions;
};

struct gt_machine {
	uint16_t machine; /* EM_… */
	cs_arch architecture;
	cs_mode mode;
	uint32_t set_by_calls; /* a bit for each register that a called function need not keep */
	/* Capstone's name for a register → its number, or GT_REGISTER_NONE. */
	uint32_t (*register_number)(unsigned int name);
	/* Sets kind, target, slot, through and is_padding by what was decoded. */
	void (*classify)(const struct gt_disassembler *disassembler,
			 struct gt_instruction *instruction);
	/* Sets known and value, where they can be told. */
	void (*evaluate)(const struct gt_disassembler *disassembler,
			 const struct gt_registers *registers, struct gt_effects *effects);
};

extern const struct gt_machine gt_machine_x86_64, gt_machine_aarch64;

/* The register BASE with DISTANCE added. */
struct gt_value gt_value_moved(const struct gt_registers *registers, uint32_t base,
			       uint64_t distance);
