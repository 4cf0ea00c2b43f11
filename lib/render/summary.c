/* SPDX-License-Identifier: MIT */
/* The table for people, made to fit a terminal of 80 columns. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/strings.h"
#include "render/report.h"
#include "render/summary_states.h"
#include "render/summary_text.h"

#define BLAME_ROWS 5

static void write_thread(const struct gt_report *report, uint32_t index, struct gt_sink *sink)
{
	const struct gt_thread *thread = &report->trace->threads.items[index];
	const struct gt_thread_stats *stats = &report->stats->threads[index];
	const struct gt_process *process = &report->trace->processes.items[thread->process];
	uint64_t total_ns = thread->end_ns - thread->start_ns;
	bool has_gil = gt_report_knows_thread(report, index);
	uint64_t known_ns = has_gil ? total_ns - stats->unknown_ns : 0;
	_cleanup_free_ char *name = gt_terminal_dup(thread->name, strlen(thread->name));
	char no[GT_TEXT_SIZE], has[GT_TEXT_SIZE], wait[GT_TEXT_SIZE], acquired[GT_TEXT_SIZE],
		contended[GT_TEXT_SIZE], p99[GT_TEXT_SIZE], max[GT_TEXT_SIZE];

	gt_text_write_line(report, sink,
			   "%7" PRIu32 "%c %9" PRIu64 " %7s %8s %9s %5s %5s %5s %5s %s",
			   thread->tid, thread->tid == process->pid ? '*' : ' ', total_ns / 1000,
			   gt_text_percent(stats->no_ns, known_ns, no),
			   gt_text_percent(stats->has_ns, known_ns, has),
			   gt_text_percent(stats->wait_ns, known_ns, wait),
			   has_gil ? gt_text_count(thread->acquired, acquired) : "-",
			   has_gil ? gt_text_count(thread->contended, contended) : "-",
			   has_gil && stats->waits ? gt_text_ns(stats->wait_p99_ns, p99) : "-",
			   has_gil && stats->waits ? gt_text_ns(stats->wait_max_ns, max) : "-",
			   name ? name : "");
}

static void write_table(const struct gt_report *report, struct gt_sink *sink)
{
	const struct gt_trace *trace = report->trace;

	gt_sink_puts(
		sink,
		"                                              acquired    wait\n"
		"    PID  total(us) no gil% has gil% gil wait%   all cont.   p99   max name\n"
		"-------- --------- ------- -------- --------- ----- ----- ----- ----- ----\n");
	for (uint32_t i = 0; i < trace->processes.count; i++) {
		if (!gt_report_shows_process(report, i))
			continue;
		for (uint32_t j = trace->processes.items[i].first_thread; j != GT_NONE;
		     j = trace->threads.items[j].next_in_process)
			write_thread(report, j, sink);
	}
}

/* "NAME (TID)"; the caller frees it. */
static char *describe_thread(const struct gt_report *report, uint32_t index)
{
	const struct gt_thread *thread = &report->trace->threads.items[index];
	_cleanup_free_ char *name = gt_terminal_dup(thread->name, strlen(thread->name));

	return name ? gt_format("%s (%" PRIu32 ")", name, thread->tid) : NULL;
}

static void write_blame(const struct gt_report *report, struct gt_sink *sink)
{
	const struct gt_stats *stats = report->stats;
	uint32_t rows = GT_MIN(stats->blame.count, (uint32_t)BLAME_ROWS);

	if (rows == 0)
		return;
	gt_sink_puts(sink, "\nWho waited for whom:\n");
	for (uint32_t i = 0; i < rows; i++) {
		const struct gt_blame *blame = &stats->blame.items[i];
		_cleanup_free_ char *waiter = describe_thread(report, blame->waiter);
		_cleanup_free_ char *holder = blame->holder == GT_NONE
						      ? strdup("nobody: it was free")
						      : describe_thread(report, blame->holder);
		char time[GT_TEXT_SIZE], percent[GT_TEXT_SIZE];

		gt_text_write_line(
			report, sink, "  %-25s %6s, %5s%% of its wait, for %s",
			waiter ? waiter : "", gt_text_ns(blame->ns, time),
			gt_text_percent(blame->ns, stats->threads[blame->waiter].wait_ns, percent),
			holder ? holder : "");
	}
	if (stats->blame.count > rows)
		gt_sink_printf(sink, "  and %" PRIu32 " more pairs\n", stats->blame.count - rows);
}

