/* SPDX-License-Identifier: MIT */
/*
 * Writes a perf.data file: header, events, formats of tracepoints, records as they come, and at
 * last the other features. The header says from the start where the records begin, and how many
 * bytes of them there are only at the end, as with perf record: a reader can tell a file that was
 * not finished. perf puts the formats behind the records, and cannot say then what these are.
 */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "record/format.h"

struct gt_perfdata_writer;

struct gt_writer_event {
	const char *name;
	struct perf_event_attr attr;
	const uint64_t *ids;
	uint32_t id_count;
};

/* A feature's contents, made by the caller. */
struct gt_writer_feature {
	enum gt_perf_feature feature;
	const void *data;
	size_t size;
};

/* What comes before the records. */
struct gt_writer_start {
	const struct gt_writer_event *events;
	uint32_t event_count;
	const void *tracing_data; /* the feature; NULL without tracepoints */
	size_t tracing_data_size;
};

/* Makes or empties PATH and writes START. Logs what failed. */
int gt_perfdata_writer_open(const char *path, const struct gt_writer_start *start,
			    struct gt_perfdata_writer **ret);

/* Adds SIZE bytes of records. They are gathered, and written many at a time. Logs what failed. */
int gt_perfdata_writer_append(struct gt_perfdata_writer *writer, const void *data, size_t size);

/* To be called now and then: writes what has been gathered for a second. Logs what failed. */
int gt_perfdata_writer_tend(struct gt_perfdata_writer *writer);

/*
 * Writes what was gathered, the features (sorted by their number, with their own contents; not the
 * tracing data, which is there), and the header. The file is complete afterwards.
 */
int gt_perfdata_writer_finish(struct gt_perfdata_writer *writer,
			      const struct gt_writer_feature *features, uint32_t feature_count);

/* Bytes written or gathered so far, without features. */
uint64_t gt_perfdata_writer_bytes(const struct gt_perfdata_writer *writer);

void gt_perfdata_writer_close(struct gt_perfdata_writer *writer);
GT_DEFINE_CLEANUP(struct gt_perfdata_writer *, gt_perfdata_writer_close)
