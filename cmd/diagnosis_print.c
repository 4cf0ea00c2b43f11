/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "cmd/diagnosis.h"
#include "elf/elf_file.h"

/* "no" is what does not work, and need not, as another way does. */
static void print_row(const char *name, bool ok, bool is_needed)
{
	printf("%-12s %-7s ", name, ok ? "ok" : is_needed ? "FAILED" : "no");
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

/* The same with its first line in the row itself. */
static void print_failure(const char *problem)
{
	size_t length = problem ? strcspn(problem, "\n") : 0;

	if (length == 0) {
		puts("it cannot be told why");
		return;
	}
	printf("%.*s\n", (int)length, problem);
	print_problem(problem[length] ? problem + length + 1 : NULL);
}

static void print_obstacle(const struct gt_obstacle *obstacle)
{
	_cleanup_free_ char *text = gt_obstacle_text(obstacle);

	print_problem(text);
}

static void print_rights(const struct gt_diagnosis *diagnosis)
{
	const struct gt_rights *rights = &diagnosis->rights;
	bool any = false, has;
	const char *name;

	print_row("rights", rights->can_probe, !diagnosis->by_agent.ok);
	printf("user %" PRIu32, rights->uid);
	for (size_t i = 0; (name = gt_rights_capability(rights, i, &has)); i++) {
		if (!has)
			continue;
		printf(", %s", name);
		any = true;
	}
	printf("%s\n", any ? "" : ", no capabilities");
	if (rights->has_paranoid)
		printf("%21sperf_event_paranoid is %d\n", "", rights->paranoid);
	if (rights->is_filtered)
		printf("%21sa seccomp filter looks at the system calls\n", "");
	printf("%21stracefs: %s\n", "", rights->tracefs ? rights->tracefs : "none");
	print_obstacle(&rights->obstacle);
}

static void print_events(const struct gt_diagnosis *diagnosis)
{
	bool any = false;

	for (enum gt_event_kind kind = 0; kind < GT_EVENT_KINDS; kind++)
		any |= diagnosis->events[kind];
	print_row("events", any, !diagnosis->by_agent.ok);
	for (enum gt_event_kind kind = 0; kind < GT_EVENT_KINDS; kind++)
		printf("%s%s%s", kind ? ", " : "", diagnosis->events[kind] ? "" : "no ",
		       gt_event_kind_name(kind));
	putchar('\n');
}

/* With --state-detect. */
static void print_states(const struct gt_diagnosis *diagnosis)
{
	bool works = diagnosis->events[GT_EVENT_KIND_CONTEXT_SWITCH];

	print_row("states", works && diagnosis->can_record_stacks, false);
	if (works)
		printf("on/off CPU, %s\n",
		       diagnosis->can_record_stacks
			       ? "reasons of sleeps, stacks, wake-ups"
			       : "no reasons of sleeps, no stacks, no wake-ups");
	else
		puts("no on/off CPU");
	print_obstacle(works ? &diagnosis->stack_obstacle : &diagnosis->state_obstacle);
}

static void print_python(const struct gt_diagnosis *diagnosis)
{
	const struct gt_interpreter *interpreter = &diagnosis->python.interpreter;
	const struct gt_elf *elf = diagnosis->python.elf;
	const struct gt_gil_sites *sites = &diagnosis->python.sites;

	print_row("python", diagnosis->has_python, true);
	if (!diagnosis->has_python) {
		print_failure(diagnosis->python_problem);
		return;
	}
	printf("%s, %s\n", interpreter->version, interpreter->program);
	printf("%21sthe GIL is in %s, %s\n", "", gt_interpreter_gil_file(interpreter),
	       gt_elf_is_stripped(elf) ? "stripped" : "not stripped");
	printf("%21sbuild-id %s\n", "", gt_elf_build_id(elf)[0] ? gt_elf_build_id(elf) : "none");
	if (diagnosis->python.is_free_threaded)
		printf("%21sfree-threaded, and its GIL is %s\n", "",
		       interpreter->is_gil_enabled ? "on" : "off");
	print_row("sites", diagnosis->has_sites, true);
	if (!diagnosis->has_sites) {
		print_failure(diagnosis->python_problem);
		return;
	}
	printf("found by %s:", sites->found_by);
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		printf("%s %" PRIu32 " %s", kind ? "," : "", sites->offsets[kind].count,
		       gt_gil_site_name(kind));
	putchar('\n');
}

static void print_agent(const struct gt_diagnosis *diagnosis)
{
	_cleanup_free_ char *text = gt_obstacle_text(&diagnosis->agent_obstacle);

	if (!diagnosis->has_sites)
		return;
	print_row("agent", diagnosis->can_use_agent, !diagnosis->by_uprobes.ok);
	if (!diagnosis->can_use_agent) {
		print_failure(text);
		return;
	}
	printf("%s\n", diagnosis->agent_file.path);
	print_problem(text);
}

static void print_way(const struct gt_calibration *calibration, const char *way, bool is_first)
{
	printf("%*s%s: ", is_first ? 0 : 21, "", way);
	if (!calibration->has_run) {
		puts(calibration->problem ? "it did not run" : "not run, because of the above");
	} else {
		printf("%sthe GIL was held for %" PRIu64 " of %" PRIu64 " ms\n",
		       calibration->ok ? "" : "not as it should be: ",
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
	print_row("kernel", true, true);
	printf("%s %s on %s\n", diagnosis->kernel.sysname, diagnosis->kernel.release,
	       diagnosis->kernel.machine);
	print_rights(diagnosis);
	print_events(diagnosis);
	print_states(diagnosis);
	print_python(diagnosis);
	print_agent(diagnosis);
	print_row("calibration", diagnosis->ok, true);
	print_way(&diagnosis->by_uprobes, "with the kernel's probes", true);
	print_way(&diagnosis->by_agent, "with the agent", false);
	if (!diagnosis->ok)
		puts("\ngiltrace cannot trace this Python: see what FAILED.");
	else if (diagnosis->rights.can_probe && !diagnosis->by_uprobes.ok)
		puts("\ngiltrace can trace this Python, with --probe agent.");
	else
		puts("\ngiltrace can trace this Python.");
	return ferror(stdout) || fflush(stdout) ? -EIO : 0;
}