static uint64_t sum_unknown(const struct gt_report *report, uint64_t *ret_state_ns)
{
	uint64_t ns = 0;

	*ret_state_ns = 0;
	for (uint32_t i = 0; i < report->trace->threads.count; i++) {
		if (!gt_report_shows_process(report, report->trace->threads.items[i].process))
			continue;
		/* Where nobody has watched, that is said by its own. */
		if (gt_report_knows_waits(report))
			ns += report->stats->threads[i].unknown_ns;
		*ret_state_ns += report->stats->threads[i].state_unknown_ns;
	}
	return ns;
}

static void write_blind_spots(const struct gt_trace *trace, struct gt_sink *sink)
{
	uint32_t others = 0, not_watched = 0;

	gt_array_for_each (&trace->processes, process) {
		others += gt_report_has_other_python(trace, process);
		not_watched += process->not_watched;
	}
	if (others)
		gt_sink_printf(sink, "Not traced: %" PRIu32 " process%s that ran another Python.\n",
			       others, others == 1 ? "" : "es");
	if (not_watched)
		gt_sink_printf(sink,
			       "Not watched: %" PRIu32 " process%s whose Python did not load the "
			       "agent, or ended before it\n  used the GIL.\n",
			       not_watched, not_watched == 1 ? "" : "es");
}

/* Below a hundredth of the run it changes no figure that anybody would look at. */
static bool has_price(const struct gt_report *report)
{
	const struct gt_trace *trace = report->trace;

	return report->meta->probe_cost_ns > 0 &&
	       (uint64_t)report->meta->probe_cost_ns >= (trace->end_ns - trace->start_ns) / 100;
}

static bool has_caveats(const struct gt_report *report, uint64_t unknown_ns)
{
	const struct gt_trace *trace = report->trace;
	const struct gt_report_meta *meta = report->meta;

	gt_array_for_each (&trace->processes, process)
		if (gt_report_has_other_python(trace, process) || process->not_watched)
			return true;
	return trace->lost || trace->state_lost || trace->wakeups_lost || trace->inferred ||
	       trace->sleeps_disagreed || unknown_ns || meta->stacks_cut || meta->stacks_broken ||
	       meta->is_window || gt_report_is_estimate(report) || has_price(report);
}

/* What is wrong with being on and off CPU. */
static void write_state_caveats(const struct gt_report *report, uint64_t unknown_ns,
				struct gt_sink *sink)
{
	const struct gt_trace *trace = report->trace;
	const struct gt_report_meta *meta = report->meta;
	char text[GT_TEXT_SIZE], more[GT_TEXT_SIZE];

	if (trace->state_lost)
		gt_text_write_wrapped(report, sink,
				      "Lost: %" PRIu64 " records of being on and off CPU. A larger "
				      "--buffer-size may keep them.",
				      trace->state_lost);
	if (unknown_ns)
		gt_sink_printf(sink,
			       "Unknown: on or off CPU in %s of all threads' time, left out too.\n",
			       gt_text_ns(unknown_ns, text));
	if (trace->wakeups_lost)
		gt_text_write_wrapped(report, sink,
				      "Lost: %" PRIu64
				      " wake-ups. Some sleeps may seem to last until "
				      "the thread ran again.",
				      trace->wakeups_lost);
	if (trace->sleeps_disagreed)
		gt_text_write_wrapped(
			report, sink,
			"Stacks and probes disagree on %s of %s sleeps: whether they were for the "
			"GIL. The probes count.%s",
			gt_text_digits(trace->sleeps_disagreed, text),
			gt_text_digits(trace->sleeps_compared, more),
			meta->lacks_frame_pointers
				? " Frame pointers do not lead through all code; --call-graph "
				  "dwarf does."
				: "");
	if (meta->stacks_cut)
		gt_text_write_wrapped(
			report, sink,
			"Cut: %s of %s stacks went on behind what was copied of them. A "
			"larger --stack-size shows more.",
			gt_text_digits(meta->stacks_cut, text), gt_text_digits(meta->stacks, more));
	if (meta->stacks_broken)
		gt_text_write_wrapped(report, sink,
				      "Broken: %s of %s stacks could not be followed to their end.",
				      gt_text_digits(meta->stacks_broken, text),
				      gt_text_digits(meta->stacks, more));
}

