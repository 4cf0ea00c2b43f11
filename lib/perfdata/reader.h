/* SPDX-License-Identifier: MIT */
/* What the files of the reader share. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/macros.h"
#include "perfdata/decompress.h"
#include "perfdata/perfdata.h"
#include "perfdata/sort.h"
#include "perfdata/span.h"
#include "record/format.h"

struct tep_event;
struct tep_handle;

/*
 * Where an event's records hold what. Offsets in samples are from the record's start; those of
 * other records are from its end, where the fields of sample_id_all are. 0: not recorded.
 */
struct gt_record_layout {
	uint16_t sample_tid;
	uint16_t sample_time;
	uint16_t sample_fixed; /* size of the header and the fields of fixed size */
	uint16_t other_tid;
	uint16_t other_time;
	uint16_t other_size; /* of all fields of sample_id_all */
};

struct gt_reader_event {
	struct gt_perf_event event;
	struct perf_event_attr attr;
	struct gt_record_layout layout;
	struct tep_event *format; /* NULL when the file has none */
};

/* What an identifier stands for. */
struct gt_reader_identity {
	uint32_t event;
	uint32_t ring;
};

struct gt_perfdata {
	char *path;
	const uint8_t *map;
	uint64_t size;
	struct gt_perf_file_header header;
	struct gt_perfdata_info info;

	struct gt_reader_event *events;
	uint32_t event_count;
	GT_ARRAY(struct gt_reader_identity) identities;
	struct gt_hash identifiers; /* identifier → index in identities */
	/* The identifier is at the same place for all events: else nobody could tell whose it is.
	 */
	uint16_t sample_identifier; /* from the record's start; 0: not recorded */
	uint16_t other_identifier;  /* from its end */
	bool same_layout;	    /* of all events */
	struct tep_handle *formats;

	uint64_t cursor; /* in the file, of the next record */
	uint64_t data_end;
	uint64_t next_round; /* a mark is known to be here, once looked for */
	struct gt_decompressor *decompressor;
	uint64_t decompressed_max; /* of one compressed record, in bytes */
	struct gt_sorter sorter;
	uint64_t latest_ns;	 /* of all records seen */
	uint64_t round_limit_ns; /* the same when the last round ended */
	bool warned_of_unknown;	 /* samples that belong to no event */
};

static inline struct gt_span gt_perfdata_span(const struct gt_perfdata *perfdata,
					      struct gt_perf_file_section section)
{
	return (struct gt_span){.at = perfdata->map + section.offset,
				.end = perfdata->map + section.offset + section.size};
}

/* Logs what is wrong at OFFSET of the file, and returns -EBADMSG. */
int gt_perfdata_broken(const struct gt_perfdata *perfdata, uint64_t offset, const char *format, ...)
	_printf_(3, 4);

/* Whether a section lies within the file. */
static inline bool gt_perfdata_has(const struct gt_perfdata *perfdata,
				   struct gt_perf_file_section section)
{
	return section.offset <= perfdata->size && section.size <= perfdata->size - section.offset;
}

/* Logs that the file was not finished and cannot do without what is missing: -EBADMSG. */
int gt_perfdata_refuse_unfinished(const struct gt_perfdata *perfdata);

/* header.c: maps the file, and checks and reads its header. */
int gt_perfdata_map(struct gt_perfdata *perfdata);

/* events.c: the attribute section. */
int gt_perfdata_read_events(struct gt_perfdata *perfdata);

/* features.c: what stands behind the data section. */
int gt_perfdata_read_features(struct gt_perfdata *perfdata);

/* tracing_data.c: the formats of the tracepoints, from the feature at SECTION. */
int gt_perfdata_read_formats(struct gt_perfdata *perfdata, struct gt_perf_file_section section);

/*
 * stream.c: reads records up to where some are ready in the sorter. 1, or 0 at the end of the file,
 * or a negative errno.
 */
int gt_perfdata_fill(struct gt_perfdata *perfdata);

/* The record at a position that fill() gave to the sorter, and its offset for messages. */
const void *gt_perfdata_record_at(const struct gt_perfdata *perfdata, uint64_t position,
				  uint64_t *ret_offset);

/*
 * records.c: the time of a record that is complete: 0 when it has none. False when the record is
 * too short, or a sample of no event of the file.
 */
bool gt_perfdata_record_time(const struct gt_perfdata *perfdata, const void *record,
			     uint64_t *ret_time_ns);

/* Takes a record apart. NULL, or what is wrong with it. */
const char *gt_perfdata_parse(const struct gt_perfdata *perfdata, const void *record,
			      struct gt_perf_record *ret);
