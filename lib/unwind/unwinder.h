/* SPDX-License-Identifier: MIT */
/*
 * From the bytes of a stack to the calls that made it, across the program and its libraries: by the
 * tables for unwinding that the files carry (.eh_frame, .debug_frame), which stripping leaves.
 *
 * An address space is what a process has mapped. The caller numbers them, and tells what happens to
 * them in the order of time.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/macros.h"
#include "elf/ranges.h"
#include "unwind/sample.h"
#include "unwind/stacks.h"

struct gt_unwinder;

struct gt_unwinder_spec {
	/*
	 * A file in the format of /proc/kallsyms, of the kernel that was recorded; NULL: kernel
	 * code has no names.
	 */
	const char *kernel_symbols;
	/*
	 * Where files that could not stay where they were have been put: each by its build id in
	 * hexadecimal, or NULL.
	 */
	const char *kept_files;
	const char *root; /* of the recorded program, NULL: ours */
	/*
	 * The file with the GIL by its build id (hexadecimal, "" when it has none) and its path,
	 * and where in it a thread waits for the GIL. NULL and empty: known by the names of
	 * functions only.
	 */
	const char *gil_build_id, *gil_path;
	const gt_elf_ranges *gil_waits;
};

/* A file's code gets visible in an address space, in place of what was there. */
struct gt_mapping {
	uint64_t start, length, file_offset;
	const char *path;
	const uint8_t *build_id; /* NULL when not known */
	uint32_t build_id_size;
};

/* The same for all of a report. */
struct gt_unwinder_counts {
	uint64_t samples, frames; /* frames of user code that were unwound */
	uint64_t cut;		  /* stacks of which more could have been copied */
	uint64_t broken; /* stacks that ended at code whose tables are missing or make no sense */
	uint64_t chains; /* stacks that the kernel has walked by frame pointers */
	uint64_t whole_chains; /* of these, such as lead to where a thread starts */
};

/* SPEC is copied. -ENOMEM. What is wrong with a file, is said when it is needed (with -v). */
int gt_unwinder_new(const struct gt_unwinder_spec *spec, struct gt_unwinder **ret);
void gt_unwinder_free(struct gt_unwinder *unwinder);
GT_DEFINE_CLEANUP(struct gt_unwinder *, gt_unwinder_free)

/* SPACE need not be known before. Each returns 0 or -ENOMEM. */
int gt_unwinder_map(struct gt_unwinder *unwinder, uint32_t space, const struct gt_mapping *mapping);
int gt_unwinder_fork(struct gt_unwinder *unwinder, uint32_t parent, uint32_t child);
void gt_unwinder_exec(struct gt_unwinder *unwinder,
		      uint32_t space); /* nothing is mapped any more */

/*
 * The stack that SAMPLE shows, innermost in the kernel if it was there. What is missing at the
 * outer end of one that was cut is marked by the frame "[cut]"; at one that cannot be followed any
 * further, by "[unknown]". GT_STACK_NONE when the sample has nothing at all. 0 or -ENOMEM.
 */
int gt_unwinder_unwind(struct gt_unwinder *unwinder, uint32_t space,
		       const struct gt_stack_sample *sample, uint32_t *ret_stack);

/*
 * Where the user frames of the stack that was unwound last are in their files, innermost first: how
 * many, and their offsets, which are owned by the unwinder. For who compares them with others'.
 */
uint32_t gt_unwinder_offsets(const struct gt_unwinder *unwinder, const uint64_t **ret_offsets);

/* All stacks so far. Owned by the unwinder. */
struct gt_stacks *gt_unwinder_stacks(struct gt_unwinder *unwinder);

struct gt_unwinder_counts gt_unwinder_counts(const struct gt_unwinder *unwinder);
