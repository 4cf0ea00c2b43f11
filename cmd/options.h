/* SPDX-License-Identifier: MIT */
/* The command line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "record/pass.h"
#include "render/folded.h"

enum gt_verb { GT_VERB_RUN, GT_VERB_RECORD, GT_VERB_REPORT, GT_VERB_PROBE, GT_VERB_DOCTOR };

enum gt_probe_action { GT_PROBE_ADD, GT_PROBE_LIST, GT_PROBE_DELETE };

/* How the GIL is made visible. */
enum gt_probe_way {
	GT_PROBE_WAY_AUTO, /* uprobes with the rights for them, else the agent */
	GT_PROBE_WAY_UPROBE,
	GT_PROBE_WAY_AGENT,
	GT_PROBE_WAY_BOTH, /* to compare them */
};

/* What the agent reads the time from. */
enum gt_clock_choice {
	GT_CLOCK_CHOICE_AUTO, /* the faster one, where it can be trusted */
	GT_CLOCK_CHOICE_TSC,
	GT_CLOCK_CHOICE_MONOTONIC,
};

struct gt_options {
	enum gt_verb verb;
	GT_ARRAY(const char *) outputs; /* -o */
	const char *summary_json;
	const char *directory; /* of the trace: --keep-data, or what to report */
	const char *python;
	uint64_t buffer_bytes; /* of each CPU's ring, or that all agents share; 0: not given */
	enum gt_probe_way probe_way;
	enum gt_clock_choice agent_clock;
	uint64_t flight_recorder_ns; /* keep the newest only; 0: keep all */
	bool gil_detect;
	bool state_detect;
	bool no_state_detect; /* it was asked for */
	bool has_call_graph;  /* it was given */
	enum gt_call_graph call_graph;
	uint32_t stack_bytes;			   /* 0: not given */
	GT_ARRAY(struct gt_pass_counter) counters; /* --counters */
	enum gt_folded_kind folded;		   /* report */
	bool quiet;
	bool json;			   /* doctor */
	enum gt_probe_action probe_action; /* probe */
	const char *group;		   /* likewise; NULL: not given */
	/* What to run: one of the first three, and its arguments (NULL-terminated). */
	const char *script;
	const char *module;
	const char *code;
	char *const *arguments;
};

/*
 * Parses the command line: 1 to go on, 0 when it has been answered (--help, --version), or a
 * negative errno for one that is wrong (logged). Strings are those of ARGV. The caller clears RET.
 */
int gt_options_parse(int argc, char *argv[], struct gt_options *ret);
/* Whether NAME is one of the verbs, which are seen as such only in the first place. */
bool gt_options_is_verb(const char *name);

void gt_options_clear(struct gt_options *options);
