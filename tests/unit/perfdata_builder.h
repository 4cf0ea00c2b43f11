/* SPDX-License-Identifier: MIT */
/*
 * Makes small perf.data files in memory, for tests. They have three events (a dummy, "acquired" and
 * "release" with a field "lock") and two rings; and when they are asked for, four more that are
 * about states.
 */
#pragma once

#include <linux/perf_event.h>
#include <perf/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "record/format.h"

#define BUILDER_RINGS 2u
#define BUILDER_PID 4711u
#define BUILDER_REGISTERS 0x3u /* two of them */
#define BUILDER_STACK_BYTES 16u
#define BUILDER_IDENTIFIED (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

enum builder_event {
	BUILDER_DUMMY,
	BUILDER_ACQUIRED,
	BUILDER_RELEASE,
	BUILDER_EVENTS,
	/* With states. */
	BUILDER_SWITCH = BUILDER_EVENTS, /* with stacks */
	BUILDER_WAKING,			 /* of all tasks, in rings of its own */
	BUILDER_RSS_STAT,
	BUILDER_COUNTER,
	BUILDER_ALL_EVENTS,
};

struct builder {
	FILE *out; /* the data section so far */
	char *data;
	size_t data_size;
	uint32_t attr_size;			 /* of struct perf_event_attr in the file */
	uint32_t compressed_ring_bytes;		 /* for the COMPRESSED feature; 0: without it */
	const struct perf_event_attr *only_attr; /* instead of the three events */
	bool has_states;
	bool is_of_all; /* tasks of the system: perf record -a */
};

static inline void builder_init(struct builder *builder)
{
	*builder = (struct builder){.attr_size = sizeof(struct perf_event_attr)};
	builder->out = open_memstream(&builder->data, &builder->data_size);
}

static inline void builder_clear(struct builder *builder)
{
	fclose(builder->out);
	free(builder->data);
}

static inline void builder_put(struct builder *builder, const void *bytes, size_t size)
{
	fwrite(bytes, 1, size, builder->out);
}

static inline uint64_t builder_id(enum builder_event event, uint32_t ring)
{
	return 100 + (uint64_t)event * 10 + ring;
}

/* The raw data of a sample of the two tracepoints, with the size before it, filled up to 8 bytes.
 */
struct __attribute__((packed)) builder_raw {
	uint32_t size;
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	uint64_t probe_ip, lock;
	uint32_t filling;
};

static inline struct builder_raw builder_raw(uint32_t tid, uint64_t lock)
{
	return (struct builder_raw){.size = sizeof(struct builder_raw) - sizeof(uint32_t),
				    .type = 1001,
				    .pid = (int32_t)tid,
				    .probe_ip = 0x1000,
				    .lock = lock};
}

static inline void builder_sample(struct builder *builder, enum builder_event event, uint32_t ring,
				  uint32_t tid, uint64_t time_ns, uint64_t lock)
{
	struct {
		struct perf_event_header header;
		uint64_t id;
		uint32_t pid, tid;
		uint64_t time_ns;
		struct builder_raw raw;
	} sample = {
		.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(sample)},
		.id = builder_id(event, ring),
		.pid = BUILDER_PID,
		.tid = tid,
		.time_ns = time_ns,
		.raw = builder_raw(tid, lock),
	};

	builder_put(builder, &sample, sizeof(sample));
}

/* A sample of a tracepoint of states: REST is what comes behind the time. */
static inline void builder_state_sample(struct builder *builder, enum builder_event event,
					uint32_t ring, uint32_t tid, uint64_t time_ns,
					const void *rest, size_t size)
{
	struct {
		struct perf_event_header header;
		uint64_t id;
		uint32_t pid, tid;
		uint64_t time_ns;
	} start = {
		.header = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)(sizeof(start) + size)},
		.id = builder_id(event, ring),
		.pid = BUILDER_PID,
		.tid = tid,
		.time_ns = time_ns,
	};

	builder_put(builder, &start, sizeof(start));
	builder_put(builder, rest, size);
}

