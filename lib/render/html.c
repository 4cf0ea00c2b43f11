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
#include "render/page_blame.h"
#include "render/page_lanes.h"
#include "render/page_memory.h"
#include "render/page_stacks.h"
#include "render/page_text.h"
#include "render/summary_json.h"
#include "render/viewer/pieces.h"

#define PAGE_FORMAT 2

/* The places of the trace's processes in the summary, which keeps their order. */
static uint32_t *find_places(const struct gt_report *report)
{
	uint32_t *places = calloc((size_t)report->trace->processes.count + 1, sizeof(*places));
	uint32_t shown = 0;

	for (uint32_t i = 0; places && i < report->trace->processes.count; i++)
		if (gt_report_shows_process(report, i))
			places[i] = shown++;
	return places;
}

/* The places of the trace's threads among those of their processes, likewise. */
static uint32_t *find_thread_places(const struct gt_trace *trace)
{
	uint32_t *places = calloc((size_t)trace->threads.count + 1, sizeof(*places));
	_cleanup_free_ uint32_t *counts =
		calloc((size_t)trace->processes.count + 1, sizeof(*counts));

	if (!places || !counts) {
		free(places);
		return NULL;
	}
	for (uint32_t i = 0; i < trace->threads.count; i++)
		places[i] = counts[trace->threads.items[i].process]++;
	return places;
}

/* A list of pairs of a name and a figure. */
static void append_figure(json_t **list, const char *name, json_t *figure)
{
	json_t *pair = json_array();

	gt_json_append(&pair, gt_json_text(name));
	gt_json_append(&pair, figure);
	gt_json_append(list, pair);
}

/* What was counted of a thread. */
static json_t *describe_counts(const struct gt_trace *trace, const struct gt_thread *thread)
{
	json_t *list = json_array();

	append_figure(&list, "voluntary switches", gt_json_integer(thread->voluntary_switches));
	append_figure(&list, "involuntary switches", gt_json_integer(thread->involuntary_switches));
	if (trace->has_cpus)
		append_figure(&list, "migrations", gt_json_integer(thread->migrations));
	for (uint32_t i = 0; i < trace->counter_count; i++)
		if (thread->counts[i] >= 0)
			append_figure(&list, trace->counters[i], json_real(thread->counts[i]));
	return list;
}

/* What it slept for, and how long. */
static json_t *describe_reasons(const struct gt_thread_stats *stats)
{
	json_t *list = json_array();

	for (enum gt_sleep_reason reason = GT_SLEEP_UNEXPLAINED + 1; reason < GT_SLEEP_REASONS;
	     reason++)
		if (stats->sleep_reason_ns[reason] > 0)
			append_figure(&list, gt_sleep_reason_name(reason),
				      gt_json_integer(stats->sleep_reason_ns[reason]));
	return list;
}

static json_t *describe_lengths(const uint32_t lengths[GT_STATS_LENGTHS])
{
	json_t *list = json_array();
	uint32_t count = GT_STATS_LENGTHS;

	while (count > 0 && lengths[count - 1] == 0)
		count--;
	for (uint32_t i = 0; i < count; i++)
		gt_json_append(&list, gt_json_integer(lengths[i]));
	return list;
}

/* How long it held the GIL each time, and waited for it. */
static json_t *describe_holds(const struct gt_thread_stats *stats)
{
	json_t *object = json_object();

	gt_json_set(&object, "holds", describe_lengths(stats->hold_lengths));
	gt_json_set(&object, "waits", describe_lengths(stats->wait_lengths));
	gt_json_set(&object, "hold_p50_ns", gt_json_integer(stats->hold_p50_ns));
	gt_json_set(&object, "hold_max_ns", gt_json_integer(stats->hold_max_ns));
	gt_json_set(&object, "hold_half_ns", gt_json_integer(stats->hold_half_ns));
	return object;
}

