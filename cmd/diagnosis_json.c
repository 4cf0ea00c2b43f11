/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "base/json.h"
#include "cmd/diagnosis.h"
#include "elf/elf_file.h"
#include "python/gil_sites_json.h"

static json_t *rights_json(const struct gt_diagnosis *diagnosis)
{
	const struct gt_rights *rights = &diagnosis->rights;
	_cleanup_free_ char *problem = gt_obstacle_text(&rights->obstacle);
	json_t *object = json_object(), *names = json_array();
	const char *name;
	bool has;

	for (size_t i = 0; (name = gt_rights_capability(rights, i, &has)); i++)
		if (has)
			gt_json_append(&names, json_string(name));
	gt_json_set(&object, "uid", gt_json_integer(rights->uid));
	gt_json_set(&object, "capabilities", names);
	gt_json_set(&object, "perf_event_paranoid",
		    rights->has_paranoid ? json_integer(rights->paranoid) : json_null());
	gt_json_set(&object, "seccomp", json_boolean(rights->is_filtered));
	gt_json_set(&object, "tracefs", gt_json_text(rights->tracefs));
	gt_json_set(&object, "probes", json_boolean(rights->can_probe));
	gt_json_set(&object, "problem", gt_json_text(problem));
	return object;
}

static json_t *events_json(const struct gt_diagnosis *diagnosis)
{
	json_t *object = json_object();

	for (enum gt_event_kind kind = 0; kind < GT_EVENT_KINDS; kind++)
		gt_json_set(&object, gt_event_kind_name(kind),
			    json_boolean(diagnosis->events[kind]));
	return object;
}

static json_t *states_json(const struct gt_diagnosis *diagnosis)
{
	_cleanup_free_ char *problem = gt_obstacle_text(&diagnosis->state_obstacle);
	_cleanup_free_ char *stack_problem = gt_obstacle_text(&diagnosis->stack_obstacle);
	json_t *object = json_object();

	gt_json_set(&object, "works",
		    json_boolean(diagnosis->events[GT_EVENT_KIND_CONTEXT_SWITCH]));
	gt_json_set(&object, "problem", gt_json_text(problem));
	gt_json_set(&object, "stacks", json_boolean(diagnosis->can_record_stacks));
	gt_json_set(&object, "stacks_problem", gt_json_text(stack_problem));
	return object;
}

static json_t *agent_json(const struct gt_diagnosis *diagnosis)
{
	_cleanup_free_ char *problem = gt_obstacle_text(&diagnosis->agent_obstacle);
	json_t *object = json_object();

	gt_json_set(&object, "works", json_boolean(diagnosis->can_use_agent));
	gt_json_set(&object, "file", gt_json_text(diagnosis->agent_file.path));
	gt_json_set(&object, "problem", gt_json_text(problem));
	return object;
}

static json_t *python_json(const struct gt_diagnosis *diagnosis)
{
	const struct gt_interpreter *interpreter = &diagnosis->python.interpreter;
	const struct gt_elf *elf = diagnosis->python.elf;
	json_t *object = json_object();

	gt_json_set(&object, "path", gt_json_text(interpreter->program));
	gt_json_set(&object, "library", gt_json_text(interpreter->library));
	gt_json_set(&object, "version", gt_json_text(interpreter->version));
	gt_json_set(&object, "build_id",
		    gt_json_text(elf && gt_elf_build_id(elf)[0] ? gt_elf_build_id(elf) : NULL));
	gt_json_set(&object, "stripped", elf ? json_boolean(gt_elf_is_stripped(elf)) : json_null());
	gt_json_set(&object, "free_threaded",
		    elf ? json_boolean(diagnosis->python.is_free_threaded) : json_null());
	gt_json_set(&object, "problem",
		    gt_json_text(diagnosis->has_sites ? NULL : diagnosis->python_problem));
	return object;
}

static json_t *sites_json(const struct gt_diagnosis *diagnosis)
{
	json_t *object;

	if (!diagnosis->has_sites)
		return json_null();
	object = json_object();
	gt_gil_sites_set_json(&object, &diagnosis->python.sites);
	gt_json_set(&object, "found_by", gt_json_text(diagnosis->python.sites.found_by));
	return object;
}

static json_t *calibration_json(const struct gt_calibration *calibration)
{
	json_t *object, *threads;

	if (!calibration->has_run && !calibration->problem)
		return json_null();
	object = json_object();
	threads = json_array();
	gt_array_for_each (&calibration->threads, thread) {
		json_t *counts = json_object();

		gt_json_set(&counts, "tid", gt_json_integer(thread->tid));
		gt_json_set(&counts, "take", gt_json_integer(thread->take));
		gt_json_set(&counts, "acquired", gt_json_integer(thread->acquired));
		gt_json_set(&counts, "release", gt_json_integer(thread->release));
		gt_json_append(&threads, counts);
	}
	gt_json_set(&object, "ok", json_boolean(calibration->ok));
	gt_json_set(&object, "has_ns", gt_json_integer(calibration->has_ns));
	gt_json_set(&object, "wall_ns", gt_json_integer(calibration->wall_ns));
	gt_json_set(&object, "lost", gt_json_integer(calibration->lost));
	gt_json_set(&object, "inferred", gt_json_integer(calibration->inferred));
	gt_json_set(&object, "threads", threads);
	gt_json_set(&object, "problem", gt_json_text(calibration->problem));
	return object;
}

static json_t *calibrations_json(const struct gt_diagnosis *diagnosis)
{
	json_t *object = json_object();

	gt_json_set(&object, "uprobe", calibration_json(&diagnosis->by_uprobes));
	gt_json_set(&object, "agent", calibration_json(&diagnosis->by_agent));
	return object;
}

int gt_diagnosis_print_json(const struct gt_diagnosis *diagnosis)
{
	_cleanup_(json_decrefp) json_t *object = json_object();
	json_t *kernel = json_object();

	gt_json_set(&kernel, "release", gt_json_text(diagnosis->kernel.release));
	gt_json_set(&kernel, "machine", gt_json_text(diagnosis->kernel.machine));
	gt_json_set(&object, "kernel", kernel);
	gt_json_set(&object, "rights", rights_json(diagnosis));
	gt_json_set(&object, "events", events_json(diagnosis));
	gt_json_set(&object, "states", states_json(diagnosis));
	gt_json_set(&object, "python", python_json(diagnosis));
	gt_json_set(&object, "sites", sites_json(diagnosis));
	gt_json_set(&object, "agent", agent_json(diagnosis));
	gt_json_set(&object, "calibration",
		    calibration_json(diagnosis->rights.can_probe ? &diagnosis->by_uprobes
								 : &diagnosis->by_agent));
	gt_json_set(&object, "calibrations", calibrations_json(diagnosis));
	gt_json_set(&object, "ok", json_boolean(diagnosis->ok));
	if (!object || json_dumpf(object, stdout, JSON_INDENT(2)) < 0)
		return -EIO;
	return putchar('\n') < 0 || fflush(stdout) ? -EIO : 0;
}