/* Any other record, of EVENT in RING: its BODY, and the fields of sample_id_all. */
static inline void builder_record_of(struct builder *builder, enum builder_event event,
				     uint32_t ring, uint32_t type, uint16_t misc, const void *body,
				     size_t size, uint32_t tid, uint64_t time_ns)
{
	struct {
		uint32_t pid, tid;
		uint64_t time_ns;
		uint64_t id;
	} end = {.pid = BUILDER_PID, .tid = tid, .time_ns = time_ns, .id = builder_id(event, ring)};
	struct perf_event_header header = {
		.type = type,
		.misc = misc,
		.size = (uint16_t)(sizeof(header) + size + sizeof(end)),
	};

	builder_put(builder, &header, sizeof(header));
	builder_put(builder, body, size);
	builder_put(builder, &end, sizeof(end));
}

static inline void builder_record(struct builder *builder, uint32_t type, uint16_t misc,
				  const void *body, size_t size, uint32_t tid, uint64_t time_ns)
{
	builder_record_of(builder, BUILDER_DUMMY, 1, type, misc, body, size, tid, time_ns);
}

static inline void builder_round(struct builder *builder)
{
	struct perf_event_header mark = {.type = PERF_RECORD_FINISHED_ROUND, .size = sizeof(mark)};

	builder_put(builder, &mark, sizeof(mark));
}

static inline void builder_u32(FILE *out, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

static inline void builder_text(FILE *out, const char *text)
{
	uint64_t size = strlen(text);

	fwrite(&size, sizeof(size), 1, out);
	fwrite(text, 1, size, out);
}

/* FIELDS: the lines of the format, without the common ones. */
static inline void builder_state_format(FILE *out, const char *name, int id, const char *fields)
{
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text,
		     "name: %s\nID: %d\nformat:\n"
		     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		     "%s\nprint fmt: \"\"\n",
		     name, id, fields) >= 0)
		builder_text(out, text);
}

/* Shorter than the kernel's, but of the same names and sizes. */
static inline void builder_state_formats(FILE *out)
{
	fwrite("sched", 1, sizeof("sched"), out);
	builder_u32(out, 2);
	builder_state_format(out, "sched_switch", 1000 + BUILDER_SWITCH,
			     "\tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n");
	builder_state_format(out, "sched_waking", 1000 + BUILDER_WAKING,
			     "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n");
	fwrite("kmem", 1, sizeof("kmem"), out);
	builder_u32(out, 1);
	builder_state_format(out, "rss_stat", 1000 + BUILDER_RSS_STAT,
			     "\tfield:unsigned int curr;\toffset:8;\tsize:4;\tsigned:0;\n"
			     "\tfield:int member;\toffset:12;\tsize:4;\tsigned:1;\n"
			     "\tfield:long size;\toffset:16;\tsize:8;\tsigned:1;\n");
}

static inline void builder_format(FILE *out, const char *name, int id)
{
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text,
		     "name: %s\nID: %d\nformat:\n"
		     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		     "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		     "\tfield:u64 lock;\toffset:16;\tsize:8;\tsigned:0;\n\n"
		     "print fmt: \"(%%lx) lock=0x%%Lx\", REC->__probe_ip, REC->lock\n",
		     name, id) >= 0)
		builder_text(out, text);
}

static inline void builder_tracing_data(const struct builder *builder, FILE *out)
{
	fwrite(GT_TRACING_DATA_MAGIC, 1, GT_TRACING_DATA_MAGIC_SIZE, out);
	fwrite("0.6", 1, 4, out);
	fputc(0, out);
	fputc(sizeof(long), out);
	builder_u32(out, 4096);
	fwrite("header_page", 1, sizeof("header_page"), out);
	builder_text(out, "");
	fwrite("header_event", 1, sizeof("header_event"), out);
	builder_text(out, "");
	builder_u32(out, 0);
	builder_u32(out, builder->has_states ? 3 : 1);
	fwrite("probes", 1, sizeof("probes"), out);
	builder_u32(out, 2);
	builder_format(out, "acquired", 1001);
	builder_format(out, "release", 1002);
	if (builder->has_states)
		builder_state_formats(out);
	builder_u32(out, 0);
	builder_u32(out, 0);
	builder_text(out, "");
}

