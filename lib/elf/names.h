/* SPDX-License-Identifier: MIT */
/* What the code of a file is called, for people: one name for each place. */
#pragma once

#include "elf/elf_file.h"

/*
 * The names of ELF's code: of .symtab and .dynsym, or of SYMBOLS_OF, its debug file, when that is
 * not NULL; what is stripped still names what it exports. Unlike gt_elf_symbols_read(), with
 * functions that are chosen at run time (IFUNC) and labels of assembler; and of several names for
 * one place the best known: rather one that others see than a local one, rather one with fewer
 * underscores before it, rather a global one than a weak one. Sorted by start, without overlaps.
 * The caller clears the array; the names are owned by ELF and SYMBOLS_OF. -ENOMEM; tables that are
 * broken are left out.
 */
int gt_elf_names_read(const struct gt_elf *elf, const struct gt_elf *symbols_of,
		      gt_elf_functions *ret);
