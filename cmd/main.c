/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/temporary.h"
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "cmd/verbs.h"

/*
 * Takes the places of standard streams that were closed, so that no file of giltrace's gets one of
 * them and then its messages. They are closed again for the target.
 */
static void hold_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char *argv[])
{
	_cleanup_(gt_options_clear) struct gt_options options = {0};
	int r;

	hold_standard_streams();
	r = gt_options_parse(argc, argv, &options);
	if (r <= 0)
		return r < 0 ? GT_EXIT_FAILURE : 0;
	gt_temporary_remove_on_signals();
	switch (options.verb) {
	case GT_VERB_RECORD:
		return gt_record(&options);
	case GT_VERB_REPORT:
		return gt_report(&options);
	case GT_VERB_PROBE:
		return gt_probe(&options);
	case GT_VERB_DOCTOR:
		return gt_doctor(&options);
	default:
		return gt_run(&options);
	}
}
