/* SPDX-License-Identifier: MIT */
#include "render/summary_states.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/io.h"
#include "base/strings.h"
#include "render/summary_text.h"

#define USUAL_COLUMNS UINT32_C(80)
/* Of a line of the table, before the thread's name. */
#define FIGURES_COLUMNS 46
/* As long as the kernel's names are. */
#define NAME_COLUMNS 15

/* The longest of the names that are shown, if that is not longer than names are. */
static uint32_t find_name_columns(const struct gt_report *report)
{
	uint32_t most = strlen("name");

	gt_array_for_each (&report->trace->threads, thread) {
		if (!gt_report_shows_process(report, thread->process))
			continue;
		_cleanup_free_ char *name = gt_terminal_dup(thread->name, strlen(thread->name));

		most = GT_MAX(most, name ? gt_text_columns(name) : 0);
	}
	return GT_MIN(most, (uint32_t)NAME_COLUMNS);
}

static enum gt_sleep_reason find_most(const uint64_t ns[static GT_SLEEP_REASONS])
{
	enum gt_sleep_reason most = GT_SLEEP_UNEXPLAINED;

	for (enum gt_sleep_reason reason = 0; reason < GT_SLEEP_REASONS; reason++)
		if (ns[reason] > ns[most])
			most = reason;
	return most;
}

/*
 * "lock 40.1 sleep 12.0": most first, as many as there is room for. The GIL has its own column;
 * where that cannot tell all, what some stacks tell is among the others.
 */
static char *list_reasons(const struct gt_thread_stats *stats, uint64_t known_ns,
			  bool has_gil_column, uint32_t room)
{
	uint64_t ns[GT_SLEEP_REASONS];
	char *list = strdup("");

	memcpy(ns, stats->sleep_reason_ns, sizeof(ns));
	ns[GT_SLEEP_UNEXPLAINED] = 0;
	if (has_gil_column)
		ns[GT_SLEEP_GIL] = 0;
	for (enum gt_sleep_reason reason; list && (reason = find_most(ns)) != GT_SLEEP_UNEXPLAINED;
	     ns[reason] = 0) {
		_cleanup_free_ char *shorter = list;
		char percent[GT_TEXT_SIZE];

		/* What would be 0.0. */
		if (ns[reason] < known_ns / 2000)
			return GT_STEAL(shorter);
		list = gt_format("%s%s%s %s", shorter, *shorter ? " " : "",
				 gt_sleep_reason_name(reason),
				 gt_text_percent(ns[reason], known_ns, percent));
		if (!list || gt_text_columns(list) <= room)
			continue;
		free(list);
		return GT_STEAL(shorter);
	}
	return list;
}

static void write_thread(const struct gt_report *report, uint32_t index, uint32_t name_columns,
			 struct gt_sink *sink)
{
	const struct gt_thread *thread = &report->trace->threads.items[index];
	const struct gt_thread_stats *stats = &report->stats->threads[index];
	const struct gt_process *process = &report->trace->processes.items[thread->process];
	uint64_t known_ns = thread->end_ns - thread->start_ns - stats->state_unknown_ns;
	bool knows_gil_sleep = gt_report_knows_gil_sleep(report, index);
	uint64_t known_gil_ns = knows_gil_sleep ? known_ns : 0;
	uint32_t columns = report->columns ? report->columns : USUAL_COLUMNS;
	_cleanup_free_ char *name = gt_terminal_dup(thread->name, strlen(thread->name));
	uint32_t width = name ? GT_MAX(gt_text_columns(name), name_columns) : 0;
	uint32_t used = FIGURES_COLUMNS + width + 1;
	_cleanup_free_ char *reasons =
		report->stacks && columns > used
			? list_reasons(stats, known_ns, knows_gil_sleep, columns - used)
			: NULL;
	int padding = reasons && *reasons ? (int)(width + 1 - gt_text_columns(name)) : 0;
	char running[GT_TEXT_SIZE], runnable[GT_TEXT_SIZE], sleeping[GT_TEXT_SIZE],
		for_gil[GT_TEXT_SIZE], disk[GT_TEXT_SIZE];

	gt_text_write_line(
		report, sink, "%7" PRIu32 "%c %8s %9s %5s %5s %5s %s%*s%s", thread->tid,
		thread->tid == process->pid ? '*' : ' ',
		gt_text_percent(stats->running_ns, known_ns, running),
		gt_text_percent(stats->runnable_ns, known_ns, runnable),
		gt_text_percent(stats->sleep_ns, known_ns, sleeping),
		gt_text_percent(stats->sleep_gil_ns, known_gil_ns, for_gil),
		gt_text_percent(stats->uninterruptible_ns, report->stacks ? known_ns : 0, disk),
		name ? name : "", padding, "", reasons ? reasons : "");
}

