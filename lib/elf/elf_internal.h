/* SPDX-License-Identifier: MIT */
/* What the files of this folder share of an opened ELF file. */
#pragma once

#include <gelf.h>
#include <libelf.h>

#include "elf/elf_file.h"

/* A section header and its name; what it covers has been checked to lie within the file. */
struct gt_elf_section {
	const char *name;
	Elf_Scn *handle;
	GElf_Shdr header;
};

struct gt_elf {
	char *path;
	const unsigned char *image; /* the whole file */
	size_t image_size;
	/* Of the file when it was opened. */
	dev_t device;
	ino_t inode;
	struct timespec changed;
	bool is_mapped;	     /* by us */
	bool has_debug_only; /* its segments and sections are those of another file, without content
			      */
	Elf *handle;
	uint16_t machine;
	uint64_t entry; /* where a program starts */
	char build_id[GT_BUILD_ID_MAX * 2 + 1];
	GT_ARRAY(GElf_Phdr) loads; /* PT_LOAD segments; what they load lies within the file */
	GT_ARRAY(struct gt_elf_section) sections;
};

/* The first section of this type, or NULL. */
const struct gt_elf_section *gt_elf_section_of_type(const struct gt_elf *elf, uint32_t type);

/* The section of code that holds a virtual address, or NULL. */
const struct gt_elf_section *gt_elf_code_section_at(const struct gt_elf *elf, uint64_t address);

/*
 * The data of a table of fixed-size entries, and their number. -EBADMSG, logged, when libelf cannot
 * make sense of it.
 */
int gt_elf_table_open(const struct gt_elf *elf, const struct gt_elf_section *section,
		      Elf_Data **ret_data, uint32_t *ret_count);

/* The name of a symbol of the table SECTION, "" when it has none that can be read. */
const char *gt_elf_symbol_name(const struct gt_elf *elf, const struct gt_elf_section *section,
			       const GElf_Sym *symbol);

/* Opens a file that has debugging information only. The same errors as gt_elf_open(). */
int gt_elf_open_debug(const char *path, struct gt_elf **ret);
