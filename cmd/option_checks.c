/* SPDX-License-Identifier: MIT */
#include "cmd/option_checks.h"

#include <errno.h>

#include "base/log.h"
#include "cmd/options.h"

const char *const gt_probe_ways[] = {"auto", "uprobe", "agent", "both", NULL};

/* What some ways of probing cannot do. */
static int check_probe_way(const struct gt_options *options)
{
	bool uses_uprobes = options->probe_way == GT_PROBE_WAY_UPROBE ||
			    options->probe_way == GT_PROBE_WAY_BOTH;

	if (options->flight_recorder_ns > 0 && uses_uprobes) {
		gt_error("--flight-recorder does not go with --probe %s: probes of the kernel keep "
			 "all\n  leave --probe out, or give --probe agent",
			 gt_probe_ways[options->probe_way]);
		return -EINVAL;
	}
	if (options->agent_clock != GT_CLOCK_CHOICE_AUTO &&
	    options->probe_way == GT_PROBE_WAY_UPROBE) {
		gt_error("--agent-clock does not go with --probe uprobe: the kernel has a clock of "
			 "its own\n  leave it out, or give --probe agent");
		return -EINVAL;
	}
	return 1;
}

static int refuse_without_gil(const char *option, const char *word, const char *why)
{
	gt_error("%s%s%s does not go with --no-gil-detect: %s\n  leave one of them out", option,
		 word ? " " : "", word ? word : "", why);
	return -EINVAL;
}

/* What is about the recording of the GIL's events, and there is none. */
static int check_without_gil(const struct gt_options *options)
{
	if (options->gil_detect)
		return 1;
	if (options->no_state_detect) {
		gt_error("nothing is left to record with --no-gil-detect and --no-state-detect\n"
			 "  leave one of them out");
		return -EINVAL;
	}
	if (options->probe_way != GT_PROBE_WAY_AUTO)
		return refuse_without_gil("--probe", gt_probe_ways[options->probe_way],
					  "nothing watches the GIL then");
	if (options->flight_recorder_ns > 0)
		return refuse_without_gil("--flight-recorder", NULL,
					  "it keeps the GIL's events, and there are none");
	if (options->agent_clock != GT_CLOCK_CHOICE_AUTO)
		return refuse_without_gil("--agent-clock", NULL, "there is no agent then");
	return 1;
}

static int refuse_without_states(const char *option, const struct gt_options *options)
{
	if (options->no_state_detect)
		gt_error("%s does not go with --no-state-detect: it is recorded with the states\n"
			 "  leave one of them out",
			 option);
	else
		gt_error("%s is about the stacks that are recorded with the states\n"
			 "  give --state-detect, too, or leave it out",
			 option);
	return -EINVAL;
}

/* What is about the recording of states. */
static int check_states(const struct gt_options *options)
{
	if (options->counters.count > 0 && options->no_state_detect)
		return refuse_without_states("--counters", options);
	if (options->state_detect || !options->gil_detect || options->counters.count > 0) {
		if (options->stack_bytes == 0 || options->call_graph == GT_CALL_GRAPH_DWARF)
			return 1;
		gt_error("--stack-size does not go with --call-graph fp: no stacks are copied "
			 "then\n  leave one of them out");
		return -EINVAL;
	}
	if (options->stack_bytes > 0)
		return refuse_without_states("--stack-size", options);
	if (options->has_call_graph)
		return refuse_without_states("--call-graph", options);
	return 1;
}

int gt_options_check(const struct gt_options *options)
{
	int r = check_probe_way(options);

	if (r > 0)
		r = check_without_gil(options);
	if (r > 0)
		r = check_states(options);
	return r;
}
