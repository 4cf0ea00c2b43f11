/* SPDX-License-Identifier: MIT */
/* Where a file is that was mapped as code, perhaps elsewhere or long ago. */
#pragma once

#include "elf/elf_file.h"
#include "unwind/unwinder.h"

/* What the kernel puts behind the path of a file that is gone. */
#define GT_DELETED_MARK " (deleted)"

/*
 * Opens what was mapped as PATH: under the program's root, here, of the kept files, in the caches
 * of debuginfod and perf, in that order; [vdso] is the one of this kernel. Where BUILD_ID is not
 * "", only a file that has it is taken. -ENOENT when there is none; -ENOMEM. Logged with -v only.
 */
int gt_find_code_file(const struct gt_unwinder_spec *spec, const char *path, const char *build_id,
		      struct gt_elf **ret);
