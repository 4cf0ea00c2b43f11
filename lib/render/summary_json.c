/* SPDX-License-Identifier: MIT */
/* Integers in nanoseconds. A figure that is not known is null, and never 0. */
#include "render/summary_json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static json_t *python_json(const struct gt_report *report, const struct gt_process *process)
{
	const struct gt_python *python;
	json_t *object;

	if (process->python == GT_NONE)
		return json_null();
	python = &report->trace->pythons.items[process->python];
	object = json_object();
	gt_json_set(&object, "path",
		    gt_json_text(python->program ? python->program : python->path));
	gt_json_set(&object, "version", gt_json_text(python->version));
	gt_json_set(&object, "build_id",
		    gt_json_text(python->build_id[0] ? python->build_id : NULL));
	return object;
}

static json_t *gils_json(const struct gt_report *report, uint32_t process)
{
	json_t *array = json_array();

	for (uint32_t i = report->trace->processes.items[process].first_gil; i != GT_NONE;
	     i = report->trace->gils.items[i].next_in_process) {
		const struct gt_gil *gil = &report->trace->gils.items[i];
		char address[32];
		json_t *object;

		snprintf(address, sizeof(address), "0x%" PRIx64, gil->address);
		object = json_object();
		gt_json_set(&object, "id", gt_json_integer(i));
		gt_json_set(&object, "address", gt_json_text(address));
		gt_json_set(&object, "held_ns", gt_json_integer(report->stats->gils[i].held_ns));
		gt_json_set(&object, "waited_ns",
			    gt_json_integer(report->stats->gils[i].waited_ns));
		gt_json_append(&array, object);
	}
	return array;
}

/* What only those who watch the GIL can know. */
static json_t *figure_if(bool is_known, uint64_t figure)
{
	return is_known ? gt_json_integer(figure) : json_null();
}

/* Times by their reasons, those that there are. */
static json_t *reasons_json(const uint64_t ns[static GT_SLEEP_REASONS])
{
	json_t *object = json_object();

	for (enum gt_sleep_reason reason = 0; reason < GT_SLEEP_REASONS; reason++) {
		const char *name = gt_sleep_reason_name(reason);

		if (ns[reason] > 0)
			gt_json_set(&object, name ? name : "unexplained",
				    gt_json_integer(ns[reason]));
	}
	return object;
}

/*
 * running + runnable + sleep + disk + unknown = total, of which disk is in sleep as long as it is
 * null: context switches alone do not tell it. With stacks, each of these two is told by its
 * reasons besides.
 */
static json_t *state_json(const struct gt_report *report, const struct gt_thread_stats *stats,
			  bool knows_gil)
{
	bool has_stacks = report->stacks;
	json_t *object;

	if (!report->trace->has_states)
		return json_null();
	object = json_object();
	gt_json_set(&object, "running_ns", gt_json_integer(stats->running_ns));
	gt_json_set(&object, "runnable_ns", gt_json_integer(stats->runnable_ns));
	gt_json_set(&object, "sleep_ns", gt_json_integer(stats->sleep_ns));
	gt_json_set(&object, "sleep_gil_ns", figure_if(knows_gil, stats->sleep_gil_ns));
	gt_json_set(&object, "disk_ns", figure_if(has_stacks, stats->uninterruptible_ns));
	gt_json_set(&object, "unknown_ns", gt_json_integer(stats->state_unknown_ns));
	gt_json_set(&object, "sleep",
		    has_stacks ? reasons_json(stats->sleep_reason_ns) : json_null());
	gt_json_set(&object, "uninterruptible",
		    has_stacks ? reasons_json(stats->uninterruptible_reason_ns) : json_null());
	return object;
}

/* What is counted, by the order of the figures: the scheduler's, and the trace's counters. */
enum { COUNT_VOLUNTARY, COUNT_INVOLUNTARY, COUNT_MIGRATIONS, COUNTS_OF_SCHEDULER };

#define MAX_COUNTS (COUNTS_OF_SCHEDULER + GT_COUNTERS_MAX)

