/* SPDX-License-Identifier: MIT */
/* The features: a table behind the data section, with a section of the file for each bit that is
 * set. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "perfdata/reader.h"

/* A string is its length and as many bytes, with a NUL among them. */
static const char *read_string(struct gt_span *span)
{
	struct gt_span text;
	uint32_t length;

	if (!gt_span_read(span, &length, sizeof(length)))
		return NULL;
	text.at = gt_span_take(span, length);
	if (!text.at)
		return NULL;
	text.end = text.at + length;
	return gt_span_string(&text);
}

static int read_command(struct gt_perfdata *perfdata, struct gt_span span)
{
	uint32_t count = 0;

	if (perfdata->info.command || !gt_span_read(&span, &count, sizeof(count)))
		return 0;
	while (count-- > 0) {
		const char *argument = read_string(&span), *before = perfdata->info.command;
		char *joined;

		if (!argument)
			break;
		joined = before ? gt_format("%s %s", before, argument) : strdup(argument);
		if (!joined)
			return gt_error_oom();
		free((char *)before);
		perfdata->info.command = joined;
	}
	return 0;
}

/* Names of the events, in the order of the attributes, for those without a format. */
static void read_event_names(struct gt_perfdata *perfdata, struct gt_span span)
{
	uint32_t count, attr_size, id_count;

	if (!gt_span_read(&span, &count, sizeof(count)) ||
	    !gt_span_read(&span, &attr_size, sizeof(attr_size)))
		return;
	for (uint32_t i = 0; i < count && i < perfdata->event_count; i++) {
		const char *name;

		if (!gt_span_take(&span, attr_size) ||
		    !gt_span_read(&span, &id_count, sizeof(id_count)))
			return;
		name = read_string(&span);
		if (!name || !gt_span_take(&span, id_count * (uint64_t)sizeof(uint64_t)))
			return;
		if (!perfdata->events[i].event.name)
			perfdata->events[i].event.name = name;
	}
}

static void read_clock_data(struct gt_perfdata *perfdata, struct gt_span span)
{
	uint32_t version, clock_id;
	uint64_t realtime_ns, clock_ns;

	if (!gt_span_read(&span, &version, sizeof(version)) || version != 1 ||
	    !gt_span_read(&span, &clock_id, sizeof(clock_id)) ||
	    !gt_span_read(&span, &realtime_ns, sizeof(realtime_ns)) ||
	    !gt_span_read(&span, &clock_ns, sizeof(clock_ns)))
		return;
	perfdata->info.clock_id = (int32_t)clock_id;
	perfdata->info.realtime_ns = realtime_ns;
	perfdata->info.clock_ns = clock_ns;
}

static int read_compression(struct gt_perfdata *perfdata, struct gt_perf_file_section section)
{
	struct gt_span span = gt_perfdata_span(perfdata, section);
	struct {
		uint32_t version, type, level, ratio, ring_bytes;
	} compression;

	if (!gt_span_read(&span, &compression, sizeof(compression)))
		return gt_perfdata_broken(perfdata, section.offset,
					  "the compression feature is too short");
	if (compression.type != 1) {
		gt_error("%s is compressed by a method (%" PRIu32 ") that is not supported\n"
			 "  record it with perf record -z, which uses zstd",
			 perfdata->path, compression.type);
		return -EOPNOTSUPP;
	}
	if (compression.ring_bytes > 0)
		perfdata->decompressed_max = compression.ring_bytes;
	return 0;
}

static int read_feature(struct gt_perfdata *perfdata, unsigned int feature,
			struct gt_perf_file_section section)
{
	struct gt_span span = gt_perfdata_span(perfdata, section);

	switch (feature) {
	case GT_PERF_FEATURE_TRACING_DATA:
		return gt_perfdata_read_formats(perfdata, section);
	case GT_PERF_FEATURE_HOSTNAME:
		perfdata->info.hostname = read_string(&span);
		return 0;
	case GT_PERF_FEATURE_OSRELEASE:
		perfdata->info.os_release = read_string(&span);
		return 0;
	case GT_PERF_FEATURE_ARCH:
		perfdata->info.arch = read_string(&span);
		return 0;
	case GT_PERF_FEATURE_CMDLINE:
		return read_command(perfdata, span);
	case GT_PERF_FEATURE_EVENT_DESC:
		read_event_names(perfdata, span);
		return 0;
	case GT_PERF_FEATURE_CLOCK_DATA:
		read_clock_data(perfdata, span);
		return 0;
	case GT_PERF_FEATURE_COMPRESSED:
		return read_compression(perfdata, section);
	default:
		return 0;
	}
}

int gt_perfdata_read_features(struct gt_perfdata *perfdata)
{
	uint64_t table_offset = perfdata->header.data.offset + perfdata->header.data.size;
	struct gt_span table = {.at = perfdata->map + table_offset,
				.end = perfdata->map + perfdata->size};

	for (unsigned int feature = 0; feature < GT_PERF_FEATURE_COUNT; feature++) {
		struct gt_perf_file_section section;
		int r;

		if (!(perfdata->header.features[feature / 64] >> (feature % 64) & 1))
			continue;
		if (!gt_span_read(&table, &section, sizeof(section)))
			return gt_perfdata_broken(perfdata, perfdata->size,
						  "the file ends within the table of its features");
		if (!gt_perfdata_has(perfdata, section))
			return gt_perfdata_broken(perfdata, section.offset,
						  "feature %u is not in the file", feature);
		r = read_feature(perfdata, feature, section);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < perfdata->event_count; i++)
		if (!perfdata->events[i].event.name)
			perfdata->events[i].event.name = "unknown";
	return 0;
}
