/* SPDX-License-Identifier: MIT */
/*
 * The layout is that of perf record. Everything is in the machine's byte order, which it names:
 *
 *     magic, "0.6", u8 big endian, u8 size of long, u32 size of a page
 *     "header_page", u64 size, text; "header_event", u64 size, text: ftrace's own ring
 *     u32 count of ftrace's own events: none
 *     u32 count of systems; each: its name, u32 count of events; each: u64 size, format
 *     u32 size of kernel symbols; u32 size of printk formats; u64 size of task names: none
 */
#include "record/tracing_data.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "record/format.h"
#include "record/pass.h"

#define VERSION "0.6"
#define MAX_FORMAT_BYTES ((size_t)1 << 20)

/* Writes a file of tracefs, its u64 size in front. */
static int write_file(FILE *out, const struct gt_pass_spec *spec, const char *name)
{
	_cleanup_free_ char *path = gt_format("%s/events/%s", spec->tracefs, name), *text = NULL;
	size_t size = 0;
	uint64_t size_on_disk;
	int r;

	if (!path)
		return gt_error_oom();
	r = gt_read_file(path, MAX_FORMAT_BYTES, &text, &size);
	if (r < 0)
		return gt_error_errno(r, "cannot record %s: %s cannot be read", spec->what, path);
	size_on_disk = size;
	fwrite(&size_on_disk, sizeof(size_on_disk), 1, out);
	fwrite(text, 1, size, out);
	return 0;
}

static void write_u32(FILE *out, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

static void write_string(FILE *out, const char *text)
{
	fwrite(text, 1, strlen(text) + 1, out);
}

/* Whether an earlier tracepoint has the same system. */
static bool is_repeated(const struct gt_pass_spec *spec, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (strcmp(spec->tracepoints[i].system, spec->tracepoints[index].system) == 0)
			return true;
	return false;
}

static int write_system(FILE *out, const struct gt_pass_spec *spec, const char *system)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < spec->tracepoint_count; i++)
		count += strcmp(spec->tracepoints[i].system, system) == 0;
	write_string(out, system);
	write_u32(out, count);
	for (uint32_t i = 0; i < spec->tracepoint_count; i++) {
		_cleanup_free_ char *name = NULL;
		int r;

		if (strcmp(spec->tracepoints[i].system, system) != 0)
			continue;
		name = gt_format("%s/%s/format", system, spec->tracepoints[i].name);
		if (!name)
			return gt_error_oom();
		r = write_file(out, spec, name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_systems(FILE *out, const struct gt_pass_spec *spec)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < spec->tracepoint_count; i++)
		count += !is_repeated(spec, i);
	write_u32(out, count);
	for (uint32_t i = 0; i < spec->tracepoint_count; i++) {
		int r = 0;

		if (!is_repeated(spec, i))
			r = write_system(out, spec, spec->tracepoints[i].system);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_all(FILE *out, const struct gt_pass_spec *spec)
{
	static const uint64_t no_task_names = 0;
	int r;

	fwrite(GT_TRACING_DATA_MAGIC, 1, GT_TRACING_DATA_MAGIC_SIZE, out);
	write_string(out, VERSION);
	fputc(BYTE_ORDER == BIG_ENDIAN, out);
	fputc(sizeof(long), out);
	write_u32(out, (uint32_t)getpagesize());
	write_string(out, "header_page");
	r = write_file(out, spec, "header_page");
	if (r < 0)
		return r;
	write_string(out, "header_event");
	r = write_file(out, spec, "header_event");
	if (r < 0)
		return r;
	write_u32(out, 0);
	r = write_systems(out, spec);
	if (r < 0)
		return r;
	write_u32(out, 0);
	write_u32(out, 0);
	fwrite(&no_task_names, sizeof(no_task_names), 1, out);
	return 0;
}

int gt_tracing_data_read(const struct gt_pass_spec *spec, char **ret_data, size_t *ret_size)
{
	_cleanup_free_ char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);
	int r;

	if (!out)
		return gt_error_oom();
	r = write_all(out, spec);
	if (fclose(out) != 0 && r == 0)
		r = gt_error_oom();
	if (r < 0)
		return r;
	*ret_data = GT_STEAL(data);
	*ret_size = size;
	return 0;
}
