/* SPDX-License-Identifier: MIT */
/*
 * giltrace probe: for administrators who install the GIL's probes once, so that others can record
 * with stock perf.
 */
#include <stdio.h>

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
	int r;

	if (!gt_uprobes_check_group(group))
		return GT_EXIT_FAILURE;
	r = gt_traced_python_find(options, &python);
	if (r != 0)
		return r;
	if (gt_uprobes_install(group, python.elf, &python.sites, &uprobes) < 0)
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

int gt_probe(const struct gt_options *options)
{
	const char *group = options->group ? options->group : DEFAULT_GROUP, *tracefs;

	if (gt_tracefs_find(&tracefs) < 0)
		return GT_EXIT_FAILURE;
	switch (options->probe_action) {
	case GT_PROBE_ADD:
		return add(options, group);
	case GT_PROBE_DELETE:
		return gt_uprobes_remove_group(group) < 0 ? GT_EXIT_FAILURE : 0;
	case GT_PROBE_LIST:
		gt_uprobes_list(options->group, print_probe);
		return 0;
	}
	return GT_EXIT_FAILURE;
}
