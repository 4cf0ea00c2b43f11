/* SPDX-License-Identifier: MIT */
/* What giltrace doctor finds out, and the two forms in which it tells. */
#pragma once

#include <stdbool.h>
#include <sys/utsname.h>

#include "cmd/agent_file.h"
#include "cmd/calibration.h"
#include "cmd/rights.h"
#include "cmd/traced_python.h"
#include "record/event_kinds.h"

struct gt_options;

struct gt_diagnosis {
	struct utsname kernel;
	struct gt_rights rights;
	bool events[GT_EVENT_KINDS];
	struct gt_obstacle state_obstacle; /* to recording context switches */
	bool can_record_stacks;		   /* with them, and wake-ups */
	struct gt_obstacle stack_obstacle;
	struct gt_traced_python python;
	bool has_python, has_sites;
	char *python_problem;
	struct gt_agent_file agent_file;
	bool can_use_agent;
	struct gt_obstacle agent_obstacle;
	struct gt_calibration by_uprobes, by_agent;
	bool ok; /* tracing will work, by one way at least */
};

/* Finds everything out, into DIAGNOSIS, which is empty before. The caller clears it. */
void gt_diagnose(const struct gt_options *options, struct gt_diagnosis *diagnosis);
void gt_diagnosis_clear(struct gt_diagnosis *diagnosis);

/* On stdout: a table for people, or one JSON object. 0 or a negative errno. */
int gt_diagnosis_print(const struct gt_diagnosis *diagnosis);
int gt_diagnosis_print_json(const struct gt_diagnosis *diagnosis);
