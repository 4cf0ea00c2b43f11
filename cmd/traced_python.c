/* SPDX-License-Identifier: MIT */
#include "cmd/traced_python.h"

#include <errno.h>

#include "base/log.h"
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "python/gil_returns.h"
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

/* By the shape of the code, or else by the entries and returns of functions that symbols name. */
static int find_sites(const struct gt_elf *elf, struct gt_gil_sites *ret)
{
	struct gt_log_capture capture;
	_cleanup_free_ char *why = NULL, *about_returns = NULL;
	int r;

	gt_log_start_capture(&capture);
	r = gt_gil_sites_find_cached(elf, ret);
	why = gt_log_end_capture(&capture);
	if (r == -ENODATA) {
		gt_log_start_capture(&capture);
		r = gt_gil_returns_find(elf, ret) < 0 ? r : 0;
		about_returns = gt_log_end_capture(&capture);
	}
	/* Where both fail, why the first did is what matters. */
	if (about_returns)
		gt_log(r < 0 ? GT_LOG_DEBUG : GT_LOG_WARNING, "%s", about_returns);
	if (r < 0 && why)
		gt_error("%s", why);
	return r;
}

/*
 * For stacks alone: they tell what is inside of take_gil by its name, too, where the file has
 * names.
 */
static int find_waits(const struct gt_elf *elf, struct gt_gil_sites *ret)
{
	struct gt_log_capture capture;
	_cleanup_free_ char *why = NULL;
	int r;

	gt_log_start_capture(&capture);
	r = gt_gil_sites_find_cached(elf, ret);
	why = gt_log_end_capture(&capture);
	if (r < 0 && why)
		gt_log(gt_elf_is_stripped(elf) ? GT_LOG_WARNING : GT_LOG_DEBUG,
		       "which sleeps are for the GIL is told by the names of functions only: %s",
		       why);
	return r == -ENOMEM ? r : 0;
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
	    (options->gil_detect ? find_sites : find_waits)(python->elf, &python->sites) < 0)
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
