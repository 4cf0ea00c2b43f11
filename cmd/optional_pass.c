/* SPDX-License-Identifier: MIT */
#include "cmd/optional_pass.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"

int gt_optional_pass_open(const struct gt_pass_spec *spec, pid_t pid, struct gt_pass **ret,
			  char **ret_why)
{
	_cleanup_free_ char *why = NULL;
	struct gt_log_capture log;
	int r;

	gt_log_start_capture(&log);
	r = gt_pass_open(spec, pid, ret);
	why = gt_log_end_capture(&log);
	if (r == 0)
		return 0;
	*ret_why = why ? GT_STEAL(why) : strdup(strerror(-r));
	(void)unlink(spec->path);
	return r;
}
