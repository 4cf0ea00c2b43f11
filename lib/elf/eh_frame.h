/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame: which ranges of code there are, for unwinding; stripping leaves it. Each function has
 * an entry (FDE), and so has each part of one that was moved elsewhere. The format is in the Linux
 * Standard Base (Core, 10.6) and in the DWARF standard (6.4).
 */
#pragma once

#include <stddef.h>

#include "elf/elf_file.h"

/*
 * Reads the entries in BYTES, which will be at ADDRESS when loaded. The ranges are in the order of
 * the entries, and may overlap; their names are "". An entry that makes no sense ends the table:
 * what is before it stands. Entries with an encoding that no compiler uses for code are left out.
 * The caller clears the array. -ENOMEM.
 */
int gt_eh_frame_parse(const void *bytes, size_t size, uint64_t address, gt_elf_functions *ret);