/* Negative: not known. */
struct counts {
	double values[MAX_COUNTS];
};

static struct counts counts_of(const struct gt_trace *trace, uint32_t index)
{
	const struct gt_thread *thread = &trace->threads.items[index];
	struct counts counts = {
		.values = {
			[COUNT_VOLUNTARY] = (double)thread->voluntary_switches,
			[COUNT_INVOLUNTARY] = (double)thread->involuntary_switches,
			[COUNT_MIGRATIONS] = trace->has_cpus ? (double)thread->migrations : -1,
		}};

	for (uint32_t i = 0; i < trace->counter_count; i++)
		counts.values[COUNTS_OF_SCHEDULER + i] = thread->counts[i];
	return counts;
}

/* "minor-faults" → "minor_faults". */
static void format_counter_key(const char *counter, char ret[static 64])
{
	bool is_time = strcmp(counter, "task-clock") == 0 || strcmp(counter, "cpu-clock") == 0;
	size_t length = 0;

	for (; counter[length] && length < 48; length++)
		ret[length] = isalnum((unsigned char)counter[length]) ? counter[length] : '_';
	strcpy(ret + length, is_time ? "_ns" : "");
}

static json_t *counts_json(const struct gt_trace *trace, const struct counts *counts)
{
	static const char *const keys[COUNTS_OF_SCHEDULER] = {
		[COUNT_VOLUNTARY] = "voluntary_switches",
		[COUNT_INVOLUNTARY] = "involuntary_switches",
		[COUNT_MIGRATIONS] = "migrations",
	};
	json_t *object = json_object();

	for (uint32_t i = 0; i < COUNTS_OF_SCHEDULER + trace->counter_count; i++) {
		double value = counts->values[i];
		char key[64];

		if (i < COUNTS_OF_SCHEDULER)
			strcpy(key, keys[i]);
		else
			format_counter_key(trace->counters[i - COUNTS_OF_SCHEDULER], key);
		gt_json_set(&object, key,
			    value < 0 ? json_null() : gt_json_integer((uint64_t)(value + 0.5)));
	}
	return object;
}

static json_t *thread_counters_json(const struct gt_report *report, uint32_t index)
{
	struct counts counts = counts_of(report->trace, index);

	return report->trace->has_states ? counts_json(report->trace, &counts) : json_null();
}

/* The sums over the threads that are shown, where all of them are known. */
static json_t *all_counters_json(const struct gt_report *report)
{
	const struct gt_trace *trace = report->trace;
	struct counts sums = {0};

	if (!trace->has_states)
		return json_null();
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		struct counts counts = counts_of(trace, i);

		if (!gt_report_shows_process(report, trace->threads.items[i].process))
			continue;
		for (uint32_t j = 0; j < MAX_COUNTS; j++) {
			bool is_known = counts.values[j] >= 0 && sums.values[j] >= 0;

			sums.values[j] = is_known ? sums.values[j] + counts.values[j] : -1;
		}
	}
	return counts_json(trace, &sums);
}

