/* SPDX-License-Identifier: MIT */
/*
 * The files that are mapped as code: how to unwind what is in them, and what it is called. A file
 * is opened when that is asked for the first time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/macros.h"
#include "elf/cfi.h"
#include "elf/elf_file.h"
#include "unwind/unwinder.h"

struct gt_code_file {
	char *path;				/* as it was mapped */
	char build_id[GT_BUILD_ID_MAX * 2 + 1]; /* of the mapping; "" when not known */
	uint32_t next;				/* with the same hash */
	bool is_opened;
	bool has_gil;
	/* What there is of it, once it is opened; NULL and empty where there is nothing. */
	struct gt_elf *elf, *debug_file;
	struct gt_cfi *cfi;
	gt_elf_functions names;
	gt_elf_functions ranges; /* of functions without a name; read when there is one */
	bool has_ranges;
};

struct gt_code_files {
	const struct gt_unwinder_spec *spec;
	GT_ARRAY(struct gt_code_file) files;
	struct gt_hash by_content; /* of path and build id → the last one in files */
};

void gt_code_files_clear(struct gt_code_files *files);

/* The number of the file of a mapping. 0 or -ENOMEM. */
int gt_code_files_add(struct gt_code_files *files, const struct gt_mapping *mapping,
		      uint32_t *ret_file);

/* The rule for the code at OFFSET of the file. False when there is none. */
bool gt_code_file_rule(struct gt_code_files *files, uint32_t file, uint64_t offset,
		       struct gt_cfi_rule *ret);

/* The frame of a thread that is at OFFSET of the file. 0 or -ENOMEM. */
int gt_code_file_frame(struct gt_code_files *files, uint32_t file, uint64_t offset,
		       struct gt_stacks *stacks, uint32_t *ret_frame);
