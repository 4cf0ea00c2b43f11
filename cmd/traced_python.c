/* SPDX-License-Identifier: MIT */
#include "cmd/traced_python.h"

#include <errno.h>

#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "python/gil_sites_cache.h"
#include "python/runtime_offsets.h"

int gt_exit_status_of(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOPKG:
		return GT_EXIT_NOT_FOUND;
	case -EACCES:
	case -ENOEXEC:
		return GT_EXIT_CANNOT_EXECUTE;
	default:
		return GT_EXIT_FAILURE;
	}
}

int gt_traced_python_find(const struct gt_options *options, struct gt_traced_python *python)
{
	struct gt_interpreter_request request = {.python = options->python,
						 .module = options->module};
	int r;

	r = gt_interpreter_resolve(&request, &python->interpreter);
	if (r < 0)
		return gt_exit_status_of(r);
	/* From here on an error that looks like "not found" is one of giltrace's own. */
	if (gt_elf_open(gt_interpreter_gil_file(&python->interpreter), &python->elf) < 0 ||
	    gt_python_is_free_threaded(python->elf, &python->is_free_threaded) < 0 ||
	    gt_gil_sites_find_cached(python->elf, &python->sites) < 0)
		return GT_EXIT_FAILURE;
	return 0;
}

void gt_traced_python_clear(struct gt_traced_python *python)
{
	gt_gil_sites_clear(&python->sites);
	if (python->elf)
		gt_elf_close(python->elf);
	gt_interpreter_clear(&python->interpreter);
	*python = (struct gt_traced_python){0};
}
