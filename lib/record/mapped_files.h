/* SPDX-License-Identifier: MIT */
/*
 * The files whose code the threads of a pass run. Some are unpacked to a temporary folder and
 * deleted when the program ends, others are in a root of their own, and a stack that leads through
 * them could not be unwound afterwards. So each is held open from when it is mapped, and those that
 * cannot be found again at the end are copied.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"

struct gt_ring_record;

struct gt_mapped_file;

struct gt_mapped_files {
	GT_ARRAY(struct gt_mapped_file) files; /* those that are open */
	struct gt_hash seen;		       /* by path and build id */
};

/* Opens the file of a PERF_RECORD_MMAP2, the first time that it is seen. */
void gt_mapped_files_note(struct gt_mapped_files *mapped, const struct gt_ring_record *record);

/*
 * Copies those that their paths do not lead to any more to FOLDER, each by its build id in
 * hexadecimal. The folder is made when there is one. What fails is logged with -v.
 */
void gt_mapped_files_keep(struct gt_mapped_files *mapped, const char *folder);

void gt_mapped_files_clear(struct gt_mapped_files *mapped);
