/* SPDX-License-Identifier: MIT */
#include "cmd/trace_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/temporary.h"

static void for_each_file(const char *path, void (*function)(const char *path))
{
	static const char *const names[] = {GT_TRACE_GIL_FILE, GT_TRACE_STATE_FILE,
					    GT_TRACE_AGENT_FILE, GT_TRACE_META_FILE,
					    GT_TRACE_NEW_META_FILE};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *file = gt_format("%s/%s", path, names[i]);

		if (file)
			function(file);
	}
}

/* Calls FUNCTION for the directory, then for the files in it: a signal handler cannot look. */
static void for_each_note(const char *path, void (*function)(const char *path))
{
	function(path);
	for_each_file(path, function);
}

static void remove_file(const char *path)
{
	(void)unlink(path);
}

void gt_trace_directory_empty(const char *path)
{
	for_each_file(path, remove_file);
}

void gt_trace_directory_removep(char **path)
{
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *entry;

	if (!*path)
		return;
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
