/* SPDX-License-Identifier: MIT */
/* By which way a program's GIL is watched: what was asked for, and what can be had here. */
#pragma once

#include <stdbool.h>

#include "cmd/agent_file.h"
#include "cmd/rights.h"

struct gt_options;
struct gt_traced_python;

struct gt_probe_choice {
	/* Neither: it was not asked for, or there is no way, and the program runs without. */
	bool uses_uprobes, uses_agent;
	struct gt_rights rights;
	struct gt_agent_file agent_file; /* only where it is used */
};

/*
 * Chooses, into CHOICE, which is empty before; the caller clears it, also after a failure. Warns
 * when there will be no events, with the reason. -EPERM (logged) when uprobes were asked for by
 * name and cannot be had.
 */
int gt_probe_choose(const struct gt_options *options, const struct gt_traced_python *python,
		    struct gt_probe_choice *choice);
void gt_probe_choice_clear(struct gt_probe_choice *choice);

/*
 * Says that the agent does not watch the GIL, and why: the program runs all the same, as what it
 * does matters more than how.
 */
void gt_probe_warn_without_agent(const struct gt_options *options,
				 const struct gt_probe_choice *choice,
				 const struct gt_obstacle *obstacle);

/* "uprobe", "agent", "both" or "none", as files have it. */
const char *gt_probe_choice_name(bool uses_uprobes, bool uses_agent);

/*
 * Whether the agent can be loaded into this Python, and its file. A negative errno (not logged) if
 * not, with the reason in OBSTACLE. The caller clears FILE, also after a failure.
 */
int gt_probe_find_agent(const struct gt_traced_python *python, struct gt_agent_file *file,
			struct gt_obstacle *obstacle);