static json_t *thread_json(const struct gt_report *report, uint32_t index)
{
	const struct gt_thread *thread = &report->trace->threads.items[index];
	const struct gt_thread_stats *stats = &report->stats->threads[index];
	const struct gt_process *process = &report->trace->processes.items[thread->process];
	bool is_known = gt_report_knows_thread(report, index);
	/* Of no wait at all there is none that was the longest. */
	bool has_waits = is_known && stats->waits > 0;
	json_t *object = json_object();

	gt_json_set(&object, "tid", gt_json_integer(thread->tid));
	gt_json_set(&object, "name", gt_json_text(thread->name));
	gt_json_set(&object, "main", json_boolean(thread->tid == process->pid));
	gt_json_set(&object, "start_ns", gt_json_integer(thread->start_ns));
	gt_json_set(&object, "end_ns", gt_json_integer(thread->end_ns));
	gt_json_set(&object, "total_ns", gt_json_integer(thread->end_ns - thread->start_ns));
	gt_json_set(&object, "no_gil_ns", figure_if(is_known, stats->no_ns));
	gt_json_set(&object, "has_gil_ns", figure_if(is_known, stats->has_ns));
	gt_json_set(&object, "gil_wait_ns", figure_if(is_known, stats->wait_ns));
	gt_json_set(&object, "unknown_ns",
		    figure_if(gt_report_knows_waits(report), stats->unknown_ns));
	gt_json_set(&object, "acquired", figure_if(is_known, thread->acquired));
	gt_json_set(&object, "contended", figure_if(is_known, thread->contended));
	/* Every return of drop_gil is seen then, and not only those that were asked for. */
	gt_json_set(&object, "switched",
		    gt_report_is_estimate(report) ? json_null()
						  : figure_if(is_known, thread->switched));
	gt_json_set(&object, "wait_max_ns", figure_if(has_waits, stats->wait_max_ns));
	gt_json_set(&object, "wait_p50_ns", figure_if(has_waits, stats->wait_p50_ns));
	gt_json_set(&object, "wait_p99_ns", figure_if(has_waits, stats->wait_p99_ns));
	gt_json_set(&object, "state",
		    state_json(report, stats, gt_report_knows_gil_sleep(report, index)));
	gt_json_set(&object, "counters", thread_counters_json(report, index));
	return object;
}

static json_t *threads_json(const struct gt_report *report, uint32_t process)
{
	json_t *array = json_array();

	for (uint32_t i = report->trace->processes.items[process].first_thread; i != GT_NONE;
	     i = report->trace->threads.items[i].next_in_process)
		gt_json_append(&array, thread_json(report, i));
	return array;
}

static json_t *processes_json(const struct gt_report *report)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < report->trace->processes.count; i++) {
		const struct gt_process *process = &report->trace->processes.items[i];
		json_t *object;

		if (!gt_report_shows_process(report, i))
			continue;
		object = json_object();
		gt_json_set(&object, "pid", gt_json_integer(process->pid));
		gt_json_set(&object, "ppid",
			    process->ppid ? gt_json_integer(process->ppid) : json_null());
		gt_json_set(&object, "command", gt_json_text(process->command));
		gt_json_set(&object, "python", python_json(report, process));
		gt_json_set(
			&object, "resident_max_bytes",
			figure_if(process->resident_max_bytes > 0, process->resident_max_bytes));
		gt_json_set(&object, "gils", gils_json(report, i));
		gt_json_set(&object, "threads", threads_json(report, i));
		gt_json_append(&array, object);
	}
	return array;
}

static json_t *blame_json(const struct gt_report *report)
{
	const struct gt_trace *trace = report->trace;
	json_t *array = json_array();

	for (uint32_t i = 0; i < report->stats->blame.count; i++) {
		const struct gt_blame *blame = &report->stats->blame.items[i];
		const struct gt_thread *waiter = &trace->threads.items[blame->waiter];
		json_t *object = json_object();

		gt_json_set(&object, "pid",
			    gt_json_integer(trace->processes.items[waiter->process].pid));
		gt_json_set(&object, "waiter", gt_json_integer(waiter->tid));
		gt_json_set(&object, "holder",
			    blame->holder == GT_NONE
				    ? json_null()
				    : gt_json_integer(trace->threads.items[blame->holder].tid));
		gt_json_set(&object, "ns", gt_json_integer(blame->ns));
		gt_json_append(&array, object);
	}
	return array;
}

static json_t *compared_json(const uint64_t counts[static GT_COMPARED_KINDS])
{
	json_t *object = json_object();

	gt_json_set(&object, "acquired", gt_json_integer(counts[GT_COMPARED_ACQUIRED]));
	gt_json_set(&object, "release", gt_json_integer(counts[GT_COMPARED_RELEASE]));
	gt_json_set(&object, "switched", gt_json_integer(counts[GT_COMPARED_SWITCHED]));
	return object;
}

