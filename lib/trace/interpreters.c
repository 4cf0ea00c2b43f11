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
#include "python/gil_sites_cache.h"
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
	uint32_t size = event->map.build_id
				? GT_MIN(event->map.build_id_size, (uint32_t)GT_BUILD_ID_MAX)
				: 0;

	gt_hex_format(event->map.build_id, size, ret);
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
 * Where the file's GIL is asked back, or nowhere, with a warning. False for a file without a GIL of
 * its own, such as a program that uses libpython.
 */
static bool find_sites(const struct gt_interpreter_candidate *candidate, struct gt_gil_sites *ret)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	struct gt_log_capture capture;
	_cleanup_free_ char *said = NULL;
	const char *why = NULL;

	/* What goes wrong here is not an error of giltrace's, and gets a warning of its own. */
	gt_log_start_capture(&capture);
	if (gt_elf_open(candidate->path, &elf) < 0)
		why = "it cannot be read any more";
	else if (candidate->build_id[0] && strcmp(candidate->build_id, gt_elf_build_id(elf)) != 0)
		why = "it is not the file any more that ran";
	else if (gt_elf_exports(elf, "PyEval_RestoreThread") &&
		 gt_gil_sites_find_cached(elf, ret) < 0)
		why = "where its GIL is asked back is not known";
	said = gt_log_end_capture(&capture);
	if (said)
		gt_debug("%s", said);
	if (why)
		warn_without_retake(candidate->path, why);
	return why || gt_elf_exports(elf, "PyEval_RestoreThread");
}

/* Adds a file as known. RET_PYTHON stays as it is for one without a GIL. */
static int look_up(struct gt_trace *trace, const struct gt_interpreter_candidate *candidate,
		   uint32_t *ret_python)
{
	struct gt_python python = {.path = candidate->path, .build_id = candidate->build_id};
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};
	const gt_gil_offsets *retake = &sites.offsets[GT_GIL_SITE_RETAKE];
	int r;

	if (!find_sites(candidate, &sites))
		return 0;
	python.retake_offsets.items = retake->items;
	python.retake_offsets.count = retake->count;
	r = gt_trace_add_python(trace, &python);
	if (r < 0)
		return r;
	*ret_python = trace->pythons.count - 1;
	return 0;
}

static uint32_t find_known(const struct gt_trace *trace, const char *path, const char *build_id)
{
	for (uint32_t i = 0; i < trace->pythons.count; i++)
		if (is_python(&trace->pythons.items[i], path, build_id))
			return i;
	return GT_NONE;
}

static bool has_path(const struct gt_trace *trace, const char *path)
{
	gt_array_for_each (&trace->pythons, python)
		if (strcmp(python->path, path) == 0)
			return true;
	return false;
}

/* Two sources may tell of one map. */
static int add_retake_address(struct gt_trace *trace, uint32_t process, uint64_t address)
{
	uint64_t *item;

	if (gt_is_retake(trace, process, address))
		return 0;
	item = gt_array_push(&trace->machine->processes.items[process].retake_addresses);
	if (!item)
		return -ENOMEM;
	*item = address;
	return 0;
}

