/* SPDX-License-Identifier: MIT */
/*
 * The page: one file, with the viewer of lib/render/viewer/ and the report's data inside. The
 * numbers of its table are the summary JSON itself; the intervals follow as columns, which the page
 * decodes when its head has been painted.
 */
#include "render/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "render/columns.h"
#include "render/summary_json.h"
#include "render/viewer/pieces.h"

#define PAGE_FORMAT 1

/* A bar of a lane, of whatever is shown there. */
struct bar {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t kind; /* as the page knows it; 0: nothing is drawn there */
	uint32_t gil;  /* its number + 1, or 0 */
};

/* Gives one bar of the trace. */
typedef struct bar (*get_bar)(const struct gt_trace *trace, uint32_t index);

/* The bars that are seen, lane after lane. */
struct bars {
	get_bar get;
	uint64_t *offsets; /* of each thread of the trace: the end of its part of ORDER */
	uint32_t *order;
	uint32_t count;
};

/* The threads that the page shows, in its order, and what is in their lanes. */
struct lanes {
	uint32_t *threads;
	uint32_t count;
	struct bars intervals, states;
};

static void bars_clear(struct bars *bars)
{
	free(bars->offsets);
	free(bars->order);
}

static void lanes_clear(struct lanes *lanes)
{
	free(lanes->threads);
	bars_clear(&lanes->intervals);
	bars_clear(&lanes->states);
}

static struct bar interval_bar(const struct gt_trace *trace, uint32_t index)
{
	const struct gt_interval *interval = &trace->intervals.items[index];

	return (struct bar){
		.start_ns = interval->start_ns,
		.end_ns = interval->end_ns,
		.thread = interval->thread,
		.kind = interval->kind,
		.gil = interval->gil == GT_INTERVAL_NO_GIL ? 0 : (uint32_t)interval->gil + 1,
	};
}

/* What nobody has watched has no bars. */
static struct bar no_bar(const struct gt_trace *trace, uint32_t index)
{
	struct bar bar = interval_bar(trace, index);

	bar.kind = 0;
	return bar;
}

/* A reason to sleep is a kind of its own; a sleep without one is what lies between the others. */
static struct bar state_bar(const struct gt_trace *trace, uint32_t index)
{
	const struct gt_state_interval *state = &trace->states.items[index];
	bool has_reason = state->kind == GT_STATE_SLEEPING && state->reason != GT_SLEEP_UNEXPLAINED;

	return (struct bar){
		.start_ns = state->start_ns,
		.end_ns = state->end_ns,
		.thread = state->thread,
		.kind = has_reason ? (uint32_t)GT_STATE_UNKNOWN + state->reason : state->kind,
	};
}

static int compare_lanes(const void *a, const void *b, void *context)
{
	const struct gt_trace *trace = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct gt_thread *x = &trace->threads.items[left], *y = &trace->threads.items[right];
	const struct gt_process *process = &trace->processes.items[x->process];

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if ((process->main_thread == left) != (process->main_thread == right))
		return process->main_thread == left ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return left < right ? -1 : left > right;
}

static bool is_shown(const struct gt_report *report, const struct bar *bar)
{
	return bar->kind != 0 && bar->end_ns > bar->start_ns &&
	       gt_report_shows_process(report, report->trace->threads.items[bar->thread].process);
}

/* Of COUNT bars that GET gives, those in LANES. */
static int bars_find(const struct gt_report *report, const struct lanes *lanes, get_bar get,
		     uint32_t count, struct bars *ret)
{
	const struct gt_trace *trace = report->trace;
	uint64_t end = 0;

	ret->get = get;
	ret->offsets = calloc(trace->threads.count + 1, sizeof(*ret->offsets));
	if (!ret->offsets)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct bar bar = get(trace, i);

		if (is_shown(report, &bar))
			ret->offsets[bar.thread]++;
	}
	for (uint32_t i = 0; i < lanes->count; i++) {
		uint64_t *offset = &ret->offsets[lanes->threads[i]];
		uint64_t length = *offset;

		*offset = end;
		end += length;
	}
	ret->count = (uint32_t)end;
	ret->order = calloc(end + 1, sizeof(*ret->order));
	if (!ret->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct bar bar = get(trace, i);

		if (is_shown(report, &bar))
			ret->order[ret->offsets[bar.thread]++] = i;
	}
	return 0;
}

