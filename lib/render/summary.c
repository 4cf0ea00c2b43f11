/* SPDX-License-Identifier: MIT */
/* The table for people, made to fit a terminal of 80 columns. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <libutil.h>

#include "base/io.h"
#include "base/strings.h"
#include "base/time.h"
#include "render/report.h"

#define BLAME_ROWS 5
#define TEXT_SIZE 24

/* "812ns", "5.1us", "51ms", "2.5s": five columns at most up to a day. */
static const char *format_ns(uint64_t ns, char text[static TEXT_SIZE])
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"s", GT_NS_PER_SEC}, {"ms", GT_NS_PER_MS}, {"us", GT_NS_PER_US}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		uint64_t tenths = (ns + units[i].ns / 20) / (units[i].ns / 10);

		if (tenths < 10)
			continue;
		if (tenths < 100)
			snprintf(text, TEXT_SIZE, "%" PRIu64 ".%" PRIu64 "%s", tenths / 10,
				 tenths % 10, units[i].name);
		else
			snprintf(text, TEXT_SIZE, "%" PRIu64 "%s",
				 (ns + units[i].ns / 2) / units[i].ns, units[i].name);
		return text;
	}
	snprintf(text, TEXT_SIZE, "%" PRIu64 "ns", ns);
	return text;
}

static const char *format_count(uint64_t count, char text[static TEXT_SIZE])
{
	if (count < 100000)
		snprintf(text, TEXT_SIZE, "%" PRIu64, count);
	else if (humanize_number(text, 5, (int64_t)GT_MIN(count, (uint64_t)INT64_MAX), "",
				 HN_AUTOSCALE, HN_NOSPACE | HN_DECIMAL | HN_DIVISOR_1000) < 0)
		snprintf(text, TEXT_SIZE, "%" PRIu64, count);
	return text;
}

static const char *format_percent(uint64_t part, uint64_t whole, char text[static TEXT_SIZE])
{
	if (whole == 0)
		snprintf(text, TEXT_SIZE, "-");
	else
		snprintf(text, TEXT_SIZE, "%.1f", 100.0 * (double)part / (double)whole);
	return text;
}

/* Writes a line, cut off where the terminal ends: a table that wraps cannot be read. */
static void write_line(const struct gt_report *report, struct gt_sink *sink, const char *format,
		       ...) _printf_(3, 4);

static void write_line(const struct gt_report *report, struct gt_sink *sink, const char *format,
		       ...)
{
	_cleanup_free_ char *line = NULL;
	uint32_t columns = 0;
	va_list arguments;
	size_t end = 0;

	va_start(arguments, format);
	if (vasprintf(&line, format, arguments) < 0)
		line = NULL;
	va_end(arguments);
	if (!line)
		return;
	/* Characters of UTF-8: all bytes but those that go on with one. */
	for (size_t i = 0; line[i]; i++) {
		if (((unsigned char)line[i] & 0xc0) == 0x80)
			continue;
		columns++;
		if (columns == report->columns)
			end = i;
	}
	if (report->columns && columns > report->columns)
		gt_sink_printf(sink, "%.*s…\n", (int)end, line);
	else
		gt_sink_printf(sink, "%s\n", line);
}