/* Lanes name their process and thread by their places in the summary. */
static json_t *describe_lanes(const struct gt_report *report, const struct gt_page_lanes *lanes,
			      const uint32_t *processes, const uint32_t *threads)
{
	const struct gt_trace *trace = report->trace;
	json_auto_t *list = json_array();

	if (!list)
		return NULL;
	for (uint32_t i = 0; i < lanes->count; i++) {
		uint32_t index = lanes->threads[i];
		const struct gt_thread *thread = &trace->threads.items[index];
		uint64_t start_ns = gt_ns_since(thread->start_ns, trace->start_ns);
		uint64_t end_ns = gt_ns_since(thread->end_ns, trace->start_ns);
		json_t *lane = json_object();

		gt_json_set(&lane, "process", gt_json_integer(processes[thread->process]));
		gt_json_set(&lane, "thread", gt_json_integer(threads[index]));
		gt_json_set(&lane, "start_ns", gt_json_integer(start_ns));
		gt_json_set(&lane, "end_ns", gt_json_integer(end_ns));
		gt_json_set(&lane, "intervals", gt_json_integer(lanes->intervals.lengths[index]));
		if (gt_report_knows_thread(report, index))
			gt_json_set(&lane, "holds", describe_holds(&report->stats->threads[index]));
		if (trace->has_states) {
			gt_json_set(&lane, "states", gt_json_integer(lanes->states.lengths[index]));
			gt_json_set(&lane, "counts", describe_counts(trace, thread));
			gt_json_set(&lane, "reasons",
				    describe_reasons(&report->stats->threads[index]));
		}
		if (json_array_append_new(list, lane) < 0)
			return NULL;
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

/* What kinds of states there are: their numbers, and what they are. */
static json_t *describe_states(const struct gt_report *report, const struct gt_page_lanes *lanes)
{
	/* In the order in which they are shown. */
	static const struct {
		enum gt_state_kind kind;
		const char *name;
	} kinds[] = {
		{GT_STATE_RUNNING, "running"},	 {GT_STATE_RUNNABLE, "runnable"},
		{GT_STATE_SLEEPING, "sleeping"}, {GT_STATE_UNINTERRUPTIBLE, "uninterruptible"},
		{GT_STATE_UNKNOWN, "unknown"},
	};
	bool is_there[GT_PAGE_STATE_NUMBERS] = {false};
	json_t *list = json_array();

	for (uint32_t i = 0; i < lanes->states.count; i++)
		is_there[lanes->states.get(report->trace, lanes->states.order[i]).kind] = true;
	for (size_t i = 0; i < ARRAY_SIZE(kinds) * GT_SLEEP_REASONS; i++) {
		const struct gt_state_interval state = {
			.kind = (uint8_t)kinds[i / GT_SLEEP_REASONS].kind,
			.reason = (uint8_t)(i % GT_SLEEP_REASONS)};
		uint32_t number = gt_page_state_number(state.kind, state.reason);
		char room[GT_STATE_NAME_SIZE];

		if (!is_there[number])
			continue;
		gt_json_append(&list, json_pack("{s:i, s:s, s:s?, s:s?}", "number", (int)number,
						"state", kinds[i / GT_SLEEP_REASONS].name, "name",
						gt_state_name(&state, room), "reason",
						gt_sleep_reason_name(state.reason)));
	}
	return list;
}

/* What the page shows. */
struct page {
	struct gt_page_lanes lanes;
	struct gt_page_stacks stacks;
	struct gt_page_memory memory;
};

static void page_clear(struct page *page)
{
	gt_page_lanes_clear(&page->lanes);
	gt_page_stacks_clear(&page->stacks);
	gt_page_memory_clear(&page->memory);
}

static int page_make(const struct gt_report *report, struct page *page)
{
	int r;

	r = gt_page_lanes_find(report, &page->lanes);
	if (r < 0)
		return r;
	r = gt_page_stacks_make(report, &page->stacks);
	if (r < 0)
		return r;
	return gt_page_memory_make(report, &page->memory);
}

/* The summary, and what the page needs besides it. */
static json_t *describe_page(const struct gt_report *report, const struct page *page)
{
	const struct gt_report_meta *meta = report->meta;
	const struct gt_trace *trace = report->trace;
	const struct gt_page_lanes *lanes = &page->lanes;
	int64_t date_ms = meta->realtime_ns ? (int64_t)(meta->realtime_ns / GT_NS_PER_MS) : -1;
	_cleanup_free_ uint32_t *places = find_places(report);
	_cleanup_free_ uint32_t *threads = find_thread_places(trace);
	json_t *object;

	if (!places || !threads)
		return NULL;
	object = json_pack(
		"{s:i, s:o, s:o, s:{s:o, s:o, s:o}, s:I, s:o, s:o, s:I, s:o}", "page", PAGE_FORMAT,
		"host", gt_json_text(meta->hostname), "date_ms", gt_json_integer_or_null(date_ms),
		"python", "path", gt_json_text(meta->python_path), "version",
		gt_json_text(meta->python_version), "build_id", gt_json_text(meta->python_build_id),
		"duration_ns", (json_int_t)gt_ns_since(trace->end_ns, trace->start_ns), "lanes",
		describe_lanes(report, lanes, places, threads), "gils", describe_gils(trace),
		"intervals", (json_int_t)lanes->intervals.left, "summary",
		gt_summary_json_new(report, false));
	if (trace->has_states) {
		gt_json_set(&object, "states", gt_json_integer(lanes->states.left));
		gt_json_set(&object, "state_kinds", describe_states(report, lanes));
	}
	if (lanes->quantum_ns > 0)
		gt_json_set(&object, "folded",
			    json_pack("{s:I, s:I, s:I}", "quantum_ns",
				      (json_int_t)lanes->quantum_ns, "intervals",
				      (json_int_t)lanes->intervals.merged, "states",
				      (json_int_t)lanes->states.merged));
	gt_page_blame_describe(report, places, threads, &object);
	gt_page_stacks_describe(&page->stacks, &object);
	gt_page_memory_describe(&page->memory, places, &object);
	return object;
}

enum column { COLUMN_KIND, COLUMN_GIL, COLUMN_GAP, COLUMN_LENGTH, COLUMN_STACK };

struct bar_writer {
	struct gt_column *column;
	enum column which;
	uint64_t start_ns; /* of the trace */
	uint32_t thread;
	uint64_t end_ns; /* of the thread's bar before */
};

/*
 * Gap and length: of each lane's intervals, the time since the one before (the first: since the
 * start of the trace), and how long it is.
 */
static void write_bar(const struct gt_bar *bar, void *context)
{
	struct bar_writer *writer = context;

	if (bar->thread != writer->thread) {
		writer->thread = bar->thread;
		writer->end_ns = writer->start_ns;
	}
	switch (writer->which) {
	case COLUMN_KIND:
		gt_column_put(writer->column, bar->kind);
		break;
	case COLUMN_GIL:
		gt_column_put(writer->column, bar->gil);
		break;
	case COLUMN_GAP:
		gt_column_put(writer->column, gt_ns_since(bar->start_ns, writer->end_ns));
		break;
	case COLUMN_LENGTH:
		gt_column_put(writer->column,
			      gt_ns_since(bar->end_ns, GT_MAX(bar->start_ns, writer->end_ns)));
		break;
	case COLUMN_STACK:
		gt_column_put(writer->column, bar->stack);
		break;
	}
	writer->end_ns = GT_MAX(bar->end_ns, writer->end_ns);
}

static int write_column(const struct gt_page_lanes *lanes, const struct gt_page_bars *bars,
			enum column which, const char *name, struct gt_sink *sink)
{
	_cleanup_(gt_column_closep) struct gt_column *column = gt_column_open(sink, name);
	struct bar_writer writer = {
		.column = column,
		.which = which,
		.start_ns = lanes->trace->start_ns,
		.thread = GT_NONE,
	};

	if (!column)
		return -ENOMEM;
	gt_page_bars_walk(lanes, bars, write_bar, &writer);
	return 0;
}

static int write_columns(const struct gt_report *report, const struct gt_page_lanes *lanes,
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
		{COLUMN_STACK, true, "state-stack"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct gt_page_bars *bars =
			columns[i].of_states ? &lanes->states : &lanes->intervals;
		int r;

		if (columns[i].of_states && !report->trace->has_states)
			break;
		if (columns[i].which == COLUMN_STACK && !report->stacks)
			break;
		r = write_column(lanes, bars, columns[i].which, columns[i].name, sink);
		if (r < 0)
			return r;
	}
	return 0;
}

int gt_render_html(const struct gt_report *report, struct gt_sink *sink)
{
	_cleanup_(page_clear) struct page page = {0};
	json_auto_t *object = NULL;
	_cleanup_free_ char *text = NULL;
	int r;

	r = page_make(report, &page);
	if (r < 0)
		return r;
	object = describe_page(report, &page);
	text = object ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	if (!text)
		return -ENOMEM;

	gt_sink_puts(sink, gt_viewer_before_report);
	gt_page_write_json(sink, text);
	gt_sink_puts(sink, gt_viewer_before_columns);
	r = write_columns(report, &page.lanes, sink);
	if (r < 0)
		return r;
	r = gt_page_stacks_write(&page.stacks, sink);
	if (r < 0)
		return r;
	r = gt_page_memory_write(&page.memory, sink);
	if (r < 0)
		return r;
	gt_sink_puts(sink, gt_viewer_behind_columns);
	return 0;
}
