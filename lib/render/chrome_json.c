/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace event format, for Perfetto, chrome://tracing and VizTracer.
 *
 * Slices of one track must nest, and those of the GIL do not nest with Python functions: they get a
 * track of their own beside the thread, under a number that no thread can have.
 *
 * The format is described in "Trace Event Format" of the Chromium project: a slice names the
 * innermost frame of its stack ("sf"), and "stackFrames" has each frame with its caller.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/strings.h"
#include "render/report.h"
#include "render/summary_json.h"

/* PID_MAX_LIMIT of the kernel (include/linux/threads.h): no tid is larger. */
#define MAX_TID (UINT32_C(4) << 20)

/* Tracks of a thread in the order in which they are shown. */
enum track { TRACK_FUNCTIONS, TRACK_GIL, TRACK_STATE, TRACKS };

static const char *const slice_names[] = {
	[GT_INTERVAL_WAIT] = "GIL wait",
	[GT_INTERVAL_HAS] = "GIL held",
	[GT_INTERVAL_UNKNOWN] = "GIL unknown",
};

static uint32_t track_tid(uint32_t thread, enum track track)
{
	return MAX_TID + 1 + thread * TRACKS + (uint32_t)track;
}

/* "TEXT" with its quotes; NULL when out of memory. */
static char *quote(const char *text)
{
	_cleanup_(json_decrefp) json_t *string = gt_json_text(text);

	return string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
}

/* The list of events; a comma goes before each but the first. */
struct event_list {
	struct gt_sink *sink;
	bool any;
};

static void begin_event(struct event_list *events)
{
	if (events->any)
		gt_sink_puts(events->sink, ",\n");
	events->any = true;
}

static int write_metadata(struct event_list *events, const char *what, uint32_t pid, uint32_t tid,
			  const char *name, uint32_t sort_index)
{
	_cleanup_free_ char *quoted = quote(name);

	if (!quoted)
		return -ENOMEM;
	begin_event(events);
	gt_sink_printf(events->sink,
		       "{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		       ",\"name\":\"%s_name\",\"args\":{\"name\":%s}}",
		       pid, tid, what, quoted);
	begin_event(events);
	gt_sink_printf(events->sink,
		       "{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		       ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
		       pid, tid, what, sort_index);
	return 0;
}

/* Names the track of a thread for WHAT. */
static int write_track_name(const struct gt_report *report, struct event_list *events,
			    uint32_t index, enum track track, const char *what)
{
	const struct gt_thread *thread = &report->trace->threads.items[index];
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s (%" PRIu32 ") %s", thread->name, thread->tid, what) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return write_metadata(events, "thread", report->trace->processes.items[thread->process].pid,
			      track_tid(index, track), name, index * TRACKS + track);
}

static int write_names(const struct gt_report *report, struct event_list *events)
{
	const struct gt_trace *trace = report->trace;
	bool knows_gil = gt_report_knows_waits(report);
	int r;

	for (uint32_t i = 0; i < trace->processes.count; i++) {
		const struct gt_process *process = &trace->processes.items[i];

		if (!gt_report_shows_process(report, i))
			continue;
		r = write_metadata(events, "process", process->pid, process->pid, process->command,
				   i);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		const struct gt_thread *thread = &trace->threads.items[i];
		uint32_t pid = trace->processes.items[thread->process].pid;

		if (!gt_report_shows_process(report, thread->process))
			continue;
		r = write_metadata(events, "thread", pid, thread->tid, thread->name,
				   i * TRACKS + TRACK_FUNCTIONS);
		if (r < 0)
			return r;
		r = knows_gil ? write_track_name(report, events, i, TRACK_GIL, "GIL") : 0;
		if (r < 0)
			return r;
		if (!trace->has_states)
			continue;
		r = write_track_name(report, events, i, TRACK_STATE, "state");
		if (r < 0)
			return r;
	}
	return 0;
}

/* Microseconds with all three decimals, from integers: a double would lose the last ones. */
#define US_FORMAT "%" PRIu64 ".%03u"
#define US_ARGUMENTS(ns) (uint64_t)(ns) / 1000, (unsigned)((ns) % 1000)

/* Without the closing brace. */
static void begin_slice(const struct gt_report *report, struct event_list *events, uint32_t thread,
			enum track track, uint64_t start_ns, uint64_t end_ns, const char *name)
{
	const struct gt_trace *trace = report->trace;

	begin_event(events);
	gt_sink_printf(events->sink,
		       "{\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":" US_FORMAT
		       ",\"dur\":" US_FORMAT ",\"cat\":\"%s\",\"name\":\"%s\"",
		       trace->processes.items[trace->threads.items[thread].process].pid,
		       track_tid(thread, track), US_ARGUMENTS(start_ns),
		       US_ARGUMENTS(end_ns - start_ns), track == TRACK_GIL ? "gil" : "state", name);
}