static void write_thread(const struct gt_report *report, uint32_t index, struct gt_sink *sink)
{
	const struct gt_thread *thread = &report->trace->threads.items[index];
	const struct gt_thread_stats *stats = &report->stats->threads[index];
	const struct gt_process *process = &report->trace->processes.items[thread->process];
	uint64_t total_ns = thread->end_ns - thread->start_ns;
	bool has_gil = gt_report_knows_thread(report, index);
	uint64_t known_ns = has_gil ? total_ns - stats->unknown_ns : 0;
	_cleanup_free_ char *name = gt_terminal_dup(thread->name, strlen(thread->name));
	char no[TEXT_SIZE], has[TEXT_SIZE], wait[TEXT_SIZE], acquired[TEXT_SIZE],
		contended[TEXT_SIZE], p99[TEXT_SIZE], max[TEXT_SIZE];

	write_line(report, sink, "%7" PRIu32 "%c %9" PRIu64 " %7s %8s %9s %5s %5s %5s %5s %s",
		   thread->tid, thread->tid == process->pid ? '*' : ' ', total_ns / 1000,
		   format_percent(stats->no_ns, known_ns, no),
		   format_percent(stats->has_ns, known_ns, has),
		   format_percent(stats->wait_ns, known_ns, wait),
		   has_gil ? format_count(thread->acquired, acquired) : "-",
		   has_gil ? format_count(thread->contended, contended) : "-",
		   has_gil && stats->waits ? format_ns(stats->wait_p99_ns, p99) : "-",
		   has_gil && stats->waits ? format_ns(stats->wait_max_ns, max) : "-",
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

static void write_thread_states(const struct gt_report *report, uint32_t index,
				struct gt_sink *sink)
{
	const struct gt_thread *thread = &report->trace->threads.items[index];
	const struct gt_thread_stats *stats = &report->stats->threads[index];
	const struct gt_process *process = &report->trace->processes.items[thread->process];
	uint64_t known_ns = thread->end_ns - thread->start_ns - stats->state_unknown_ns;
	_cleanup_free_ char *name = gt_terminal_dup(thread->name, strlen(thread->name));
	char running[TEXT_SIZE], runnable[TEXT_SIZE], sleeping[TEXT_SIZE], for_gil[TEXT_SIZE];

	if (!gt_report_knows_thread(report, index))
		snprintf(for_gil, sizeof(for_gil), "-");
	else
		format_percent(stats->sleep_gil_ns, known_ns, for_gil);
	write_line(report, sink, "%7" PRIu32 "%c %8s %9s %9s %8s %s", thread->tid,
		   thread->tid == process->pid ? '*' : ' ',
		   format_percent(stats->running_ns, known_ns, running),
		   format_percent(stats->runnable_ns, known_ns, runnable),
		   format_percent(stats->sleep_ns, known_ns, sleeping), for_gil, name ? name : "");
}

/* The table above has no room for these, and they answer another question. */
static void write_states(const struct gt_report *report, struct gt_sink *sink)
{
	const struct gt_trace *trace = report->trace;

	if (!trace->has_states)
		return;
	gt_sink_puts(sink, "\nOn and off CPU:\n"
			   "                             sleeping\n"
			   "    PID  running% runnable%      all%  for GIL% name\n"
			   "-------- -------- --------- --------- -------- ----\n");
	for (uint32_t i = 0; i < trace->processes.count; i++) {
		if (!gt_report_shows_process(report, i))
			continue;
		for (uint32_t j = trace->processes.items[i].first_thread; j != GT_NONE;
		     j = trace->threads.items[j].next_in_process)
			write_thread_states(report, j, sink);
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
		char time[TEXT_SIZE], percent[TEXT_SIZE];

		write_line(
			report, sink, "  %-25s %6s, %5s%% of its wait, for %s",
			waiter ? waiter : "", format_ns(blame->ns, time),
			format_percent(blame->ns, stats->threads[blame->waiter].wait_ns, percent),
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

static void write_blind_spots(uint32_t others, uint32_t not_watched, struct gt_sink *sink)
{
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

/* What the figures do not cover, and what they cost. */
static void write_caveats(const struct gt_report *report, struct gt_sink *sink)
{
	const struct gt_trace *trace = report->trace;
	uint64_t state_unknown_ns;
	uint64_t unknown_ns = sum_unknown(report, &state_unknown_ns);
	uint32_t others = 0, not_watched = 0;
	bool is_estimate = gt_report_is_estimate(report);
	char text[TEXT_SIZE];

	gt_array_for_each (&trace->processes, process) {
		others += process->maps_other_python;
		not_watched += process->not_watched;
	}
	if (trace->lost || trace->state_lost || trace->inferred || unknown_ns || state_unknown_ns ||
	    others || not_watched || is_estimate || report->meta->is_window || has_price(report))
		gt_sink_puts(sink, "\n");
	if (report->meta->is_window)
		gt_sink_printf(sink,
			       "Only the newest %s were kept (--flight-recorder): lives are cut to "
			       "it.\n",
			       format_ns(report->meta->kept_ns, text));
	if (is_estimate)
		gt_sink_puts(sink,
			     "Estimates: the GIL was found by the returns of its functions.\n");
	if (trace->lost)
		gt_sink_printf(sink,
			       "Lost: %" PRIu64 " events. A larger --buffer-size may keep them.\n",
			       trace->lost);
	if (unknown_ns)
		gt_sink_printf(sink,
			       "Unknown: %s of all threads' time, left out of the percentages.\n",
			       format_ns(unknown_ns, text));
	if (trace->state_lost)
		gt_sink_printf(sink, "Lost: %" PRIu64 " records of being on and off CPU.\n",
			       trace->state_lost);
	if (state_unknown_ns)
		gt_sink_printf(sink,
			       "Unknown: on or off CPU in %s of all threads' time, left out too.\n",
			       format_ns(state_unknown_ns, text));
	if (trace->inferred)
		gt_sink_printf(sink,
			       "Inferred: %" PRIu64 " moments that were not seen themselves.\n",
			       trace->inferred);
	write_blind_spots(others, not_watched, sink);
	/* The agent reads the clock outside of what counts as wait. */
	if (has_price(report))
		gt_sink_printf(sink, "Probing itself took about %s (an estimate)%s.\n",
			       format_ns((uint64_t)report->meta->probe_cost_ns, text),
			       trace->takes_are_waits ? "" : ", a part of which counts as wait");
}

/* How well two ways of capture that were used at once agree. */
static void write_comparison(const struct gt_report *report, struct gt_sink *sink)
{
	const struct gt_comparison *comparison = report->meta->comparison;
	char percent[TEXT_SIZE], median[TEXT_SIZE];

	if (!comparison)
		return;
	gt_sink_printf(sink,
		       "\nAgent and uprobes: %" PRIu64
		       " moments of both, %s %% within 20us, median "
		       "%s;\n  %" PRIu64 " only by uprobes, %" PRIu64 " only by the agent\n",
		       comparison->paired,
		       format_percent(comparison->within_20us, comparison->paired, percent),
		       format_ns(comparison->median_ns, median),
		       comparison->only[GT_COMPARED_UPROBE], comparison->only[GT_COMPARED_AGENT]);
}

int gt_render_summary(const struct gt_report *report, struct gt_sink *sink)
{
	write_table(report, sink);
	write_states(report, sink);
	write_blame(report, sink);
	write_caveats(report, sink);
	write_comparison(report, sink);
	return 0;
}
