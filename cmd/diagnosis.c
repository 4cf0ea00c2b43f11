/* SPDX-License-Identifier: MIT */
#include "cmd/diagnosis.h"

#include <stdlib.h>

#include "base/log.h"
#include "cmd/options.h"
#include "cmd/probe_choice.h"

static void find_python(const struct gt_options *options, struct gt_diagnosis *diagnosis)
{
	struct gt_log_capture capture;

	gt_log_start_capture(&capture);
	diagnosis->has_sites = gt_traced_python_find(options, &diagnosis->python) == 0;
	diagnosis->has_python = diagnosis->python.elf != NULL;
	diagnosis->python_problem = gt_log_end_capture(&capture);
}

static void find_events(struct gt_diagnosis *diagnosis)
{
	for (enum gt_event_kind kind = 0; kind < GT_EVENT_KINDS; kind++) {
		int r = gt_event_kind_try(kind, diagnosis->rights.tracefs);

		diagnosis->events[kind] = r == 0;
		if (r < 0 && kind == GT_EVENT_KIND_CONTEXT_SWITCH)
			gt_rights_explain_perf(&diagnosis->rights, r, &diagnosis->state_obstacle);
	}
	diagnosis->can_record_stacks =
		gt_rights_find_tracepoints(&diagnosis->rights, &diagnosis->stack_obstacle) == 0;
}

void gt_diagnose(const struct gt_options *options, struct gt_diagnosis *diagnosis)
{
	const struct gt_traced_python *python = &diagnosis->python;

	(void)uname(&diagnosis->kernel);
	gt_rights_find(&diagnosis->rights, true);
	find_events(diagnosis);
	find_python(options, diagnosis);
	diagnosis->can_use_agent =
		diagnosis->has_sites && gt_probe_find_agent(python, &diagnosis->agent_file,
							    &diagnosis->agent_obstacle) == 0;
	if (diagnosis->rights.can_probe && diagnosis->has_sites)
		gt_calibrate(options, GT_PROBE_WAY_UPROBE, python->interpreter.is_gil_enabled,
			     &diagnosis->by_uprobes);
	if (diagnosis->can_use_agent)
		gt_calibrate(options, GT_PROBE_WAY_AGENT, python->interpreter.is_gil_enabled,
			     &diagnosis->by_agent);
	diagnosis->ok = diagnosis->by_uprobes.ok || diagnosis->by_agent.ok;
}

void gt_diagnosis_clear(struct gt_diagnosis *diagnosis)
{
	gt_traced_python_clear(&diagnosis->python);
	gt_calibration_clear(&diagnosis->by_uprobes);
	gt_calibration_clear(&diagnosis->by_agent);
	gt_agent_file_clear(&diagnosis->agent_file);
	gt_obstacle_clear(&diagnosis->agent_obstacle);
	gt_obstacle_clear(&diagnosis->state_obstacle);
	gt_obstacle_clear(&diagnosis->stack_obstacle);
	gt_rights_clear(&diagnosis->rights);
	free(diagnosis->python_problem);
	*diagnosis = (struct gt_diagnosis){0};
}
