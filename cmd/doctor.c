/* SPDX-License-Identifier: MIT */
/* giltrace doctor: tells whether tracing will work here, and what to do if not. */
#include "base/log.h"
#include "cmd/diagnosis.h"
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "cmd/verbs.h"

int gt_doctor(const struct gt_options *options)
{
	_cleanup_(gt_diagnosis_clear) struct gt_diagnosis diagnosis = {0};
	int r;

	gt_diagnose(options, &diagnosis);
	r = options->json ? gt_diagnosis_print_json(&diagnosis) : gt_diagnosis_print(&diagnosis);
	if (r < 0)
		gt_error_errno(r, "cannot write to standard output");
	return r < 0 || !diagnosis.ok ? GT_EXIT_FAILURE : 0;
}