static inline struct perf_event_attr builder_attr(const struct builder *builder,
						  enum builder_event event)
{
	bool is_tracepoint = event != BUILDER_DUMMY && event != BUILDER_COUNTER;
	struct perf_event_attr attr = {
		.type = is_tracepoint ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
		.config = is_tracepoint		   ? 1000 + (uint64_t)event
			  : event == BUILDER_DUMMY ? PERF_COUNT_SW_DUMMY
						   : PERF_COUNT_SW_PAGE_FAULTS,
		.sample_type = BUILDER_IDENTIFIED | (is_tracepoint ? (uint64_t)PERF_SAMPLE_RAW : 0),
		.sample_id_all = 1,
		.inherit = builder->has_states && !builder->is_of_all && event != BUILDER_WAKING,
	};

	if (event == BUILDER_SWITCH) {
		attr.sample_type |=
			PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = BUILDER_REGISTERS;
		attr.sample_stack_user = BUILDER_STACK_BYTES;
	}
	if (event == BUILDER_COUNTER)
		attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
				   PERF_FORMAT_ID;

	if (builder->only_attr)
		attr = *builder->only_attr;
	attr.size = builder->attr_size;
	return attr;
}

static inline void builder_put_section(FILE *out, uint64_t offset, uint64_t size)
{
	struct gt_perf_file_section section = {.offset = offset, .size = size};

	fwrite(&section, sizeof(section), 1, out);
}

/* The identifiers of the events, and the events; from OFFSET on. */
static inline void builder_put_events(const struct builder *builder, FILE *out, uint32_t count,
				      uint64_t offset)
{
	static const char larger[256] = {0};

	for (uint32_t event = 0; event < count; event++)
		for (uint32_t ring = 0; ring < BUILDER_RINGS; ring++) {
			uint64_t id = builder_id(event, ring);

			fwrite(&id, sizeof(id), 1, out);
		}
	for (uint32_t event = 0; event < count; event++) {
		struct perf_event_attr attr = builder_attr(builder, event);
		size_t known = GT_MIN(sizeof(attr), (size_t)builder->attr_size);
		uint64_t ids_size = builder->only_attr ? 0 : BUILDER_RINGS * sizeof(uint64_t);

		fwrite(&attr, 1, known, out);
		fwrite(larger, 1, builder->attr_size - known, out);
		builder_put_section(out, offset + event * ids_size, ids_size);
	}
}

/* The whole file; the caller frees it. */
static inline char *builder_finish(struct builder *builder, size_t *ret_size)
{
	uint32_t count = builder->only_attr    ? 1
			 : builder->has_states ? BUILDER_ALL_EVENTS
					       : BUILDER_EVENTS;
	uint64_t ids_size = count * BUILDER_RINGS * sizeof(uint64_t);
	uint64_t entry_size = builder->attr_size + sizeof(struct gt_perf_file_section);
	struct gt_perf_file_header header = {
		.magic = GT_PERF_FILE_MAGIC,
		.size = sizeof(header),
		.attr_size = entry_size,
		.attrs = {.offset = sizeof(header) + ids_size, .size = count * entry_size},
	};
	uint32_t compression[] = {1, 1, 1, 1, builder->compressed_ring_bytes};
	char *tracing_data = NULL, *file = NULL;
	size_t tracing_size = 0;
	FILE *tracing = open_memstream(&tracing_data, &tracing_size);
	FILE *out = open_memstream(&file, ret_size);
	uint64_t offset;

	builder_tracing_data(builder, tracing);
	fclose(tracing);
	fflush(builder->out);
	header.data.offset = header.attrs.offset + header.attrs.size;
	header.data.size = builder->data_size;
	header.features[0] = UINT64_C(1) << GT_PERF_FEATURE_TRACING_DATA;
	offset = header.data.offset + header.data.size + sizeof(struct gt_perf_file_section);
	if (builder->compressed_ring_bytes > 0) {
		header.features[0] |= UINT64_C(1) << GT_PERF_FEATURE_COMPRESSED;
		offset += sizeof(struct gt_perf_file_section);
	}
	fwrite(&header, sizeof(header), 1, out);
	builder_put_events(builder, out, count, sizeof(header));
	fwrite(builder->data, 1, builder->data_size, out);
	builder_put_section(out, offset, tracing_size);
	if (builder->compressed_ring_bytes > 0)
		builder_put_section(out, offset + tracing_size, sizeof(compression));
	fwrite(tracing_data, 1, tracing_size, out);
	if (builder->compressed_ring_bytes > 0)
		fwrite(compression, sizeof(compression), 1, out);
	fclose(out);
	free(tracing_data);
	return file;
}