static void write_head(const struct gt_report *report, uint32_t name_columns, struct gt_sink *sink)
{
	const char *reasons = report->stacks ? "slept for, %" : "";

	gt_sink_puts(sink, "\nOn and off CPU:\n"
			   "                            sleeping\n");
	gt_text_write_line(report, sink,
			   "    PID  running%% runnable%%  all%%  GIL%% disk%% %-*s%s",
			   *reasons ? (int)name_columns + 1 : 0, "name", reasons);
	gt_sink_puts(sink, "-------- -------- --------- ----- ----- ----- ----");
	for (uint32_t i = strlen("name"); *reasons && i < name_columns; i++)
		gt_sink_puts(sink, "-");
	gt_sink_puts(sink, *reasons ? " ------------\n" : "\n");
}

void gt_summary_write_states(const struct gt_report *report, struct gt_sink *sink)
{
	const struct gt_trace *trace = report->trace;
	uint32_t name_columns = find_name_columns(report);

	if (!trace->has_states)
		return;
	write_head(report, name_columns, sink);
	for (uint32_t i = 0; i < trace->processes.count; i++) {
		if (!gt_report_shows_process(report, i))
			continue;
		for (uint32_t j = trace->processes.items[i].first_thread; j != GT_NONE;
		     j = trace->threads.items[j].next_in_process)
			write_thread(report, j, name_columns, sink);
	}
}

/* How much all processes that are shown had at once, at most. */
static uint64_t find_most_memory(const struct gt_report *report)
{
	const struct gt_trace *trace = report->trace;
	_cleanup_free_ uint64_t *bytes = calloc((size_t)trace->processes.count + 1, sizeof(*bytes));
	uint64_t sum = 0, most = 0;

	if (!bytes)
		return 0;
	gt_array_for_each (&trace->memory, point) {
		if (!gt_report_shows_process(report, point->process))
			continue;
		sum += point->resident_bytes - bytes[point->process];
		bytes[point->process] = point->resident_bytes;
		most = GT_MAX(most, sum);
	}
	return most;
}

/* Of all threads that are shown, and whether each of them tells; false when none does. */
static bool sum_counter(const struct gt_report *report, uint32_t counter, double *ret,
			bool *ret_is_whole)
{
	bool is_told = false;

	*ret = 0;
	*ret_is_whole = true;
	gt_array_for_each (&report->trace->threads, thread) {
		bool tells = thread->counts[counter] >= 0;

		if (!gt_report_shows_process(report, thread->process))
			continue;
		*ret += tells ? thread->counts[counter] : 0;
		*ret_is_whole &= tells;
		is_told |= tells;
	}
	return is_told;
}

/* Adds TEXT, which is taken, behind a comma. */
static void append(char **list, char *text)
{
	_cleanup_free_ char *before = *list, *item = text;

	*list = before && item ? gt_format("%s%s%s", before, *before ? ", " : "", item) : NULL;
}

static void append_switches(const struct gt_report *report, char **list)
{
	uint64_t voluntary = 0, involuntary = 0, migrations = 0;
	char text[GT_TEXT_SIZE], more[GT_TEXT_SIZE];

	gt_array_for_each (&report->trace->threads, thread) {
		if (!gt_report_shows_process(report, thread->process))
			continue;
		voluntary += thread->voluntary_switches;
		involuntary += thread->involuntary_switches;
		migrations += thread->migrations;
	}
	if (voluntary + involuntary == 0)
		return;
	append(list, gt_format("%s voluntary and %s involuntary context switches",
			       gt_text_digits(voluntary, text), gt_text_digits(involuntary, more)));
	if (report->trace->has_cpus)
		append(list, gt_format("%s migration%s", gt_text_digits(migrations, text),
				       migrations == 1 ? "" : "s"));
}

static void append_counters(const struct gt_report *report, char **list)
{
	const struct gt_trace *trace = report->trace;
	char text[GT_TEXT_SIZE];
	bool is_whole;
	double sum;

	for (uint32_t i = 0; i < trace->counter_count; i++) {
		const char *name = trace->counters[i];
		_cleanup_free_ char *visible = gt_terminal_dup(name, strlen(name));
		const char *least;

		if (!visible || !sum_counter(report, i, &sum, &is_whole))
			continue;
		least = is_whole ? "" : "at least ";
		for (char *c = visible; *c; c++)
			if (*c == '-')
				*c = ' ';
		/* Two of them count nanoseconds. */
		if (gt_string_ends_with(name, "-clock")) {
			bool is_task = strcmp(name, "task-clock") == 0;

			append(list, gt_format("%s%s %s", least, gt_text_ns((uint64_t)sum, text),
					       is_task ? "on CPU" : visible));
			continue;
		}
		if (sum == 1 && gt_string_ends_with(visible, "s"))
			visible[strlen(visible) - 1] = '\0';
		append(list,
		       gt_format("%s%s %s", least, gt_text_digits((uint64_t)sum, text), visible));
	}
}

void gt_summary_write_counts(const struct gt_report *report, struct gt_sink *sink)
{
	_cleanup_free_ char *list = strdup("");
	uint64_t bytes = find_most_memory(report);

	append_switches(report, &list);
	append_counters(report, &list);
	if (bytes > 0)
		append(&list, gt_format("%.1f MiB of memory at most", (double)bytes / (1 << 20)));
	if (list && *list)
		gt_text_write_wrapped(report, sink, "\nCounted: %s.", list);
}
