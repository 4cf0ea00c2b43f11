/* SPDX-License-Identifier: MIT */
/* The sections are those of tools/perf/Documentation/perf.data-file-format.txt, where it says
 * HEADER_*. */
#include "record/perfdata_features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"

#define CLOCK_DATA_VERSION 1u

static void write_u32(FILE *out, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

static void write_u64(FILE *out, uint64_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

/* A length and as many bytes: the string, its NUL and filling. */
static void write_string(FILE *out, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	uint32_t padded = GT_ALIGN_UP(length + 1, GT_PERF_STRING_ALIGNMENT);

	write_u32(out, padded);
	fwrite(text, 1, length, out);
	for (uint32_t i = length; i < padded; i++)
		fputc('\0', out);
}

static void write_cpus(FILE *out, const struct gt_perfdata_features *spec)
{
	long present = sysconf(_SC_NPROCESSORS_CONF);

	write_u32(out, present > 0 ? (uint32_t)present : spec->cpu_count);
	write_u32(out, spec->cpu_count);
}

static void write_command(FILE *out, const struct gt_perfdata_features *spec)
{
	uint32_t count = 0;

	while (spec->command && spec->command[count])
		count++;
	write_u32(out, count);
	for (uint32_t i = 0; i < count; i++)
		write_string(out, spec->command[i]);
}

static void write_events(FILE *out, const struct gt_perfdata_features *spec)
{
	write_u32(out, spec->event_count);
	write_u32(out, sizeof(spec->events[0].attr));
	for (uint32_t i = 0; i < spec->event_count; i++) {
		const struct gt_writer_event *event = &spec->events[i];

		fwrite(&event->attr, sizeof(event->attr), 1, out);
		write_u32(out, event->id_count);
		write_string(out, event->name);
		fwrite(event->ids, sizeof(*event->ids), event->id_count, out);
	}
}

static void write_clock_resolution(FILE *out)
{
	struct timespec resolution = {.tv_nsec = 1};

	clock_getres(CLOCK_MONOTONIC, &resolution);
	write_u64(out, (uint64_t)resolution.tv_nsec);
}

/* One moment on both clocks. The one in between is the mean of two readings around the other. */
static void write_clock_data(FILE *out)
{
	uint64_t before = gt_clock_ns(CLOCK_MONOTONIC);
	uint64_t realtime = gt_clock_ns(CLOCK_REALTIME);
	uint64_t after = gt_clock_ns(CLOCK_MONOTONIC);

	write_u32(out, CLOCK_DATA_VERSION);
	write_u32(out, CLOCK_MONOTONIC);
	write_u64(out, realtime);
	write_u64(out, before + (after - before) / 2);
}

static void write_feature(FILE *out, enum gt_perf_feature feature,
			  const struct gt_perfdata_features *spec)
{
	struct utsname system = {0};

	uname(&system);
	switch (feature) {
	case GT_PERF_FEATURE_HOSTNAME:
		write_string(out, system.nodename);
		break;
	case GT_PERF_FEATURE_OSRELEASE:
		write_string(out, system.release);
		break;
	case GT_PERF_FEATURE_VERSION:
		write_string(out, "giltrace");
		break;
	case GT_PERF_FEATURE_ARCH:
		write_string(out, system.machine);
		break;
	case GT_PERF_FEATURE_NRCPUS:
		write_cpus(out, spec);
		break;
	case GT_PERF_FEATURE_CMDLINE:
		write_command(out, spec);
		break;
	case GT_PERF_FEATURE_EVENT_DESC:
		write_events(out, spec);
		break;
	case GT_PERF_FEATURE_SAMPLE_TIME:
		write_u64(out, spec->first_ns);
		write_u64(out, spec->last_ns);
		break;
	case GT_PERF_FEATURE_CLOCKID:
		write_clock_resolution(out);
		break;
	case GT_PERF_FEATURE_CLOCK_DATA:
		write_clock_data(out);
		break;
	default:
		break;
	}
}

/* In the order of their numbers, as the file's table must have them. */
static const enum gt_perf_feature written_features[] = {
	GT_PERF_FEATURE_HOSTNAME,   GT_PERF_FEATURE_OSRELEASE,	 GT_PERF_FEATURE_VERSION,
	GT_PERF_FEATURE_ARCH,	    GT_PERF_FEATURE_NRCPUS,	 GT_PERF_FEATURE_CMDLINE,
	GT_PERF_FEATURE_EVENT_DESC, GT_PERF_FEATURE_SAMPLE_TIME, GT_PERF_FEATURE_CLOCKID,
	GT_PERF_FEATURE_CLOCK_DATA,
};

int gt_perfdata_features_write(struct gt_perfdata_writer *writer,
			       const struct gt_perfdata_features *spec)
{
	struct gt_writer_feature features[ARRAY_SIZE(written_features)];
	size_t ends[ARRAY_SIZE(written_features)], size = 0, start = 0;
	uint32_t count = ARRAY_SIZE(written_features);
	_cleanup_free_ char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return gt_error_oom();
	for (uint32_t i = 0; i < count; i++) {
		write_feature(out, written_features[i], spec);
		fflush(out);
		ends[i] = size;
	}
	if (fclose(out) != 0)
		return gt_error_oom();
	for (uint32_t i = 0; i < count; i++) {
		features[i] = (struct gt_writer_feature){.feature = written_features[i],
							 .data = text + start,
							 .size = ends[i] - start};
		start = ends[i];
	}
	return gt_perfdata_writer_finish(writer, features, count);
}