static int lanes_find(const struct gt_report *report, struct lanes *ret)
{
	const struct gt_trace *trace = report->trace;
	int r;

	ret->threads = calloc(trace->threads.count + 1, sizeof(*ret->threads));
	if (!ret->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->threads.count; i++)
		if (gt_report_shows_process(report, trace->threads.items[i].process))
			ret->threads[ret->count++] = i;
	qsort_r(ret->threads, ret->count, sizeof(*ret->threads), compare_lanes, (void *)trace);
	r = bars_find(report, ret, gt_report_knows_waits(report) ? interval_bar : no_bar,
		      trace->intervals.count, &ret->intervals);
	if (r < 0)
		return r;
	return bars_find(report, ret, state_bar, trace->states.count, &ret->states);
}

static uint64_t since(uint64_t time_ns, uint64_t start_ns)
{
	return time_ns > start_ns ? time_ns - start_ns : 0;
}

/* Lanes name their process and thread by their places in the summary, which keeps the trace's
 * order. */
static json_t *describe_lanes(const struct gt_report *report, const struct lanes *lanes)
{
	const struct gt_trace *trace = report->trace;
	json_auto_t *list = json_array();
	_cleanup_free_ uint32_t *places = calloc(trace->threads.count + 1, sizeof(*places));
	_cleanup_free_ uint32_t *threads = calloc(trace->processes.count + 1, sizeof(*threads));
	_cleanup_free_ uint32_t *processes = calloc(trace->processes.count + 1, sizeof(*processes));
	uint32_t shown = 0;
	uint64_t first = 0, first_state = 0;

	if (!list || !places || !threads || !processes)
		return NULL;
	for (uint32_t i = 0; i < trace->processes.count; i++)
		if (gt_report_shows_process(report, i))
			processes[i] = shown++;
	for (uint32_t i = 0; i < trace->threads.count; i++)
		places[i] = threads[trace->threads.items[i].process]++;

	for (uint32_t i = 0; i < lanes->count; i++) {
		uint32_t index = lanes->threads[i];
		const struct gt_thread *thread = &trace->threads.items[index];
		uint64_t start_ns = since(thread->start_ns, trace->start_ns);
		uint64_t end_ns = since(thread->end_ns, trace->start_ns);
		uint64_t last = lanes->intervals.offsets[index];
		uint64_t last_state = lanes->states.offsets[index];
		json_t *lane = json_object();

		gt_json_set(&lane, "process", gt_json_integer(processes[thread->process]));
		gt_json_set(&lane, "thread", gt_json_integer(places[index]));
		gt_json_set(&lane, "start_ns", gt_json_integer(start_ns));
		gt_json_set(&lane, "end_ns", gt_json_integer(end_ns));
		gt_json_set(&lane, "intervals", gt_json_integer(last - first));
		if (trace->has_states)
			gt_json_set(&lane, "states", gt_json_integer(last_state - first_state));
		if (json_array_append_new(list, lane) < 0)
			return NULL;
		first = last;
		first_state = last_state;
	}
	return GT_STEAL(list);
}

static json_t *describe_gils(const struct gt_trace *trace)
{
	json_auto_t *list = json_array();

	for (uint32_t i = 0; list && i < trace->gils.count; i++)
		if (json_array_append_new(
			    list, json_sprintf("0x%llx",
					       (unsigned long long)trace->gils.items[i].address)) <
		    0)
			return NULL;
	return GT_STEAL(list);
}

