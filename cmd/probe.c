/* SPDX-License-Identifier: MIT */
/*
 * giltrace probe: for administrators who install the GIL's probes once, so that others can record
 * with stock perf.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

#include "base/io.h"
#include "base/log.h"
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "cmd/traced_python.h"
#include "cmd/verbs.h"
#include "probes/tracefs.h"
#include "probes/uprobe.h"

#define DEFAULT_GROUP "gil"

static int add(const struct gt_options *options, const char *group)
{
	_cleanup_(gt_traced_python_clear) struct gt_traced_python python = {0};
	struct gt_uprobes *uprobes;
	sigset_t all, old;
	int r;

	if (!gt_uprobes_check_group(group))
		return GT_EXIT_FAILURE;
	r = gt_traced_python_find(options, &python);
	if (r != 0)
		return r;
	/* A signal in between would leave a part of the group. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	r = gt_uprobes_install(group, python.elf, &python.sites, &uprobes);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (r < 0)
		return GT_EXIT_FAILURE;
	gt_uprobes_keep(uprobes);
	gt_info("probes are on the GIL of %s\n"
		"  record with: perf record -k CLOCK_MONOTONIC -e '%s:*' -- COMMAND\n"
		"  and read with: giltrace report perf.data",
		gt_interpreter_gil_file(&python.interpreter), group);
	return 0;
}

static void print_probe(const char *group, const char *event, const char *address)
{
	printf("%s:%s %s\n", group, event, address);
}

/* What cannot be read would look like no probes. */
static int check_access(const char *tracefs)
{
	_cleanup_free_ char *path = gt_format("%s/uprobe_events", tracefs);
	_cleanup_close_ int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	return fd < 0 ? gt_error_errno(-errno, "cannot manage probes\n"
					       "  run giltrace as root: sudo giltrace probe …")
		      : 0;
}

int gt_probe(const struct gt_options *options)
{
	const char *group = options->group ? options->group : DEFAULT_GROUP, *tracefs;

	if (gt_tracefs_find(&tracefs) < 0 || check_access(tracefs) < 0)
		return GT_EXIT_FAILURE;
	switch (options->probe_action) {
	case GT_PROBE_ADD:
		return add(options, group);
	case GT_PROBE_DELETE:
		return gt_uprobes_remove_group(group) < 0 ? GT_EXIT_FAILURE : 0;
	case GT_PROBE_LIST:
		gt_uprobes_list(options->group, print_probe);
		if (fflush(stdout) == 0 && !ferror(stdout))
			return 0;
		gt_error_errno(-errno, "cannot write to standard output");
		return GT_EXIT_FAILURE;
	}
	return GT_EXIT_FAILURE;
}
