/* SPDX-License-Identifier: MIT */
/* From the data section to the sorter: one record after the other, compressed or not. */
#include <errno.h>
#include <inttypes.h>
#include <perf/event.h>

#include "base/log.h"
#include "perfdata/reader.h"

/* A sorter's position in decompressed data has this bit; the others are offsets in the file. */
#define IS_DECOMPRESSED (UINT64_C(1) << 63)

/* Records that are held at most when the file has no marks of rounds to tell what is complete. */
#define WINDOW_RECORDS (4u << 20)

const void *gt_perfdata_record_at(const struct gt_perfdata *perfdata, uint64_t position,
				  uint64_t *ret_offset)
{
	if (position & IS_DECOMPRESSED)
		return gt_decompressor_at(perfdata->decompressor, position & ~IS_DECOMPRESSED,
					  ret_offset);
	*ret_offset = position;
	return perfdata->map + position;
}

static uint16_t record_size(const void *record)
{
	struct perf_event_header header;

	memcpy(&header, record, sizeof(header));
	return header.size;
}

/* What the recorder was writing when it was killed is no record. */
static bool is_unfinished_record(const struct gt_perfdata *perfdata, uint64_t offset)
{
	uint64_t left = perfdata->data_end - offset;

	return perfdata->info.is_unfinished && (left < sizeof(struct perf_event_header) ||
						record_size(perfdata->map + offset) > left);
}

/*
 * The size in the file of the record at OFFSET, with data that follows it. The record itself is
 * whole when this returns 0.
 */
static int measure_record(const struct gt_perfdata *perfdata, uint64_t offset,
			  struct perf_event_header *ret_header, uint64_t *ret_size)
{
	uint64_t left = perfdata->data_end - offset;
	struct perf_event_header header;
	uint64_t size;

	if (left < sizeof(header))
		return gt_perfdata_broken(perfdata, offset, "the last record is cut off");
	memcpy(&header, perfdata->map + offset, sizeof(header));
	size = header.size;
	if (size < sizeof(header))
		return gt_perfdata_broken(perfdata, offset, "a record of %" PRIu64 " bytes", size);
	if (size <= left && header.type == PERF_RECORD_AUXTRACE) {
		struct perf_record_auxtrace auxtrace;

		if (size < sizeof(auxtrace))
			return gt_perfdata_broken(perfdata, offset, "the AUXTRACE record is short");
		memcpy(&auxtrace, perfdata->map + offset, sizeof(auxtrace));
		if (auxtrace.size > left - size)
			return gt_perfdata_broken(perfdata, offset,
						  "the AUXTRACE data goes past the data section");
		size += auxtrace.size;
	}
	if (size > left)
		return gt_perfdata_broken(
			perfdata, offset,
			"a record of %" PRIu64 " bytes goes past the data section", size);
	*ret_header = header;
	*ret_size = size;
	return 0;
}

static int decompress_record(struct gt_perfdata *perfdata, uint64_t offset,
			     const struct perf_event_header *header)
{
	struct gt_span data = {.at = perfdata->map + offset + sizeof(*header),
			       .end = perfdata->map + offset + header->size};
	int r;

	if (header->type == GT_PERF_RECORD_COMPRESSED2) {
		uint64_t size;

		if (!gt_span_read(&data, &size, sizeof(size)) || size > gt_span_left(&data))
			return gt_perfdata_broken(perfdata, offset,
						  "a compressed record is too short");
		data.end = data.at + size;
	}
	if (!perfdata->decompressor) {
		r = gt_decompressor_new(&perfdata->decompressor);
		if (r < 0)
			return gt_error_oom();
	}
	r = gt_decompressor_feed(perfdata->decompressor, data.at, gt_span_left(&data),
				 perfdata->decompressed_max, offset);
	if (r == -ENOMEM)
		return gt_error_oom();
	if (r < 0)
		return gt_perfdata_broken(perfdata, offset, "the zstd data cannot be decompressed");
	return 0;
}

/*
 * The next record, from the decompressed data or else from the file: 1, or 0 at the end. A
 * compressed record is replaced by the records in it.
 */
