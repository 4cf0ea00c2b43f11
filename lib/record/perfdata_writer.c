/* SPDX-License-Identifier: MIT */
#include "record/perfdata_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/time.h"
#include "record/write_error.h"

#define BUFFER_BYTES ((size_t)4 << 20)
/* What a giltrace that is killed may lose. */
#define MAX_DELAY_NS GT_NS_PER_SEC

struct gt_perfdata_writer {
	char *path;
	int fd;
	int error; /* a write that failed: it has been told, and the file has a hole */
	struct gt_perf_file_header header;
	struct gt_perf_file_section tracing_data; /* no size: there is none */
	uint64_t data_size;
	size_t used;
	uint64_t flushed_ns;
	uint8_t *buffer;
};

static int refuse_write(struct gt_perfdata_writer *writer, int err)
{
	writer->error = err;
	return gt_write_error(writer->path, err);
}

static int flush(struct gt_perfdata_writer *writer)
{
	int r;

	if (writer->error)
		return writer->error;
	r = gt_write_all(writer->fd, writer->buffer, writer->used);
	writer->used = 0;
	return r < 0 ? refuse_write(writer, r) : 0;
}

/* Gathers bytes, of records or around them. */
static int put(struct gt_perfdata_writer *writer, const void *data, size_t size)
{
	const uint8_t *from = data;

	while (size > 0) {
		size_t part = GT_MIN(size, BUFFER_BYTES - writer->used);

		memcpy(writer->buffer + writer->used, from, part);
		writer->used += part;
		from += part;
		size -= part;
		if (writer->used == BUFFER_BYTES) {
			int r = flush(writer);

			if (r < 0)
				return r;
		}
	}
	return writer->error;
}

/* Where everything is that comes before the records. */
static void lay_out(struct gt_perfdata_writer *writer, const struct gt_writer_start *start)
{
	struct gt_perf_file_header *header = &writer->header;
	uint64_t offset = sizeof(*header);

	for (uint32_t i = 0; i < start->event_count; i++)
		offset += start->events[i].id_count * sizeof(uint64_t);
	*header = (struct gt_perf_file_header){
		.magic = GT_PERF_FILE_MAGIC,
		.size = sizeof(*header),
		.attr_size = sizeof(struct gt_perf_file_attr),
		.attrs = {.offset = offset,
			  .size = start->event_count * sizeof(struct gt_perf_file_attr)},
	};
	offset += header->attrs.size;
	if (start->tracing_data)
		writer->tracing_data = (struct gt_perf_file_section){
			.offset = offset, .size = start->tracing_data_size};
	header->data.offset = GT_ALIGN_UP(offset + writer->tracing_data.size, 8);
}

static void put_attributes(struct gt_perfdata_writer *writer, const struct gt_writer_start *start)
{
	uint64_t offset = sizeof(writer->header);

	for (uint32_t i = 0; i < start->event_count; i++) {
		const struct gt_writer_event *event = &start->events[i];
		struct gt_perf_file_attr attr = {
			.attr = event->attr,
			.ids = {.offset = offset, .size = event->id_count * sizeof(uint64_t)},
		};

		put(writer, &attr, sizeof(attr));
		offset += attr.ids.size;
	}
}

/* The header, the identifiers of all events, the events, and the formats of tracepoints. */
static int put_start(struct gt_perfdata_writer *writer, const struct gt_writer_start *start)
{
	static const uint8_t filling[8];
	const struct gt_perf_file_section *formats = &writer->tracing_data;

	lay_out(writer, start);
	put(writer, &writer->header, sizeof(writer->header));
	for (uint32_t i = 0; i < start->event_count; i++)
		put(writer, start->events[i].ids, start->events[i].id_count * sizeof(uint64_t));
	put_attributes(writer, start);
	if (formats->size > 0) {
		put(writer, start->tracing_data, formats->size);
		put(writer, filling, writer->header.data.offset - formats->offset - formats->size);
	}
	/* At once, so that a file that cannot be written is found before the target runs. */
	return flush(writer);
}

int gt_perfdata_writer_open(const char *path, const struct gt_writer_start *start,
			    struct gt_perfdata_writer **ret)
{
	_cleanup_(gt_perfdata_writer_closep) struct gt_perfdata_writer *writer =
		calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return gt_error_oom();
	writer->fd = -1;
	writer->path = strdup(path);
	writer->buffer = malloc(BUFFER_BYTES);
	if (!writer->path || !writer->buffer)
		return gt_error_oom();
	/* It shows what other users' programs do: for its owner only. */
	writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (writer->fd < 0)
		return refuse_write(writer, -errno);
	r = put_start(writer, start);
	if (r < 0)
		return r;
	*ret = GT_STEAL(writer);
	return 0;
}

int gt_perfdata_writer_append(struct gt_perfdata_writer *writer, const void *data, size_t size)
{
	writer->data_size += size;
	return put(writer, data, size);
}

int gt_perfdata_writer_tend(struct gt_perfdata_writer *writer)
{
	uint64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC_COARSE);

	if (now_ns < writer->flushed_ns + MAX_DELAY_NS)
		return writer->error;
	writer->flushed_ns = now_ns;
	return flush(writer);
}

/* Adds a feature to the table, which is in the order of their numbers. */
static void put_section(struct gt_perfdata_writer *writer, enum gt_perf_feature feature,
			const struct gt_perf_file_section *section)
{
	put(writer, section, sizeof(*section));
	writer->header.features[feature / 64] |= UINT64_C(1) << (feature % 64);
}

int gt_perfdata_writer_finish(struct gt_perfdata_writer *writer,
			      const struct gt_writer_feature *features, uint32_t feature_count)
{
	struct gt_perf_file_header *header = &writer->header;
	uint32_t format_count = writer->tracing_data.size > 0 ? 1 : 0;
	uint64_t offset = header->data.offset + writer->data_size +
			  (format_count + feature_count) * sizeof(struct gt_perf_file_section);
	ssize_t written;
	int r;

	if (format_count > 0)
		put_section(writer, GT_PERF_FEATURE_TRACING_DATA, &writer->tracing_data);
	for (uint32_t i = 0; i < feature_count; i++) {
		struct gt_perf_file_section section = {.offset = offset, .size = features[i].size};

		put_section(writer, features[i].feature, &section);
		offset += section.size;
	}
	for (uint32_t i = 0; i < feature_count; i++)
		put(writer, features[i].data, features[i].size);
	r = flush(writer);
	if (r < 0)
		return r;
	/* Last of all: a reader takes a file whose data has no size for one that was not finished.
	 */
	header->data.size = writer->data_size;
	written = pwrite(writer->fd, header, sizeof(*header), 0);
	if (written < 0)
		return refuse_write(writer, -errno);
	return written == sizeof(*header) ? 0 : refuse_write(writer, -EIO);
}

uint64_t gt_perfdata_writer_bytes(const struct gt_perfdata_writer *writer)
{
	return writer->header.data.offset + writer->data_size;
}

void gt_perfdata_writer_close(struct gt_perfdata_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->buffer);
	free(writer->path);
	free(writer);
}
