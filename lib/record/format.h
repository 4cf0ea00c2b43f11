/* SPDX-License-Identifier: MIT */
/*
 * What a perf.data file looks like on disk, version 2: the writer and the reader both need it. The
 * records are in libperf's perf/event.h.
 *
 *     file header | attributes | their identifiers | data section | table of features | features
 *
 * in any order but for the table, which is behind the data. giltrace puts one feature, the tracing
 * data, between the attributes and the data section.
 *
 * The format: tools/perf/Documentation/perf.data-file-format.txt in the Linux source.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

#define GT_PERF_FILE_MAGIC UINT64_C(0x32454c4946524550) /* "PERFILE2" */

/* Strings in features are filled up to a multiple of this. */
#define GT_PERF_STRING_ALIGNMENT 64u

struct gt_perf_file_section {
	uint64_t offset;
	uint64_t size;
};

struct gt_perf_file_header {
	uint64_t magic;
	uint64_t size;	    /* of this header; 16 in a file that was written to a pipe */
	uint64_t attr_size; /* of one entry of the attribute section */
	struct gt_perf_file_section attrs;
	struct gt_perf_file_section data;
	struct gt_perf_file_section event_types; /* no longer used */
	uint64_t features[4];			 /* bits, of enum gt_perf_feature */
};

struct gt_perf_file_attr {
	struct perf_event_attr attr; /* attr.size bytes of it, in the file */
	struct gt_perf_file_section ids;
};

/* Only those that are read or written here; the table holds a section for each bit that is set. */
enum gt_perf_feature {
	GT_PERF_FEATURE_TRACING_DATA = 1,
	GT_PERF_FEATURE_HOSTNAME = 3,
	GT_PERF_FEATURE_OSRELEASE = 4,
	GT_PERF_FEATURE_VERSION = 5,
	GT_PERF_FEATURE_ARCH = 6,
	GT_PERF_FEATURE_NRCPUS = 7,
	GT_PERF_FEATURE_CMDLINE = 11,
	GT_PERF_FEATURE_EVENT_DESC = 12,
	GT_PERF_FEATURE_SAMPLE_TIME = 21,
	GT_PERF_FEATURE_CLOCKID = 23,
	GT_PERF_FEATURE_COMPRESSED = 27,
	GT_PERF_FEATURE_CLOCK_DATA = 29,
	GT_PERF_FEATURE_COUNT = 256, /* bits in the header */
};

/* PERF_RECORD_COMPRESSED with a size of its own in front of the data; perf 6.16 and later. */
#define GT_PERF_RECORD_COMPRESSED2 83

/* What the tracing data feature starts with; a NUL-terminated version follows. */
#define GT_TRACING_DATA_MAGIC "\x17\x08\x44tracing"
#define GT_TRACING_DATA_MAGIC_SIZE (sizeof(GT_TRACING_DATA_MAGIC) - 1)
