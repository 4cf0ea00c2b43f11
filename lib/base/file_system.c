/* SPDX-License-Identifier: MIT */
#include "base/file_system.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/macros.h"

int gt_file_system_name(const char *path, char **ret_name)
{
	_cleanup_fclose_ FILE *mounts = NULL;
	_cleanup_free_ char *line = NULL;
	struct stat status;
	size_t capacity = 0;

	if (stat(path, &status) < 0)
		return -errno;
	mounts = fopen("/proc/self/mountinfo", "re");
	if (!mounts)
		return -errno;
	/* "36 35 98:0 /root /mount/point options [fields] - kind source options", see proc(5). */
	while (getline(&line, &capacity, mounts) > 0) {
		const char *kind = strstr(line, " - ");
		unsigned int major_number, minor_number;

		if (!kind || sscanf(line, "%*u %*u %u:%u", &major_number, &minor_number) != 2 ||
		    makedev(major_number, minor_number) != status.st_dev)
			continue;
		kind += strlen(" - ");
		*ret_name = strndup(kind, strcspn(kind, " "));
		return *ret_name ? 0 : -ENOMEM;
	}
	return -ENOENT;
}