static int next_record(struct gt_perfdata *perfdata, const void **ret, uint64_t *ret_position)
{
	for (;;) {
		struct perf_event_header header = {0};
		uint64_t offset = perfdata->cursor, size = 0, position;
		const void *record;
		int r;

		if (perfdata->decompressor) {
			record = gt_decompressor_next(perfdata->decompressor, &position);
			if (record && record_size(record) < sizeof(header))
				return gt_perfdata_broken(perfdata, offset,
							  "a record of %u bytes in compressed data",
							  record_size(record));
			if (record) {
				*ret = record;
				*ret_position = position | IS_DECOMPRESSED;
				return 1;
			}
		}
		if (offset == perfdata->data_end || is_unfinished_record(perfdata, offset))
			break;
		r = measure_record(perfdata, offset, &header, &size);
		if (r < 0)
			return r;
		perfdata->cursor += size;
		if (header.type != PERF_RECORD_COMPRESSED &&
		    header.type != GT_PERF_RECORD_COMPRESSED2) {
			*ret = perfdata->map + offset;
			*ret_position = offset;
			return 1;
		}
		r = decompress_record(perfdata, offset, &header);
		if (r < 0)
			return r;
	}
	if (perfdata->decompressor && gt_decompressor_is_partial(perfdata->decompressor))
		return gt_perfdata_broken(perfdata, perfdata->data_end,
					  "the compressed data ends within a record");
	return 0;
}

/* Whether a round will end further on. The marks are never compressed. */
static bool has_round_ahead(struct gt_perfdata *perfdata)
{
	uint64_t offset = perfdata->cursor;

	if (perfdata->next_round >= offset)
		return perfdata->next_round != UINT64_MAX;
	while (offset < perfdata->data_end) {
		struct perf_event_header header;
		uint64_t size;

		/* What is broken is told when the reading comes to it. */
		if (perfdata->data_end - offset < sizeof(header))
			break;
		memcpy(&header, perfdata->map + offset, sizeof(header));
		size = header.size;
		if (header.type == PERF_RECORD_FINISHED_ROUND) {
			perfdata->next_round = offset;
			return true;
		}
		if (size < sizeof(header) || size > perfdata->data_end - offset ||
		    header.type == PERF_RECORD_AUXTRACE)
			break;
		offset += size;
	}
	perfdata->next_round = UINT64_MAX;
	return false;
}

/*
 * A round is over: every ring has been read once. What is read from now on happened after the end
 * of the round before, because the rings were emptied then; so what is older is complete.
 */
static int end_round(struct gt_perfdata *perfdata)
{
	int r = gt_sorter_release(&perfdata->sorter, perfdata->round_limit_ns);

	perfdata->round_limit_ns = perfdata->latest_ns;
	return r;
}

static int add_record(struct gt_perfdata *perfdata, const void *record, uint64_t position)
{
	uint64_t time_ns, offset;

	if (!gt_perfdata_record_time(perfdata, record, &time_ns)) {
		struct perf_event_header header;

		memcpy(&header, record, sizeof(header));
		gt_perfdata_record_at(perfdata, position, &offset);
		if (header.type != PERF_RECORD_SAMPLE || header.size < sizeof(header) * 2)
			return gt_perfdata_broken(perfdata, offset,
						  "the record (type %u, %u bytes) is too short",
						  header.type, header.size);
		if (!perfdata->warned_of_unknown)
			gt_warning("%s: samples that belong to no event of the file are left out "
				   "(the first is at offset %" PRIu64 ")",
				   perfdata->path, offset);
		perfdata->warned_of_unknown = true;
		return 0;
	}
	perfdata->latest_ns = GT_MAX(perfdata->latest_ns, time_ns);
	return gt_sorter_add(&perfdata->sorter, time_ns, position);
}

/* Drops what was given: keys, and decompressed blocks that no key points to any more. */
static void drop_given(struct gt_perfdata *perfdata)
{
	gt_sorter_compact(&perfdata->sorter);
	if (!perfdata->decompressor)
		return;
	gt_array_for_each (&perfdata->sorter.keys, key)
		if (key->position & IS_DECOMPRESSED)
			gt_decompressor_keep(perfdata->decompressor,
					     key->position & ~IS_DECOMPRESSED);
	gt_decompressor_sweep(perfdata->decompressor);
}

int gt_perfdata_fill(struct gt_perfdata *perfdata)
{
	struct gt_sorter *sorter = &perfdata->sorter;
	int r;

	drop_given(perfdata);
	while (sorter->ready == 0) {
		const void *record = NULL;
		struct perf_event_header header;
		uint64_t position = 0;

		r = next_record(perfdata, &record, &position);
		if (r < 0)
			return r;
		if (r == 0) {
			if (gt_sorter_release(sorter, UINT64_MAX) < 0)
				return gt_error_oom();
			return sorter->ready > 0;
		}
		memcpy(&header, record, sizeof(header));
		if (header.type == PERF_RECORD_FINISHED_ROUND)
			r = end_round(perfdata);
		else if (header.type < PERF_RECORD_USER_TYPE_START)
			r = add_record(perfdata, record, position);
		if (r == -ENOMEM)
			return gt_error_oom();
		if (r < 0)
			return r;
		if (sorter->keys.count >= WINDOW_RECORDS && !has_round_ahead(perfdata) &&
		    gt_sorter_release_half(sorter) < 0)
			return gt_error_oom();
	}
	return 1;
}