/* What the figures do not cover, and what they cost. */
static void write_caveats(const struct gt_report *report, struct gt_sink *sink)
{
	const struct gt_trace *trace = report->trace;
	uint64_t state_unknown_ns;
	uint64_t unknown_ns = sum_unknown(report, &state_unknown_ns);
	char text[GT_TEXT_SIZE];

	if (has_caveats(report, unknown_ns + state_unknown_ns))
		gt_sink_puts(sink, "\n");
	if (report->meta->is_window)
		gt_sink_printf(sink,
			       "Only the newest %s were kept (--flight-recorder): lives are cut to "
			       "it.\n",
			       gt_text_ns(report->meta->kept_ns, text));
	if (gt_report_is_estimate(report))
		gt_sink_puts(sink,
			     "Estimates: the GIL was found by the returns of its functions.\n");
	if (trace->lost)
		gt_sink_printf(sink,
			       "Lost: %" PRIu64 " events. A larger --buffer-size may keep them.\n",
			       trace->lost);
	if (unknown_ns)
		gt_sink_printf(sink,
			       "Unknown: %s of all threads' time, left out of the percentages.\n",
			       gt_text_ns(unknown_ns, text));
	write_state_caveats(report, state_unknown_ns, sink);
	if (trace->inferred)
		gt_sink_printf(sink,
			       "Inferred: %" PRIu64 " moments that were not seen themselves.\n",
			       trace->inferred);
	write_blind_spots(trace, sink);
	/* The agent reads the clock outside of what counts as wait. */
	if (has_price(report))
		gt_sink_printf(sink, "Probing itself took about %s (an estimate)%s.\n",
			       gt_text_ns((uint64_t)report->meta->probe_cost_ns, text),
			       trace->takes_are_waits ? "" : ", a part of which counts as wait");
}

/* How well two ways of capture that were used at once agree. */
static void write_comparison(const struct gt_report *report, struct gt_sink *sink)
{
	const struct gt_comparison *comparison = report->meta->comparison;
	char percent[GT_TEXT_SIZE], median[GT_TEXT_SIZE];

	if (!comparison)
		return;
	gt_sink_printf(sink,
		       "\nAgent and uprobes: %" PRIu64
		       " moments of both, %s %% within 20us, median "
		       "%s;\n  %" PRIu64 " only by uprobes, %" PRIu64 " only by the agent\n",
		       comparison->paired,
		       gt_text_percent(comparison->within_20us, comparison->paired, percent),
		       gt_text_ns(comparison->median_ns, median),
		       comparison->only[GT_COMPARED_UPROBE], comparison->only[GT_COMPARED_AGENT]);
}

/* What there is in place of the figures of a GIL that was not to be watched. */
static void write_unwatched(const struct gt_report *report, struct gt_sink *sink)
{
	const char *sleeps = "sleeps for it are told by their stacks";

	if (!report->stacks)
		sleeps = "nor, without stacks, is who slept for it";
	else if (report->meta->lacks_frame_pointers)
		sleeps = "nor is how long threads slept for it: frame pointers lead only through "
			 "code that was built with them, and --call-graph dwarf through all";
	gt_text_write_wrapped(
		report, sink, "The GIL was not watched (%s): who held it is not known; %s.",
		report->meta->is_others ? "there are no events of it" : "--no-gil-detect", sleeps);
}

int gt_render_summary(const struct gt_report *report, struct gt_sink *sink)
{
	if (report->trace->without_gil)
		write_unwatched(report, sink);
	else
		write_table(report, sink);
	gt_summary_write_states(report, sink);
	if (!report->trace->without_gil)
		write_blame(report, sink);
	gt_summary_write_counts(report, sink);
	write_caveats(report, sink);
	write_comparison(report, sink);
	return 0;
}
