/* SPDX-License-Identifier: MIT */
/*
 * How the code of a file reaches functions of other libraries: through stubs in the sections .plt,
 * .plt.sec (-fcf-protection) and .plt.got, and through words of the GOT (-fno-plt). A relocation
 * says which word of the GOT is which function's; a stub is known by the word that it jumps
 * through.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/strings.h"
#include "elf/disassembly.h"
#include "elf/elf_internal.h"

struct import_search {
	const struct gt_elf *elf;
	const char *const *names;
	uint32_t name_count;
	struct gt_hash slots; /* address of a word of the GOT → index of a name */
	struct gt_hash known; /* addresses of all imports */
	gt_elf_imports imports;
};

static void import_search_clear(struct import_search *search)
{
	gt_hash_clear(&search->slots);
	gt_hash_clear(&search->known);
	gt_array_clear(&search->imports);
}

static int add_import(struct import_search *search, enum gt_elf_import_kind kind, uint64_t address,
		      uint32_t name)
{
	struct gt_elf_import *import;

	if (gt_hash_get(&search->known, address) != GT_HASH_NONE)
		return 0;
	import = gt_array_push(&search->imports);
	if (!import || gt_hash_set(&search->known, address, name) < 0)
		return gt_error_oom();
	*import = (struct gt_elf_import){.address = address, .kind = kind, .name = name};
	return 0;
}

static uint32_t find_name(const struct import_search *search, const char *name)
{
	for (uint32_t i = 0; i < search->name_count; i++)
		if (strcmp(search->names[i], name) == 0)
			return i;
	return GT_HASH_NONE;
}

/* Relocations that put a function's address into a word: at its first call, or at the start. */
static bool fills_slot(uint16_t machine, uint64_t type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	case EM_AARCH64:
		return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
	default:
		return false;
	}
}

static int read_slots(struct import_search *search, const struct gt_elf_section *section)
{
	const struct gt_elf *elf = search->elf;
	const struct gt_elf_section *symbols = NULL;
	Elf_Data *relocations, *symbol_data;
	uint32_t count, symbol_count;
	int r;

	gt_array_for_each (&elf->sections, other)
		if (elf_ndxscn(other->handle) == section->header.sh_link)
			symbols = other;
	if (!symbols || symbols->header.sh_type != SHT_DYNSYM)
		return 0;
	r = gt_elf_table_open(elf, section, &relocations, &count);
	if (r < 0)
		return r;
	r = gt_elf_table_open(elf, symbols, &symbol_data, &symbol_count);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++) {
		GElf_Rela relocation;
		GElf_Sym symbol;
		uint32_t name;

		if (!gelf_getrela(relocations, (int)i, &relocation))
			break;
		if (!fills_slot(elf->machine, GELF_R_TYPE(relocation.r_info)) ||
		    GELF_R_SYM(relocation.r_info) >= symbol_count ||
		    !gelf_getsym(symbol_data, (int)GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		name = find_name(search, gt_elf_symbol_name(elf, symbols, &symbol));
		if (name == GT_HASH_NONE)
			continue;
		r = gt_hash_set(&search->slots, relocation.r_offset, name);
		if (r < 0)
			return gt_error_oom();
		r = add_import(search, GT_ELF_IMPORT_SLOT, relocation.r_offset, name);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * x86-64: "[endbr64] [bnd] jmp *slot(%rip)"; aarch64: "[bti c] adrp x16; ldr x17; add x16; br x17".
 * Calls go to the first instruction, which is the first one behind the stub before that does
 * something.
 */
static int read_stubs(struct import_search *search, struct gt_disassembler *disassembler,
		      const struct gt_elf_section *section)
{
	uint64_t start = section->header.sh_addr, end = start + section->header.sh_size;
	struct gt_registers registers = {0};
	struct gt_instruction instruction;
	struct gt_effects effects;
	int r;

	for (uint64_t address = start;
	     address < end &&
	     gt_disassemble_effects(disassembler, address, &registers, &instruction, &effects);
	     address += instruction.size) {
		uint64_t slot = instruction.slot;
		uint32_t name = GT_HASH_NONE;

		if (start == address && instruction.is_padding)
			start += instruction.size;
		gt_registers_apply(&registers, &effects);
		if (instruction.kind != GT_INSTRUCTION_JUMP)
			continue;
		if (instruction.through != GT_REGISTER_NONE &&
		    registers.values[instruction.through].kind == GT_VALUE_LOADED)
			slot = registers.values[instruction.through].value;
		if (slot)
			name = gt_hash_get(&search->slots, slot);
		if (name != GT_HASH_NONE) {
			r = add_import(search, GT_ELF_IMPORT_STUB, start, name);
			if (r < 0)
				return r;
		}
		start = address + instruction.size;
		registers = (struct gt_registers){0};
	}
	return 0;
}

/* A program that has its C library linked in calls the functions where they are. */
static int read_bodies(struct import_search *search, const struct gt_elf_section *section)
{
	Elf_Data *data;
	uint32_t count;
	int r;

	r = gt_elf_table_open(search->elf, section, &data, &count);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		uint32_t name;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = find_name(search, gt_elf_symbol_name(search->elf, section, &symbol));
		if (name == GT_HASH_NONE)
			continue;
		r = add_import(search, GT_ELF_IMPORT_BODY, symbol.st_value, name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_all(struct import_search *search, struct gt_disassembler *disassembler)
{
	int r;

	gt_array_for_each (&search->elf->sections, section) {
		r = 0;
		if (section->header.sh_type == SHT_RELA)
			r = read_slots(search, section);
		else if (section->header.sh_type == SHT_SYMTAB ||
			 section->header.sh_type == SHT_DYNSYM)
			r = read_bodies(search, section);
		if (r < 0)
			return r;
	}
	/* Only now: the stubs are known by the slots. */
	gt_array_for_each (&search->elf->sections, section) {
		if (!gt_string_starts_with(section->name, ".plt") ||
		    !(section->header.sh_flags & SHF_EXECINSTR) ||
		    !gt_elf_bytes(search->elf, section->header.sh_addr, section->header.sh_size))
			continue;
		r = read_stubs(search, disassembler, section);
		if (r < 0)
			return r;
	}
	return 0;
}

int gt_elf_imports_read(const struct gt_elf *elf, const char *const names[], uint32_t name_count,
			gt_elf_imports *ret)
{
	_cleanup_(gt_disassembler_freep) struct gt_disassembler *disassembler = NULL;
	_cleanup_(import_search_clear) struct import_search search = {
		.elf = elf, .names = names, .name_count = name_count};
	int r;

	r = gt_disassembler_new(elf, &disassembler);
	if (r < 0)
		return r;
	r = read_all(&search, disassembler);
	if (r < 0)
		return r;
	*ret = search.imports;
	search.imports = (gt_elf_imports){0};
	return 0;
}
