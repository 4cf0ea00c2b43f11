/* SPDX-License-Identifier: MIT */
/* The interpreter that is traced: what runs, the file that has its GIL, and where in it. */
#pragma once

#include "elf/elf_file.h"
#include "python/gil_sites.h"
#include "python/interpreter.h"

struct gt_options;

struct gt_traced_python {
	struct gt_interpreter interpreter;
	struct gt_elf *elf; /* of the file that has the GIL */
	struct gt_gil_sites sites;
	bool is_free_threaded;
};

/*
 * Finds it, into PYTHON, which is empty before. The caller clears it, also on failure: what has
 * been found by then is there. 0, or the exit status for the failure (logged).
 */
int gt_traced_python_find(const struct gt_options *options, struct gt_traced_python *python);
void gt_traced_python_clear(struct gt_traced_python *python);

/* The exit status for an interpreter or script that cannot be run. */
int gt_exit_status_of(int err);
