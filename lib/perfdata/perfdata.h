/* SPDX-License-Identifier: MIT */
/*
 * Reads a perf.data file, whoever wrote it, and gives its records in time order.
 *
 * What a record points to is valid until the next call of gt_perfdata_next(): compressed data is
 * kept no longer than needed. Every size and offset in the file is checked before use: a broken
 * file ends in one message that names the file, the offset and the reason, and in -EBADMSG.
 *
 * The format: tools/perf/Documentation/perf.data-file-format.txt in the Linux source, and
 * include/uapi/linux/perf_event.h for the records.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct perf_event_attr;
struct gt_perfdata;

#define GT_PERF_NO_INDEX UINT32_MAX

/* One event of the file. Owned by the reader. */
struct gt_perf_event {
	const struct perf_event_attr *attr;
	const char *system; /* "giltrace_4711"; NULL without a format of a tracepoint */
	const char *name;   /* "acquired"; "unknown" when the file does not say */
};

/* Where a field of a tracepoint lies in the raw data of its samples. */
struct gt_perf_field {
	uint32_t offset;
	uint32_t size;
};

/* What the file's header says of the recording. Strings are NULL where it does not say. */
struct gt_perfdata_info {
	const char *hostname;
	const char *os_release;
	const char *arch;
	const char *command;  /* of the recorder, blanks between arguments */
	int32_t clock_id;     /* CLOCK_MONOTONIC …; -1 when not known */
	uint64_t clock_ns;    /* with clock_id: one moment on that clock … */
	uint64_t realtime_ns; /* … and the same one on CLOCK_REALTIME; both 0 when not known */
	bool is_unfinished;   /* the recorder was killed: records may be missing at the end */
};

struct gt_perf_record {
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc;
	uint16_t size;
	uint64_t offset;  /* in the file, for messages; of the compressed record around it */
	uint64_t time_ns; /* 0 when not known: the recorder describes what was there before it */
	uint32_t pid, tid;
	uint32_t event; /* index of the event that it belongs to, or GT_PERF_NO_INDEX */
	/*
	 * Which ring it went through: the position of its identifier among those of its event,
	 * which are in the order of the recorder's rings. GT_PERF_NO_INDEX when not known.
	 */
	uint32_t ring;
	union {
		struct {
			const void
				*raw; /* of a tracepoint, or NULL; not aligned, as all of these */
			uint32_t raw_size;
			/* The call chain, with its marks PERF_CONTEXT_*; 64 bits each. */
			uint32_t frame_count;
			const void *frames;
			/* 64 bits for each bit of the mask; NULL when there are none. */
			const void *registers;
			uint64_t register_mask;
			const void *stack; /* from the stack pointer on; NULL without */
			uint32_t stack_bytes;
			bool stack_is_cut; /* it fills all the room that it had */
		} sample;
		struct {
			uint64_t value, enabled_ns,
				running_ns; /* times of the counter; 0: not told */
		} read; /* PERF_RECORD_READ: what a thread has counted of the event; of events
			   that are read as a group, all 0 */
		struct {
			uint32_t ppid, ptid;
		} task; /* PERF_RECORD_FORK, PERF_RECORD_EXIT */
		struct {
			const char *name; /* NUL behind it within the record */
			bool exec;
		} comm;
		struct {
			uint64_t start, length, file_offset;
			const char *path;	 /* NUL behind it within the record */
			const uint8_t *build_id; /* NULL when not recorded */
			uint32_t build_id_size;
			bool executable;
		} mmap; /* PERF_RECORD_MMAP, PERF_RECORD_MMAP2 */
		struct {
			uint64_t count;
		} lost; /* PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES */
	};
};

/*
 * Opens PATH and reads its header, attributes, features and tracing data. On failure a message has
 * been logged: -ENOENT, -EACCES …, -EISDIR, -EBADMSG for a file that is empty, truncated, broken or
 * no perf.data, -EOPNOTSUPP for one of another byte order or with what is not supported (named).
 */
int gt_perfdata_open(const char *path, struct gt_perfdata **ret);
void gt_perfdata_close(struct gt_perfdata *perfdata);
GT_DEFINE_CLEANUP(struct gt_perfdata *, gt_perfdata_close)

uint32_t gt_perfdata_event_count(const struct gt_perfdata *perfdata);
const struct gt_perf_event *gt_perfdata_event(const struct gt_perfdata *perfdata, uint32_t event);
const struct gt_perfdata_info *gt_perfdata_info(const struct gt_perfdata *perfdata);

/* Of a file that was not finished, and has been read: up to when all records of all rings are
 * there.
 */
uint64_t gt_perfdata_complete_ns(const struct gt_perfdata *perfdata);

/*
 * Finds FIELD in the format of a tracepoint, once for a whole file. -ENOENT when the event has no
 * such field or no format.
 */
int gt_perfdata_find_field(const struct gt_perfdata *perfdata, uint32_t event, const char *field,
			   struct gt_perf_field *ret);

/* The value of a field of up to 8 bytes. False when the sample is too short for it. */
static inline bool gt_perf_field_read(const struct gt_perf_record *record,
				      const struct gt_perf_field *field, uint64_t *ret)
{
	uint64_t value = 0;

	if (field->size > sizeof(value) || field->offset > record->sample.raw_size ||
	    field->size > record->sample.raw_size - field->offset)
		return false;
	/* Little-endian: the reader refuses files of a byte order other than the machine's. */
	__builtin_memcpy(&value, (const char *)record->sample.raw + field->offset, field->size);
	*ret = value;
	return true;
}

/*
 * The next record in time order: 1, or 0 at the end, or a negative errno (logged). Records of the
 * recorder's own housekeeping (finished rounds, …) are not given. Memory is bounded by the
 * recorder's rounds: what one of them holds is sorted at a time.
 */
int gt_perfdata_next(struct gt_perfdata *perfdata, struct gt_perf_record *ret);

/* How far gt_perfdata_next() has come, in bytes of the data section. */
void gt_perfdata_progress(const struct gt_perfdata *perfdata, uint64_t *ret_done,
			  uint64_t *ret_total);

/*
 * Records that came later than their round allows, which were given out of order by at most that
 * much: 0 for a sound file.
 */
uint64_t gt_perfdata_late_records(const struct gt_perfdata *perfdata);