/* PROCESS maps a part of an interpreter that is known. */
static int set_python(struct gt_trace *trace, uint32_t process, uint32_t python, uint64_t start,
		      uint64_t length, uint64_t file_offset)
{
	trace->processes.items[process].python = python;
	gt_array_for_each (&trace->pythons.items[python].retake_offsets, offset) {
		int r;

		if (*offset < file_offset || *offset - file_offset >= length)
			continue;
		r = add_retake_address(trace, process, start + (*offset - file_offset));
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_candidate(struct gt_process_state *process, const char *path, const char *build_id,
			 uint64_t start, uint64_t length, uint64_t file_offset)
{
	struct gt_interpreter_candidate *candidate = gt_array_push(&process->candidates);

	if (!candidate || copy_string(path, &candidate->path) < 0 ||
	    copy_string(build_id, &candidate->build_id) < 0)
		return -ENOMEM;
	candidate->start = start;
	candidate->length = length;
	candidate->file_offset = file_offset;
	return 0;
}

int gt_interpreter_map(struct gt_trace *trace, uint32_t process, const struct gt_event *event)
{
	char build_id[GT_BUILD_ID_MAX * 2 + 1];
	uint32_t known;

	format_build_id(event, build_id);
	known = find_known(trace, event->map.path, build_id);
	if (known != GT_NONE && event->map.by_agent)
		trace->machine->processes.items[process].has_agent = true;
	else if (known != GT_NONE)
		trace->machine->processes.items[process].known_python = GT_KNOWN_PYTHON_MAPPED;
	if (known != GT_NONE)
		return set_python(trace, process, known, event->map.start, event->map.length,
				  event->map.file_offset);
	if (!looks_like_python(event->map.path))
		return 0;
	if (has_path(trace, event->map.path))
		trace->processes.items[process].maps_replaced_python = true;
	return add_candidate(&trace->machine->processes.items[process], event->map.path, build_id,
			     event->map.start, event->map.length, event->map.file_offset);
}

static void forget_candidates(struct gt_process_state *process)
{
	gt_array_for_each (&process->candidates, candidate) {
		free(candidate->path);
		free(candidate->build_id);
	}
	gt_array_clear(&process->candidates);
}

int gt_interpreter_look_up(struct gt_trace *trace, uint32_t process)
{
	struct gt_process_state *state = &trace->machine->processes.items[process];
	int r;

	/* The one that was probed is known. */
	if (trace->processes.items[process].python != GT_NONE)
		return 0;
	gt_array_for_each (&state->candidates, candidate) {
		uint32_t python = find_known(trace, candidate->path, candidate->build_id);

		if (python == GT_NONE) {
			r = look_up(trace, candidate, &python);
			if (r < 0)
				return r;
		}
		if (python == GT_NONE)
			continue;
		r = set_python(trace, process, python, candidate->start, candidate->length,
			       candidate->file_offset);
		if (r < 0)
			return r;
	}
	forget_candidates(state);
	return 0;
}

int gt_interpreter_fork(struct gt_trace *trace, uint32_t parent, uint32_t child)
{
	const struct gt_process_state *from = &trace->machine->processes.items[parent];
	struct gt_process_state *to = &trace->machine->processes.items[child];
	int r;

	trace->processes.items[child].python = trace->processes.items[parent].python;
	if (gt_interpreter_is_unwatched(trace, parent))
		to->known_python = GT_KNOWN_PYTHON_OF_PARENT;
	gt_array_for_each (&from->retake_addresses, address) {
		uint64_t *copy = gt_array_push(&to->retake_addresses);

		if (!copy)
			return -ENOMEM;
		*copy = *address;
	}
	gt_array_for_each (&from->candidates, candidate) {
		r = add_candidate(to, candidate->path, candidate->build_id, candidate->start,
				  candidate->length, candidate->file_offset);
		if (r < 0)
			return r;
	}
	return 0;
}

void gt_interpreter_forget(struct gt_process_state *process)
{
	process->known_python = GT_KNOWN_PYTHON_NONE;
	process->has_agent = false;
	gt_array_clear(&process->retake_addresses);
	forget_candidates(process);
}

bool gt_interpreter_is_other(const struct gt_trace *trace, uint32_t process)
{
	return trace->machine->processes.items[process].image_gil_events == 0 &&
	       trace->processes.items[process].python == GT_NONE &&
	       trace->machine->processes.items[process].candidates.count > 0;
}

bool gt_interpreter_is_unwatched(const struct gt_trace *trace, uint32_t process)
{
	const struct gt_process_state *state = &trace->machine->processes.items[process];

	/* What is cut off may have told of it. */
	return trace->silence_is_blindness && !trace->is_cut &&
	       state->known_python != GT_KNOWN_PYTHON_NONE && !state->has_agent &&
	       state->image_gil_events == 0;
}

bool gt_is_retake(const struct gt_trace *trace, uint32_t process, uint64_t caller)
{
	const struct gt_process_state *state = &trace->machine->processes.items[process];

	for (uint32_t i = 0; i < state->retake_addresses.count; i++)
		if (state->retake_addresses.items[i] == caller)
			return true;
	return false;
}