/* The summary, and what the page needs besides it. */
static json_t *describe_page(const struct gt_report *report, const struct lanes *lanes)
{
	const struct gt_report_meta *meta = report->meta;
	const struct gt_trace *trace = report->trace;
	int64_t date_ms = meta->realtime_ns ? (int64_t)(meta->realtime_ns / GT_NS_PER_MS) : -1;
	json_t *page = json_pack(
		"{s:i, s:o, s:o, s:{s:o, s:o, s:o}, s:I, s:o, s:o, s:I, s:o}", "page", PAGE_FORMAT,
		"host", gt_json_text(meta->hostname), "date_ms", gt_json_integer_or_null(date_ms),
		"python", "path", gt_json_text(meta->python_path), "version",
		gt_json_text(meta->python_version), "build_id", gt_json_text(meta->python_build_id),
		"duration_ns", (json_int_t)since(trace->end_ns, trace->start_ns), "lanes",
		describe_lanes(report, lanes), "gils", describe_gils(trace), "intervals",
		(json_int_t)lanes->intervals.count, "summary", gt_summary_json_new(report));

	if (trace->has_states)
		gt_json_set(&page, "states", gt_json_integer(lanes->states.count));
	return page;
}

/* JSON within a script element: without a < nothing in it can end the element. */
static void write_json(struct gt_sink *sink, const char *text)
{
	const char *bracket;

	while ((bracket = strchr(text, '<'))) {
		gt_sink_write(sink, text, (size_t)(bracket - text));
		gt_sink_puts(sink, "\\u003c");
		text = bracket + 1;
	}
	gt_sink_puts(sink, text);
}

enum column { COLUMN_KIND, COLUMN_GIL, COLUMN_GAP, COLUMN_LENGTH };

/*
 * Gap and length: of each lane's intervals, the time since the one before (the first: since the
 * start of the trace), and how long it is.
 */
static int write_column(const struct gt_trace *trace, const struct bars *bars, enum column which,
			const char *name, struct gt_sink *sink)
{
	_cleanup_(gt_column_closep) struct gt_column *column = gt_column_open(sink, name);
	uint32_t thread = GT_NONE;
	uint64_t end_ns = 0;

	if (!column)
		return -ENOMEM;
	for (uint32_t i = 0; i < bars->count; i++) {
		struct bar bar = bars->get(trace, bars->order[i]);

		if (bar.thread != thread) {
			thread = bar.thread;
			end_ns = trace->start_ns;
		}
		switch (which) {
		case COLUMN_KIND:
			gt_column_put(column, bar.kind);
			break;
		case COLUMN_GIL:
			gt_column_put(column, bar.gil);
			break;
		case COLUMN_GAP:
			gt_column_put(column, since(bar.start_ns, end_ns));
			break;
		case COLUMN_LENGTH:
			gt_column_put(column, since(bar.end_ns, GT_MAX(bar.start_ns, end_ns)));
			break;
		}
		end_ns = GT_MAX(bar.end_ns, end_ns);
	}
	return 0;
}

static int write_columns(const struct gt_report *report, const struct lanes *lanes,
			 struct gt_sink *sink)
{
	static const struct {
		enum column which;
		bool of_states;
		const char *name;
	} columns[] = {
		{COLUMN_KIND, false, "kind"},
		{COLUMN_GIL, false, "gil"},
		{COLUMN_GAP, false, "gap"},
		{COLUMN_LENGTH, false, "length"},
		{COLUMN_KIND, true, "state-kind"},
		{COLUMN_GAP, true, "state-gap"},
		{COLUMN_LENGTH, true, "state-length"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct bars *bars = columns[i].of_states ? &lanes->states : &lanes->intervals;
		int r;

		if (columns[i].of_states && !report->trace->has_states)
			break;
		r = write_column(report->trace, bars, columns[i].which, columns[i].name, sink);
		if (r < 0)
			return r;
	}
	return 0;
}

int gt_render_html(const struct gt_report *report, struct gt_sink *sink)
{
	_cleanup_(lanes_clear) struct lanes lanes = {0};
	json_auto_t *page = NULL;
	_cleanup_free_ char *text = NULL;
	int r;

	r = lanes_find(report, &lanes);
	if (r < 0)
		return r;
	page = describe_page(report, &lanes);
	text = page ? json_dumps(page, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	if (!text)
		return -ENOMEM;

	gt_sink_puts(sink, gt_viewer_before_report);
	write_json(sink, text);
	gt_sink_puts(sink, gt_viewer_before_columns);
	r = write_columns(report, &lanes, sink);
	if (r < 0)
		return r;
	gt_sink_puts(sink, gt_viewer_behind_columns);
	return 0;
}
