/* SPDX-License-Identifier: MIT */
/* What a file offers to others, which libraries it needs, and who loads them. */
#include <errno.h>
#include <string.h>

#include "base/strings.h"
#include "elf/elf_internal.h"

bool gt_elf_exports(const struct gt_elf *elf, const char *name)
{
	const struct gt_elf_section *section = gt_elf_section_of_type(elf, SHT_DYNSYM);
	Elf_Data *data;
	uint32_t count;

	if (!section || gt_elf_table_open(elf, section, &data, &count) < 0)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			return false;
		if (symbol.st_shndx != SHN_UNDEF &&
		    strcmp(gt_elf_symbol_name(elf, section, &symbol), name) == 0)
			return true;
	}
	return false;
}

bool gt_elf_needs(const struct gt_elf *elf, const char *library_prefix)
{
	const struct gt_elf_section *section = gt_elf_section_of_type(elf, SHT_DYNAMIC);
	Elf_Data *data;
	uint32_t count;

	if (!section || gt_elf_table_open(elf, section, &data, &count) < 0)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const char *library;
		GElf_Dyn entry;

		if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag == DT_NULL)
			return false;
		if (entry.d_tag != DT_NEEDED)
			continue;
		library = elf_strptr(elf->handle, section->header.sh_link, entry.d_un.d_val);
		if (library && gt_string_starts_with(library, library_prefix))
			return true;
	}
	return false;
}

const char *gt_elf_loader(const struct gt_elf *elf)
{
	size_t count;

	if (elf_getphdrnum(elf->handle, &count) < 0)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const char *name;
		GElf_Phdr segment;

		if (!gelf_getphdr(elf->handle, (int)i, &segment))
			return NULL;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_offset > elf->image_size ||
		    segment.p_filesz > elf->image_size - segment.p_offset)
			return NULL;
		name = (const char *)elf->image + segment.p_offset;
		return memchr(name, '\0', segment.p_filesz) ? name : NULL;
	}
	return NULL;
}
