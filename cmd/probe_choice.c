/* SPDX-License-Identifier: MIT */
#include "cmd/probe_choice.h"

#include <errno.h>

#include "base/log.h"
#include "cmd/options.h"
#include "cmd/preload.h"
#include "cmd/traced_python.h"

const char *gt_probe_choice_name(bool uses_uprobes, bool uses_agent)
{
	if (uses_uprobes)
		return uses_agent ? "both" : "uprobe";
	return uses_agent ? "agent" : "none";
}

int gt_probe_find_agent(const struct gt_traced_python *python, struct gt_agent_file *file,
			struct gt_obstacle *obstacle)
{
	int r = gt_preload_check(python, obstacle);

	if (r < 0)
		return r;
	return gt_agent_file_find(gt_elf_machine(python->elf), python->interpreter.root != NULL,
				  file, obstacle);
}

void gt_probe_warn_without_agent(const struct gt_options *options,
				 const struct gt_probe_choice *choice,
				 const struct gt_obstacle *obstacle)
{
	const struct gt_rights *rights = &choice->rights;
	const char *cause = obstacle->cause ? obstacle->cause : "out of memory";
	const char *remedy = obstacle->remedy ? obstacle->remedy : "use another Python";

	if (choice->uses_uprobes)
		gt_warning("only the kernel's probes watch the GIL: %s\n  %s", cause, remedy);
	else if (options->flight_recorder_ns > 0)
		gt_warning("the GIL is not watched: %s\n"
			   "  %s, or leave out --flight-recorder, which needs the agent",
			   cause, remedy);
	else if (options->probe_way == GT_PROBE_WAY_AUTO && rights->obstacle.remedy)
		gt_warning("the GIL is not watched: %s\n"
			   "  %s,\n"
			   "  or let the kernel watch it, which needs no agent: %s",
			   cause, remedy, rights->obstacle.remedy);
	else
		gt_warning("the GIL is not watched: %s\n  %s", cause, remedy);
}

static bool wants_uprobes(const struct gt_options *options, const struct gt_probe_choice *choice)
{
	switch (options->probe_way) {
	case GT_PROBE_WAY_AUTO:
		return options->flight_recorder_ns == 0 && choice->rights.can_probe;
	case GT_PROBE_WAY_AGENT:
		return false;
	default:
		return true;
	}
}

int gt_probe_choose(const struct gt_options *options, const struct gt_traced_python *python,
		    struct gt_probe_choice *choice)
{
	_cleanup_(gt_obstacle_clear) struct gt_obstacle obstacle = {0};
	bool is_asked_for = options->probe_way == GT_PROBE_WAY_UPROBE ||
			    options->probe_way == GT_PROBE_WAY_BOTH;

	gt_rights_find(&choice->rights, options->gil_detect &&
						options->probe_way != GT_PROBE_WAY_AGENT &&
						options->flight_recorder_ns == 0);
	if (!options->gil_detect)
		return 0;
	choice->uses_uprobes = wants_uprobes(options, choice);
	if (is_asked_for && !choice->rights.can_probe) {
		_cleanup_free_ char *text = gt_obstacle_text(&choice->rights.obstacle);

		gt_error("%s%sor leave --probe out: the agent needs no rights",
			 text ? text : "cannot install probes",
			 choice->rights.obstacle.remedy ? ",\n  " : "\n  ");
		return -EPERM;
	}
	if (choice->uses_uprobes && options->probe_way != GT_PROBE_WAY_BOTH)
		return 0;
	if (options->probe_way == GT_PROBE_WAY_AUTO && choice->rights.obstacle.cause)
		gt_debug("the agent watches the GIL: %s", choice->rights.obstacle.cause);
	choice->uses_agent = gt_probe_find_agent(python, &choice->agent_file, &obstacle) == 0;
	if (!choice->uses_agent)
		gt_probe_warn_without_agent(options, choice, &obstacle);
	return 0;
}

void gt_probe_choice_clear(struct gt_probe_choice *choice)
{
	gt_rights_clear(&choice->rights);
	gt_agent_file_clear(&choice->agent_file);
	*choice = (struct gt_probe_choice){0};
}
