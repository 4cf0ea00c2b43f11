/* SPDX-License-Identifier: MIT */
#include "cmd/trace_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/temporary.h"
#include "elf/elf_file.h"

static void remove_files(const char *path)
{
	static const char *const names[] = {GT_TRACE_GIL_FILE,	 GT_TRACE_STATE_FILE,
					    GT_TRACE_AGENT_FILE, GT_TRACE_KERNEL_SYMBOLS_FILE,
					    GT_TRACE_META_FILE,	 GT_TRACE_NEW_META_FILE};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *file = gt_format("%s/%s", path, names[i]);

		if (file)
			(void)unlink(file);
	}
}

/* Calls FUNCTION for the directories, which a signal handler empties: the outer one first. */
static void for_each_note(const char *path, void (*function)(const char *path))
{
	_cleanup_free_ char *files = gt_format("%s/%s", path, GT_TRACE_FILES_DIRECTORY);

	function(path);
	if (files)
		function(files);
}

/* Linkers make 8 bytes or more. What is shorter may be a year, or anybody's number. */
static bool is_build_id(const char *name)
{
	size_t length = strspn(name, "0123456789abcdef");

	return length >= 16 && length <= 2 * GT_BUILD_ID_MAX && name[length] == '\0';
}

/* Whether a recording with files that were kept can have been there. */
static bool has_states(const char *path)
{
	_cleanup_free_ char *states = gt_format("%s/%s", path, GT_TRACE_STATE_FILE);

	return states && access(states, F_OK) == 0;
}

/* Whatever else somebody has put there, stays; and the directory then, too. */
static void remove_kept_files(const char *path)
{
	_cleanup_free_ char *files = gt_format("%s/%s", path, GT_TRACE_FILES_DIRECTORY);
	_cleanup_close_ int fd =
		files ? open(files, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	_cleanup_closedir_ DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!directory)
		return;
	(void)GT_STEAL_FD(fd);
	while ((entry = readdir(directory)))
		if (is_build_id(entry->d_name))
			(void)unlinkat(dirfd(directory), entry->d_name, 0);
	(void)rmdir(files);
}

void gt_trace_directory_empty(const char *path)
{
	if (has_states(path))
		remove_kept_files(path);
	remove_files(path);
}

void gt_trace_directory_removep(char **path)
{
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *entry;

	if (!*path)
		return;
	remove_kept_files(*path);
	directory = opendir(*path);
	while (directory && (entry = readdir(directory)))
		(void)unlinkat(dirfd(directory), entry->d_name, 0);
	(void)rmdir(*path);
	for_each_note(*path, gt_temporary_forget);
	free(*path);
}

int gt_trace_directory_make_temporary(char **ret_path)
{
	const char *parent = getenv("TMPDIR");
	_cleanup_free_ char *path = NULL;

	path = gt_format("%s/giltrace.XXXXXX", parent && parent[0] == '/' ? parent : "/tmp");
	if (!path)
		return gt_error_oom();
	if (!mkdtemp(path))
		return gt_error_errno(-errno,
				      "cannot make a directory for the recorded data in %s\n"
				      "  set TMPDIR, or give --keep-data",
				      parent && parent[0] == '/' ? parent : "/tmp");
	for_each_note(path, gt_temporary_add);
	*ret_path = GT_STEAL(path);
	return 0;
}
