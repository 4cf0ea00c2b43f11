/* SPDX-License-Identifier: MIT */
/* giltrace run: record into a directory, then report. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/temporary.h"
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "cmd/verbs.h"

/* A directory that is removed with the files in it when its variable leaves the scope. */
static void remove_directory(char **path)
{
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *entry;

	if (!*path)
		return;
	gt_temporary_forget(*path);
	directory = opendir(*path);
	while (directory && (entry = readdir(directory)))
		(void)unlinkat(dirfd(directory), entry->d_name, 0);
	(void)rmdir(*path);
	free(*path);
}

/* With the files that will be in it, since a signal handler cannot look. */
static void note_directory(const char *path)
{
	static const char *const names[] = {"gil.perf.data", "meta.json"};

	gt_temporary_add(path);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *file = gt_format("%s/%s", path, names[i]);

		if (file)
			gt_temporary_add(file);
	}
}

static int make_temporary_directory(char **ret)
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
	note_directory(path);
	*ret = GT_STEAL(path);
	return 0;
}

int gt_run(const struct gt_options *options)
{
	_cleanup_(remove_directory) char *temporary = NULL;
	int status = 0, r;

	if (gt_report_check_outputs(options) < 0)
		return GT_EXIT_FAILURE;
	if (!options->directory && make_temporary_directory(&temporary) < 0)
		return GT_EXIT_FAILURE;
	r = gt_record_into(options, options->directory ? options->directory : temporary, &status);
	if (r != 0)
		return r;
	if (gt_report_path(options, options->directory ? options->directory : temporary) < 0)
		return GT_EXIT_FAILURE;
	return status;
}
