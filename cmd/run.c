/* SPDX-License-Identifier: MIT */
/* giltrace run: record into a directory, then report. */
#include "base/macros.h"
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "cmd/trace_directory.h"
#include "cmd/verbs.h"

int gt_run(const struct gt_options *options)
{
	_cleanup_(gt_trace_directory_removep) char *temporary = NULL;
	const char *directory = options->directory;
	int status = 0, r;

	if (gt_report_check_outputs(options) < 0)
		return GT_EXIT_FAILURE;
	if (!directory) {
		if (gt_trace_directory_make_temporary(&temporary) < 0)
			return GT_EXIT_FAILURE;
		directory = temporary;
	}
	r = gt_record_into(options, directory, &status);
	if (r != 0)
		return r;
	if (gt_report_path(options, directory) < 0)
		return GT_EXIT_FAILURE;
	return status;
}
