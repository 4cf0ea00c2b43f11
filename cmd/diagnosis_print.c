/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/time.h"
#include "cmd/diagnosis.h"
#include "elf/elf_file.h"
#include "python/gil_sites_json.h"

/* Those that have to do with tracing. */
static const struct {
	const char *name;
	int bit;
} capabilities[] = {
	{"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
	{"CAP_PERFMON", CAP_PERFMON},
	{"CAP_SYS_PTRACE", CAP_SYS_PTRACE},
	{"CAP_IPC_LOCK", CAP_IPC_LOCK},
};

static bool has_capability(const struct gt_diagnosis *diagnosis, int bit)
{
	return diagnosis->capabilities >> bit & 1;
}

static void print_row(const char *name, bool ok)
{
	printf("%-12s %-7s ", name, ok ? "ok" : "FAILED");
}

/* What went wrong and what to do, indented below its row. */
static void print_problem(const char *problem)
{
	static const char indent[] = "                     ";

	while (problem && *problem) {
		size_t length = strcspn(problem, "\n");

		printf("%s%.*s\n", indent, (int)length, problem);
		problem += length + (problem[length] == '\n');
	}
}

static void print_rights(const struct gt_diagnosis *diagnosis)
{
	bool any = false;

	print_row("rights", diagnosis->can_probe);
	printf("user %" PRIu32, diagnosis->uid);
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		if (!has_capability(diagnosis, capabilities[i].bit))
			continue;
		printf(", %s", capabilities[i].name);
		any = true;
	}
	printf("%s\n", any ? "" : ", no capabilities");
	if (diagnosis->has_paranoid)
		printf("%21sperf_event_paranoid is %d\n", "", diagnosis->paranoid);
	printf("%21stracefs: %s\n", "", diagnosis->tracefs ? diagnosis->tracefs : "none");
	print_problem(diagnosis->rights_problem);
}

static void print_events(const struct gt_diagnosis *diagnosis)
{
	bool any = false;

	for (enum gt_event_kind kind = 0; kind < GT_EVENT_KINDS; kind++)
		any |= diagnosis->events[kind];
	print_row("events", any);
	for (enum gt_event_kind kind = 0; kind < GT_EVENT_KINDS; kind++)
		printf("%s%s%s", kind ? ", " : "", diagnosis->events[kind] ? "" : "no ",
		       gt_event_kind_name(kind));
	putchar('\n');
	if (!any)
		print_problem("perf_event_open is refused altogether\n"
			      "  allow it: docker run --privileged, or a lower "
			      "kernel.perf_event_paranoid");
}

static void print_python(const struct gt_diagnosis *diagnosis)
{
	const struct gt_interpreter *interpreter = &diagnosis->python.interpreter;
	const struct gt_elf *elf = diagnosis->python.elf;
	const struct gt_gil_sites *sites = &diagnosis->python.sites;

	print_row("python", diagnosis->has_python);
	if (!diagnosis->has_python) {
		putchar('\n');
		print_problem(diagnosis->python_problem);
		return;
	}
	printf("%s, %s\n", interpreter->version, interpreter->program);
	printf("%21sthe GIL is in %s, %s\n", "", gt_interpreter_gil_file(interpreter),
	       gt_elf_is_stripped(elf) ? "stripped" : "not stripped");
	printf("%21sbuild-id %s\n", "", gt_elf_build_id(elf)[0] ? gt_elf_build_id(elf) : "none");
	if (diagnosis->python.is_free_threaded)
		printf("%21sfree-threaded, and its GIL is %s\n", "",
		       interpreter->is_gil_enabled ? "on" : "off");
	print_row("sites", diagnosis->has_sites);
	if (!diagnosis->has_sites) {
		putchar('\n');
		print_problem(diagnosis->python_problem);
		return;
	}
	printf("found by %s:", sites->found_by);
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		printf("%s %" PRIu32 " %s", kind ? "," : "", sites->offsets[kind].count,
		       gt_gil_site_name(kind));
	putchar('\n');
}

static void print_calibration(const struct gt_calibration *calibration)
{
	print_row("calibration", calibration->ok);
	if (!calibration->has_run && !calibration->problem) {
		printf("not run, because of the above\n");
		return;
	}
	if (!calibration->has_run) {
		putchar('\n');
	} else {
		printf("the GIL was held for %" PRIu64 " of %" PRIu64 " ms\n",
		       calibration->has_ns / GT_NS_PER_MS, calibration->wall_ns / GT_NS_PER_MS);
		gt_array_for_each (&calibration->threads, thread)
			printf("%21sthread %" PRIu32 ": %" PRIu64 " take, %" PRIu64
			       " acquired, %" PRIu64 " release\n",
			       "", thread->tid, thread->take, thread->acquired, thread->release);
	}
	print_problem(calibration->problem);
}

int gt_diagnosis_print(const struct gt_diagnosis *diagnosis)
{
	print_row("kernel", true);
	printf("%s %s on %s\n", diagnosis->kernel.sysname, diagnosis->kernel.release,
	       diagnosis->kernel.machine);
	print_rights(diagnosis);
	print_events(diagnosis);
	print_python(diagnosis);
	print_calibration(&diagnosis->calibration);
	printf("\n%s\n", diagnosis->ok ? "giltrace can trace this Python."
				       : "giltrace cannot trace this Python: see what FAILED.");
	return ferror(stdout) || fflush(stdout) ? -EIO : 0;
}

static json_t *rights_json(const struct gt_diagnosis *diagnosis)
{
	json_t *object = json_object(), *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
		if (has_capability(diagnosis, capabilities[i].bit))
			gt_json_append(&names, json_string(capabilities[i].name));
	gt_json_set(&object, "uid", gt_json_integer(diagnosis->uid));
	gt_json_set(&object, "capabilities", names);
	gt_json_set(&object, "perf_event_paranoid",
		    diagnosis->has_paranoid ? json_integer(diagnosis->paranoid) : json_null());
	gt_json_set(&object, "tracefs", gt_json_text(diagnosis->tracefs));
	gt_json_set(&object, "probes", json_boolean(diagnosis->can_probe));
	gt_json_set(&object, "problem", gt_json_text(diagnosis->rights_problem));
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

int gt_diagnosis_print_json(const struct gt_diagnosis *diagnosis)
{
	_cleanup_(json_decrefp) json_t *object = json_object();
	json_t *kernel = json_object();

	gt_json_set(&kernel, "release", gt_json_text(diagnosis->kernel.release));
	gt_json_set(&kernel, "machine", gt_json_text(diagnosis->kernel.machine));
	gt_json_set(&object, "kernel", kernel);
	gt_json_set(&object, "rights", rights_json(diagnosis));
	gt_json_set(&object, "events", events_json(diagnosis));
	gt_json_set(&object, "python", python_json(diagnosis));
	gt_json_set(&object, "sites", sites_json(diagnosis));
	gt_json_set(&object, "calibration", calibration_json(&diagnosis->calibration));
	gt_json_set(&object, "ok", json_boolean(diagnosis->ok));
	if (!object || json_dumpf(object, stdout, JSON_INDENT(2)) < 0)
		return -EIO;
	return putchar('\n') < 0 || fflush(stdout) ? -EIO : 0;
}
