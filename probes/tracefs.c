/* SPDX-License-Identifier: MIT */
#include "probes/tracefs.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <tracefs/tracefs.h>
#include <unistd.h>

#include "base/log.h"

#define MOUNT_POINT "/sys/kernel/tracing"

static int refuse(int err)
{
	gt_error_errno(err,
		       "cannot use the kernel's tracing files: mounting tracefs at " MOUNT_POINT
		       " failed\n"
		       "  run giltrace as root, outside of an unprivileged container");
	return err;
}

const char *gt_tracefs_mounted(void)
{
	const char *path = NULL;

	return tracefs_tracing_dir_is_mounted(false, &path) > 0 ? path : NULL;
}

int gt_tracefs_find(const char **ret_path)
{
	const char *path = gt_tracefs_mounted();

	if (path) {
		*ret_path = path;
		return 0;
	}
	if (mount("nodev", MOUNT_POINT, "tracefs", 0, NULL) < 0)
		return refuse(-errno);
	gt_info("mounted tracefs at " MOUNT_POINT);
	path = gt_tracefs_mounted();
	if (!path)
		return refuse(-ENOENT);
	*ret_path = path;
	return 0;
}