static json_t *comparison_json(const struct gt_comparison *comparison)
{
	json_t *object = json_object(), *threads = json_array();
	bool has_pairs = comparison->paired > 0;

	gt_array_for_each (&comparison->threads, thread) {
		json_t *item = json_object();

		gt_json_set(&item, "pid", gt_json_integer(thread->pid));
		gt_json_set(&item, "tid", gt_json_integer(thread->tid));
		gt_json_set(&item, "uprobe", compared_json(thread->counts[GT_COMPARED_UPROBE]));
		gt_json_set(&item, "agent", compared_json(thread->counts[GT_COMPARED_AGENT]));
		gt_json_append(&threads, item);
	}
	gt_json_set(&object, "threads", threads);
	gt_json_set(&object, "paired", gt_json_integer(comparison->paired));
	gt_json_set(&object, "within_20us", gt_json_integer(comparison->within_20us));
	gt_json_set(&object, "median_ns",
		    has_pairs ? gt_json_integer(comparison->median_ns) : json_null());
	gt_json_set(&object, "max_ns",
		    has_pairs ? gt_json_integer(comparison->max_ns) : json_null());
	gt_json_set(&object, "only_uprobe", gt_json_integer(comparison->only[GT_COMPARED_UPROBE]));
	gt_json_set(&object, "only_agent", gt_json_integer(comparison->only[GT_COMPARED_AGENT]));
	return object;
}

json_t *gt_summary_json_new(const struct gt_report *report, bool has_blame)
{
	const struct gt_report_meta *meta = report->meta;
	const struct gt_trace *trace = report->trace;
	json_t *object = json_object();

	gt_json_set(&object, "schema", json_integer(1));
	gt_json_set(&object, "giltrace", json_string(GILTRACE_VERSION));
	gt_json_set(&object, "command", gt_json_texts(meta->command));
	gt_json_set(&object, "clock", gt_json_text(meta->clock));
	gt_json_set(&object, "start_ns", gt_json_integer(trace->start_ns));
	gt_json_set(&object, "end_ns", gt_json_integer(trace->end_ns));
	gt_json_set(&object, "exit_status", gt_json_integer_or_null(meta->exit_status));
	gt_json_set(&object, "probe", gt_json_text(meta->probe));
	gt_json_set(&object, "found_by", gt_json_text(meta->found_by));
	gt_json_set(&object, "events", gt_json_integer(trace->events));
	gt_json_set(&object, "lost", gt_json_integer(trace->lost));
	gt_json_set(&object, "inferred", gt_json_integer(trace->inferred));
	gt_json_set(&object, "state_lost",
		    trace->has_states ? gt_json_integer(trace->state_lost) : json_null());
	gt_json_set(&object, "wakeups_lost", figure_if(trace->has_wakeups, trace->wakeups_lost));
	gt_json_set(&object, "sleeps_compared", figure_if(report->stacks, trace->sleeps_compared));
	gt_json_set(&object, "sleeps_disagreed",
		    figure_if(report->stacks, trace->sleeps_disagreed));
	gt_json_set(&object, "counters", all_counters_json(report));
	gt_json_set(&object, "probe_cost_ns", gt_json_integer_or_null(meta->probe_cost_ns));
	gt_json_set(&object, "kept_ns", figure_if(meta->kept_ns > 0, meta->kept_ns));
	gt_json_set(&object, "processes", processes_json(report));
	gt_json_set(&object, "blame", has_blame ? blame_json(report) : json_array());
	if (meta->comparison)
		gt_json_set(&object, "comparison", comparison_json(meta->comparison));
	return object;
}

int gt_render_summary_json(const struct gt_report *report, struct gt_sink *sink)
{
	_cleanup_(json_decrefp) json_t *object = gt_summary_json_new(report, true);
	_cleanup_free_ char *text = NULL;

	if (!object)
		return -ENOMEM;
	text = json_dumps(object, JSON_INDENT(2));
	if (!text)
		return -ENOMEM;
	gt_sink_puts(sink, text);
	gt_sink_puts(sink, "\n");
	return 0;
}
