/* SPDX-License-Identifier: MIT */
/* Parts of a file. */
#pragma once

#include <stdint.h>

#include "base/array.h"

struct gt_elf_range {
	uint64_t start, end; /* file offsets; the end excluded */
};

typedef GT_ARRAY(struct gt_elf_range) gt_elf_ranges;
