/* SPDX-License-Identifier: MIT */
/*
 * The formats of the tracepoints: which fields their raw data has. The section holds what tracefs
 * showed to the recorder, in this order:
 *
 *     magic, version, byte order, size of long, size of a page
 *     the two formats of ftrace's own pages and events, each with its name and u64 size
 *     u32 count of ftrace's own events, each with its u64 size
 *     u32 count of systems: each has a name, a u32 count of events, and each event its u64 size
 *
 * Kernel symbols, printk formats and the names of tasks follow, and are not needed here.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "base/log.h"
#include "base/macros.h"
#include "perfdata/reader.h"

static int formats_broken(const struct gt_perfdata *perfdata, const struct gt_span *span)
{
	return gt_perfdata_broken(perfdata, (uint64_t)(span->at - perfdata->map),
				  "the formats of the tracepoints are cut off");
}

/* A text with its u64 size in front; *RET_SIZE is 0 on failure. */
static const char *read_text(struct gt_span *span, uint64_t *ret_size)
{
	uint64_t size;

	if (!gt_span_read(span, &size, sizeof(size)))
		return NULL;
	*ret_size = size;
	return gt_span_take(span, size);
}

static bool read_start(struct gt_span *span, struct tep_handle *formats)
{
	const char *magic = gt_span_take(span, GT_TRACING_DATA_MAGIC_SIZE);
	uint8_t byte_order, long_size;
	uint32_t page_size;

	if (!magic || memcmp(magic, GT_TRACING_DATA_MAGIC, GT_TRACING_DATA_MAGIC_SIZE) != 0 ||
	    !gt_span_string(span) || !gt_span_read(span, &byte_order, sizeof(byte_order)) ||
	    !gt_span_read(span, &long_size, sizeof(long_size)) ||
	    !gt_span_read(span, &page_size, sizeof(page_size)))
		return false;
	tep_set_file_bigendian(formats, byte_order ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(formats, long_size);
	tep_set_page_size(formats, (int)page_size);
	return true;
}

/* The formats of ftrace's ring buffer, which perf does not use: "header_page" and "header_event".
 */
static bool skip_ring_buffer(struct gt_span *span)
{
	uint64_t size;

	for (int i = 0; i < 2; i++)
		if (!gt_span_string(span) || !read_text(span, &size))
			return false;
	return true;
}

static bool skip_ftrace_events(struct gt_span *span)
{
	uint32_t count;
	uint64_t size;

	if (!gt_span_read(span, &count, sizeof(count)))
		return false;
	while (count-- > 0)
		if (!read_text(span, &size))
			return false;
	return true;
}

/* Whether a line of a format tells of what is recorded. */
static bool is_of_fields(const char *line, size_t size)
{
	static const char *const starts[] = {"name:", "ID:", "format:", "\tfield:", "\n"};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (size >= strlen(starts[i]) && memcmp(line, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/*
 * Gives libtraceevent (1.7) no more of the format than we need: it follows NULL where the "print
 * fmt" of a broken file makes no sense. One that it does not understand is left without fields.
 */
static int parse_format(struct tep_handle *formats, const char *text, size_t size,
			const char *system)
{
	static const char print[] = "print fmt: \"\"\n";
	_cleanup_free_ char *needed = malloc(size + sizeof(print));
	size_t used = 0;

	if (!needed)
		return gt_error_oom();
	for (const char *line = text, *last = text + size; line < last;) {
		const char *end = memchr(line, '\n', (size_t)(last - line));
		size_t length = (size_t)((end ? end + 1 : last) - line);

		if (end && is_of_fields(line, length)) {
			memcpy(needed + used, line, length);
			used += length;
		}
		line += length;
	}
	memcpy(needed + used, print, sizeof(print));
	tep_parse_event(formats, needed, used + strlen(print), system);
	return 0;
}

static int read_system(struct gt_perfdata *perfdata, struct gt_span *span)
{
	const char *system = gt_span_string(span), *text;
	uint32_t count;
	uint64_t size;
	int r;

	if (!system || !gt_span_read(span, &count, sizeof(count)))
		return formats_broken(perfdata, span);
	while (count-- > 0) {
		text = read_text(span, &size);
		if (!text)
			return formats_broken(perfdata, span);
		r = parse_format(perfdata->formats, text, size, system);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Gives each tracepoint its format and the names from it. */
static void find_formats(struct gt_perfdata *perfdata)
{
	for (uint32_t i = 0; i < perfdata->event_count; i++) {
		struct gt_reader_event *event = &perfdata->events[i];

		if (event->attr.type != PERF_TYPE_TRACEPOINT || event->attr.config > INT_MAX)
			continue;
		event->format = tep_find_event(perfdata->formats, (int)event->attr.config);
		if (!event->format)
			continue;
		event->event.system = event->format->system;
		event->event.name = event->format->name;
	}
}

int gt_perfdata_read_formats(struct gt_perfdata *perfdata, struct gt_perf_file_section section)
{
	struct gt_span span = gt_perfdata_span(perfdata, section);
	uint32_t system_count;

	if (perfdata->formats)
		return 0;
	perfdata->formats = tep_alloc();
	if (!perfdata->formats)
		return gt_error_oom();
	tep_set_loglevel(TEP_LOG_NONE);
	if (!read_start(&span, perfdata->formats) || !skip_ring_buffer(&span) ||
	    !skip_ftrace_events(&span) || !gt_span_read(&span, &system_count, sizeof(system_count)))
		return formats_broken(perfdata, &span);
	while (system_count-- > 0) {
		int r = read_system(perfdata, &span);

		if (r < 0)
			return r;
	}
	find_formats(perfdata);
	return 0;
}

int gt_perfdata_find_field(const struct gt_perfdata *perfdata, uint32_t event, const char *field,
			   struct gt_perf_field *ret)
{
	struct tep_event *format = perfdata->events[event].format;
	struct tep_format_field *found = format ? tep_find_any_field(format, field) : NULL;

	if (!found || found->offset < 0 || found->size < 0)
		return -ENOENT;
	*ret = (struct gt_perf_field){.offset = (uint32_t)found->offset,
				      .size = (uint32_t)found->size};
	return 0;
}
