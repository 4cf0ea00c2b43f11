/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace event format, for Perfetto, chrome://tracing and VizTracer.
 *
 * Slices of one track must nest, and those of the GIL do not nest with Python functions: they get a
 * track of their own beside the thread, under a number that no thread can have.
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

static int write_names(const struct gt_report *report, struct event_list *events)
{
	const struct gt_trace *trace = report->trace;
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
		_cleanup_free_ char *name = NULL;

		if (!gt_report_shows_process(report, thread->process))
			continue;
		if (asprintf(&name, "%s (%" PRIu32 ") GIL", thread->name, thread->tid) < 0) {
			name = NULL;
			return -ENOMEM;
		}
		r = write_metadata(events, "thread", pid, thread->tid, thread->name,
				   i * TRACKS + TRACK_FUNCTIONS);
		if (r < 0)
			return r;
		r = write_metadata(events, "thread", pid, track_tid(i, TRACK_GIL), name,
				   i * TRACKS + TRACK_GIL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Microseconds with all three decimals, from integers: a double would lose the last ones. */
#define US_FORMAT "%" PRIu64 ".%03u"
#define US_ARGUMENTS(ns) (uint64_t)(ns) / 1000, (unsigned)((ns) % 1000)

static void write_slices(const struct gt_report *report, struct event_list *events)
{
	const struct gt_trace *trace = report->trace;

	gt_array_for_each (&trace->intervals, interval) {
		const struct gt_thread *thread = &trace->threads.items[interval->thread];

		if (interval->kind == GT_INTERVAL_NO ||
		    !gt_report_shows_process(report, thread->process))
			continue;
		begin_event(events);
		gt_sink_printf(
			events->sink,
			"{\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":" US_FORMAT
			",\"dur\":" US_FORMAT ",\"cat\":\"gil\",\"name\":\"%s\"",
			trace->processes.items[thread->process].pid,
			track_tid(interval->thread, TRACK_GIL), US_ARGUMENTS(interval->start_ns),
			US_ARGUMENTS(interval->end_ns - interval->start_ns),
			slice_names[interval->kind]);
		if (interval->gil != GT_INTERVAL_NO_GIL)
			gt_sink_printf(events->sink, ",\"args\":{\"gil\":%" PRIu32 "}",
				       (uint32_t)interval->gil);
		gt_sink_puts(events->sink, "}");
	}
}

int gt_render_chrome_json(const struct gt_report *report, struct gt_sink *sink)
{
	struct event_list events = {.sink = sink};
	_cleanup_(json_decrefp) json_t *object = gt_summary_json_new(report);
	_cleanup_free_ char *summary = object ? json_dumps(object, JSON_COMPACT) : NULL;
	int r;

	if (!summary)
		return -ENOMEM;

	gt_sink_puts(sink, "{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n");
	r = write_names(report, &events);
	if (r < 0)
		return r;
	write_slices(report, &events);
	gt_sink_puts(sink, "],\n\"viztracer_metadata\":{\"version\":\"1.0.0\",\"overflow\":false");
	/* What to add to a time stamp to get the time of day. */
	if (report->meta->realtime_ns > report->trace->start_ns)
		gt_sink_printf(sink, ",\"baseTimeNanoseconds\":%" PRIu64,
			       report->meta->realtime_ns - report->trace->start_ns);
	gt_sink_printf(sink, "},\n\"giltrace\":%s}\n", summary);
	return 0;
}
