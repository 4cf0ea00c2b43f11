/* SPDX-License-Identifier: MIT */
/*
 * Which interpreter a process maps, and so at which addresses take_gil returns after a requested
 * drop. The recording knows the one that it probed; another, as in a file of stock perf, is looked
 * for where the process had it.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/strings.h"
#include "elf/elf_file.h"
#include "python/gil_sites.h"
#include "trace/machine.h"

static int copy_string(const char *from, char **ret)
{
	if (!from)
		return 0;
	*ret = strdup(from);
	return *ret ? 0 : -ENOMEM;
}

int gt_trace_add_python(struct gt_trace *trace, const struct gt_python *python)
{
	struct gt_python *copy = gt_array_push(&trace->pythons);

	if (!copy || copy_string(python->path, &copy->path) < 0 ||
	    copy_string(python->program, &copy->program) < 0 ||
	    copy_string(python->build_id, &copy->build_id) < 0 ||
	    copy_string(python->version, &copy->version) < 0)
		return -ENOMEM;
	gt_array_for_each (&python->retake_offsets, from) {
		uint64_t *offset = gt_array_push(&copy->retake_offsets);

		if (!offset)
			return -ENOMEM;
		*offset = *from;
	}
	return 0;
}

static void format_build_id(const struct gt_event *event, char ret[static GT_BUILD_ID_MAX * 2 + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint32_t size = event->map.build_id
				? GT_MIN(event->map.build_id_size, (uint32_t)GT_BUILD_ID_MAX)
				: 0;

	for (uint32_t i = 0; i < size; i++) {
		ret[2 * i] = digits[event->map.build_id[i] >> 4];
		ret[2 * i + 1] = digits[event->map.build_id[i] & 15];
	}
	ret[2 * size] = '\0';
}

/* Same file: the build-id decides where both have one. */
static bool is_python(const struct gt_python *python, const char *path, const char *build_id)
{
	if (python->build_id[0] && build_id[0])
		return strcmp(python->build_id, build_id) == 0;
	return strcmp(python->path, path) == 0;
}

/* By the name alone, so that a process's other files are not opened. */
static bool looks_like_python(const char *path)
{
	const char *name = strrchr(path, '/');

	if (!name)
		return false;
	return gt_string_starts_with(name, "/python") || gt_string_starts_with(name, "/libpython");
}

static void warn_without_retake(const char *path, const char *why)
{
	gt_warning("%s: %s\n"
		   "  waits of threads that were asked to let go are not all in the figures",
		   path, why);
}

/*
 * Opens the file that was mapped, and adds it as known if it has a GIL, without retake if that
 * cannot be found. RET_PYTHON stays GT_NONE for another file: a program that uses libpython has no
 * GIL of its own.
 */
static int look_up(struct gt_trace *trace, const char *path, const char *build_id,
		   uint32_t *ret_python)
{
	struct gt_python python = {.path = (char *)path, .build_id = (char *)build_id};
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};
	const gt_gil_offsets *retake = &sites.offsets[GT_GIL_SITE_RETAKE];
	int r;

	if (gt_elf_open(path, &elf) < 0)
		warn_without_retake(path, "it cannot be read any more");
	else if (build_id[0] && strcmp(build_id, gt_elf_build_id(elf)) != 0)
		warn_without_retake(path, "it is not the file any more that ran");
	else if (!gt_elf_exports(elf, "PyEval_RestoreThread"))
		return 0;
	else if (gt_gil_sites_find(elf, &sites) < 0)
		warn_without_retake(path, "where its GIL is asked back is not known");
	python.retake_offsets.items = retake->items;
	python.retake_offsets.count = retake->count;
	r = gt_trace_add_python(trace, &python);
	if (r < 0)
		return r;
	*ret_python = trace->pythons.count - 1;
	return 0;
}

int gt_interpreter_map(struct gt_trace *trace, uint32_t process, const struct gt_event *event)
{
	struct gt_process_state *state = &trace->machine->processes.items[process];
	char build_id[GT_BUILD_ID_MAX * 2 + 1];
	uint32_t found = GT_NONE;
	int r;

	format_build_id(event, build_id);
	for (uint32_t i = 0; i < trace->pythons.count && found == GT_NONE; i++)
		if (is_python(&trace->pythons.items[i], event->map.path, build_id))
			found = i;
	if (found == GT_NONE) {
		if (!looks_like_python(event->map.path))
			return 0;
		r = look_up(trace, event->map.path, build_id, &found);
		if (r < 0 || found == GT_NONE)
			return r;
	}
	trace->processes.items[process].python = found;
	gt_array_for_each (&trace->pythons.items[found].retake_offsets, offset) {
		uint64_t *address;

		if (*offset < event->map.file_offset ||
		    *offset - event->map.file_offset >= event->map.length)
			continue;
		address = gt_array_push(&state->retake_addresses);
		if (!address)
			return -ENOMEM;
		*address = event->map.start + (*offset - event->map.file_offset);
	}
	return 0;
}

bool gt_is_retake(const struct gt_trace *trace, uint32_t process, uint64_t caller)
{
	const struct gt_process_state *state = &trace->machine->processes.items[process];

	for (uint32_t i = 0; i < state->retake_addresses.count; i++)
		if (state->retake_addresses.items[i] == caller)
			return true;
	return false;
}