static void write_slices(const struct gt_report *report, struct event_list *events)
{
	const struct gt_trace *trace = report->trace;

	gt_array_for_each (&trace->intervals, interval) {
		const struct gt_thread *thread = &trace->threads.items[interval->thread];

		if (!gt_report_knows_waits(report) || interval->kind == GT_INTERVAL_NO ||
		    !gt_report_shows_process(report, thread->process))
			continue;
		begin_slice(report, events, interval->thread, TRACK_GIL, interval->start_ns,
			    interval->end_ns, slice_names[interval->kind]);
		if (interval->gil != GT_INTERVAL_NO_GIL)
			gt_sink_printf(events->sink, ",\"args\":{\"gil\":%" PRIu32 "}",
				       (uint32_t)interval->gil);
		gt_sink_puts(events->sink, "}");
	}
}

/* Marks the stacks of what it writes in IS_USED. */
static void write_states(const struct gt_report *report, struct event_list *events, bool *is_used)
{
	const struct gt_trace *trace = report->trace;

	gt_array_for_each (&trace->states, state) {
		char room[GT_STATE_NAME_SIZE];
		const char *name = gt_state_name(state, room);

		if (!name ||
		    !gt_report_shows_process(report, trace->threads.items[state->thread].process))
			continue;
		begin_slice(report, events, state->thread, TRACK_STATE, state->start_ns,
			    state->end_ns, name);
		if (report->stacks && state->stack != GT_STACK_NONE) {
			gt_sink_printf(events->sink, ",\"sf\":%" PRIu32, state->stack);
			is_used[state->stack] = true;
		}
		gt_sink_puts(events->sink, "}");
	}
}

static void write_memory(const struct gt_report *report, struct event_list *events)
{
	const struct gt_trace *trace = report->trace;

	gt_array_for_each (&trace->memory, point) {
		uint32_t pid = trace->processes.items[point->process].pid;

		if (!gt_report_shows_process(report, point->process))
			continue;
		begin_event(events);
		gt_sink_printf(events->sink,
			       "{\"ph\":\"C\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
			       ",\"ts\":" US_FORMAT ",\"name\":\"resident memory\","
			       "\"args\":{\"bytes\":%" PRIu64 "}}",
			       pid, pid, US_ARGUMENTS(point->time_ns), point->resident_bytes);
	}
}

static int write_stack_frame(const struct gt_report *report, uint32_t stack, struct gt_sink *sink)
{
	const struct gt_frame *frame = gt_stacks_top(report->stacks, stack);
	uint32_t parent = report->stacks->stacks.items[stack].parent;
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;
	_cleanup_free_ char *name = quote(frame->name);
	_cleanup_free_ char *file = quote(slash ? slash + 1 : frame->file ? frame->file : "");

	if (!name || !file)
		return -ENOMEM;
	gt_sink_printf(sink, "\"%" PRIu32 "\":{\"name\":%s", stack, name);
	if (frame->file)
		gt_sink_printf(sink, ",\"category\":%s", file);
	if (parent != GT_STACK_NONE)
		gt_sink_printf(sink, ",\"parent\":%" PRIu32, parent);
	gt_sink_puts(sink, "}");
	return 0;
}

/* Those that IS_USED has, and their callers. */
static int write_stacks(const struct gt_report *report, bool *is_used, struct gt_sink *sink)
{
	const struct gt_stacks *stacks = report->stacks;
	bool any = false;

	/* Parents stand before their children. */
	for (uint32_t i = stacks->stacks.count - 1; i > GT_STACK_NONE; i--)
		if (is_used[i])
			is_used[stacks->stacks.items[i].parent] = true;
	gt_sink_puts(sink, ",\n\"stackFrames\":{");
	for (uint32_t i = GT_STACK_NONE + 1; i < stacks->stacks.count; i++) {
		if (!is_used[i])
			continue;
		gt_sink_puts(sink, any ? ",\n" : "\n");
		if (write_stack_frame(report, i, sink) < 0)
			return -ENOMEM;
		any = true;
	}
	gt_sink_puts(sink, "}");
	return 0;
}

int gt_render_chrome_json(const struct gt_report *report, struct gt_sink *sink)
{
	struct event_list events = {.sink = sink};
	_cleanup_(json_decrefp) json_t *object = gt_summary_json_new(report, true);
	_cleanup_free_ char *summary = object ? json_dumps(object, JSON_COMPACT) : NULL;
	_cleanup_free_ bool *is_used =
		calloc(report->stacks ? report->stacks->stacks.count : 1, sizeof(*is_used));
	int r;

	if (!summary || !is_used)
		return -ENOMEM;

	gt_sink_puts(sink, "{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n");
	r = write_names(report, &events);
	if (r < 0)
		return r;
	write_slices(report, &events);
	write_states(report, &events, is_used);
	write_memory(report, &events);
	gt_sink_puts(sink, "],\n\"viztracer_metadata\":{\"version\":\"1.0.0\",\"overflow\":false");
	/* What to add to a time stamp to get the time of day. */
	if (report->meta->realtime_ns > report->trace->start_ns)
		gt_sink_printf(sink, ",\"baseTimeNanoseconds\":%" PRIu64,
			       report->meta->realtime_ns - report->trace->start_ns);
	gt_sink_puts(sink, "}");
	r = report->stacks ? write_stacks(report, is_used, sink) : 0;
	gt_sink_printf(sink, ",\n\"giltrace\":%s}\n", summary);
	return r;
}
