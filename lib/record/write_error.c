/* SPDX-License-Identifier: MIT */
#include "record/write_error.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

int gt_write_error(const char *path, int err)
{
	if (err == -ENOSPC || err == -EDQUOT || err == -EFBIG)
		gt_error("cannot write %s: %s\n"
			 "  free some room, or name a folder with more of it by --keep-data or "
			 "TMPDIR",
			 path, strerror(-err));
	else
		gt_error("cannot write %s: %s", path, strerror(-err));
	return err;
}
