/* SPDX-License-Identifier: MIT */
#include "perfdata/perfdata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <traceevent/event-parse.h>

#include "base/log.h"
#include "perfdata/reader.h"

/* A compressed record comes from a piece of one ring, so it never becomes larger than this. */
#define MAX_DECOMPRESSED_BYTES (UINT64_C(1) << 30)

int gt_perfdata_broken(const struct gt_perfdata *perfdata, uint64_t offset, const char *format, ...)
{
	_cleanup_free_ char *reason = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&reason, format, arguments) < 0)
		reason = NULL;
	va_end(arguments);
	gt_error("%s: broken at offset %" PRIu64 ": %s", perfdata->path, offset,
		 reason ? reason : format);
	return -EBADMSG;
}

/*
 * The formats of tracepoints, which giltrace puts between the attributes and the records: the table
 * of features that tells where they are is not there.
 */
static int read_early_formats(struct gt_perfdata *perfdata)
{
	const struct gt_perf_file_header *header = &perfdata->header;
	struct gt_perf_file_section formats;

	if (!gt_perfdata_has(perfdata, header->attrs))
		return 0;
	formats.offset = header->attrs.offset + header->attrs.size;
	if (formats.offset > header->data.offset)
		return 0;
	formats.size = header->data.offset - formats.offset;
	if (formats.size < GT_TRACING_DATA_MAGIC_SIZE ||
	    memcmp(perfdata->map + formats.offset, GT_TRACING_DATA_MAGIC,
		   GT_TRACING_DATA_MAGIC_SIZE) != 0)
		return 0;
	return gt_perfdata_read_formats(perfdata, formats);
}

/* A tracepoint has its name and its fields in the tracing data. */
static int check_unfinished(struct gt_perfdata *perfdata)
{
	int r;

	if (!perfdata->info.is_unfinished)
		return 0;
	r = read_early_formats(perfdata);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < perfdata->event_count; i++)
		if (perfdata->events[i].attr.type == PERF_TYPE_TRACEPOINT &&
		    !perfdata->events[i].format)
			return gt_perfdata_refuse_unfinished(perfdata);
	gt_warning("%s was not finished: its recorder was killed, or could not write\n"
		   "  what had been written until then is read",
		   perfdata->path);
	return 0;
}

int gt_perfdata_open(const char *path, struct gt_perfdata **ret)
{
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = calloc(1, sizeof(*perfdata));
	int r;

	if (!perfdata)
		return gt_error_oom();
	perfdata->path = strdup(path);
	if (!perfdata->path)
		return gt_error_oom();
	perfdata->info.clock_id = -1;
	perfdata->decompressed_max = MAX_DECOMPRESSED_BYTES;
	r = gt_perfdata_map(perfdata);
	if (r < 0)
		return r;
	r = gt_perfdata_read_events(perfdata);
	if (r < 0)
		return r;
	r = check_unfinished(perfdata);
	if (r < 0)
		return r;
	r = gt_perfdata_read_features(perfdata);
	if (r < 0)
		return r;
	perfdata->cursor = perfdata->header.data.offset;
	perfdata->data_end = perfdata->cursor + perfdata->header.data.size;
	*ret = GT_STEAL(perfdata);
	return 0;
}

void gt_perfdata_close(struct gt_perfdata *perfdata)
{
	if (!perfdata)
		return;
	if (perfdata->decompressor)
		gt_decompressor_free(perfdata->decompressor);
	if (perfdata->formats)
		tep_free(perfdata->formats);
	if (perfdata->map)
		munmap((void *)perfdata->map, perfdata->size);
	gt_sorter_clear(&perfdata->sorter);
	gt_hash_clear(&perfdata->identifiers);
	gt_array_clear(&perfdata->identities);
	free((char *)perfdata->info.command);
	free(perfdata->events);
	free(perfdata->path);
	free(perfdata);
}

uint32_t gt_perfdata_event_count(const struct gt_perfdata *perfdata)
{
	return perfdata->event_count;
}

const struct gt_perf_event *gt_perfdata_event(const struct gt_perfdata *perfdata, uint32_t event)
{
	return &perfdata->events[event].event;
}

const struct gt_perfdata_info *gt_perfdata_info(const struct gt_perfdata *perfdata)
{
	return &perfdata->info;
}

uint64_t gt_perfdata_complete_ns(const struct gt_perfdata *perfdata)
{
	return perfdata->round_limit_ns;
}

int gt_perfdata_next(struct gt_perfdata *perfdata, struct gt_perf_record *ret)
{
	const struct gt_sort_key *key = gt_sorter_next(&perfdata->sorter);
	const char *wrong;
	const void *record;
	int r;

	if (!key) {
		r = gt_perfdata_fill(perfdata);
		if (r <= 0)
			return r;
		key = gt_sorter_next(&perfdata->sorter);
	}
	record = gt_perfdata_record_at(perfdata, key->position, &ret->offset);
	ret->time_ns = key->time_ns;
	wrong = gt_perfdata_parse(perfdata, record, ret);
	if (wrong)
		return gt_perfdata_broken(perfdata, ret->offset, "%s", wrong);
	return 1;
}

void gt_perfdata_progress(const struct gt_perfdata *perfdata, uint64_t *ret_done,
			  uint64_t *ret_total)
{
	*ret_done = perfdata->cursor - perfdata->header.data.offset;
	*ret_total = perfdata->header.data.size;
}

uint64_t gt_perfdata_late_records(const struct gt_perfdata *perfdata)
{
	return perfdata->sorter.late;
}
