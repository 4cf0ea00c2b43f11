/* SPDX-License-Identifier: MIT */
#include "probes/trap_cost.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/evsel.h>
#include <perf/threadmap.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs/tracefs.h>

#include "base/macros.h"
#include "base/time.h"
#include "probes/uprobe.h"

#define EVENT "cost"
#define CALLS 400
#define BATCHES 5
/* Room for all samples of all batches, as in a recording, whose rings do not run full either. */
#define RING_PAGES 64

GT_DEFINE_CLEANUP(struct tracefs_dynevent *, tracefs_dynevent_free)

/* The probed function. A no-op of one byte is emulated by the kernel, like the calls at the GIL's
 * sites. */
__attribute__((noinline)) static void trapped(void)
{
	__asm__ volatile("nop" ::: "memory");
}

/* Where a function of this program is in its file: through the mapping that holds it. */
static int find_file_offset(uintptr_t address, uint64_t *ret)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	char line[4352];

	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) !=
		    3)
			continue;
		if (address < start || address >= end)
			continue;
		*ret = address - start + offset;
		return 0;
	}
	return -ENOENT;
}

static uint64_t time_calls(void)
{
	uint64_t start_ns = gt_clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < CALLS; i++)
		trapped();
	return gt_clock_ns(CLOCK_MONOTONIC) - start_ns;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* The median of some batches: a single one may be interrupted. */
static uint64_t time_batches(void)
{
	uint64_t times[BATCHES];

	for (int i = 0; i < BATCHES; i++)
		times[i] = time_calls();
	qsort(times, BATCHES, sizeof(*times), by_value);
	return times[BATCHES / 2];
}

static int print_nothing(enum libperf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

static int time_with_event(uint64_t id, uint64_t *ret_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_RAW,
	};
	struct perf_evsel *event = perf_evsel__new(&attr);
	struct perf_thread_map *self = perf_thread_map__new_dummy();
	struct perf_cpu_map *any_cpu = perf_cpu_map__dummy_new();
	int r = -ENOMEM;

	/* Before anything is mapped: it sets the size of a page. */
	libperf_init(print_nothing);
	if (event && self && any_cpu) {
		perf_thread_map__set_pid(self, 0, 0);
		r = perf_evsel__open(event, any_cpu, self);
		if (r == 0)
			r = perf_evsel__mmap(event, RING_PAGES);
		if (r == 0)
			*ret_ns = time_batches();
		perf_evsel__munmap(event);
		perf_evsel__close(event);
	}
	perf_cpu_map__put(any_cpu);
	perf_thread_map__put(self);
	perf_evsel__delete(event);
	return r;
}

int gt_trap_cost_measure(const struct gt_uprobes *uprobes, uint64_t *ret_ns)
{
	const char *group = gt_uprobes_group(uprobes);
	_cleanup_(tracefs_dynevent_freep) struct tracefs_dynevent *probe = NULL;
	_cleanup_free_ char *id_text = NULL;
	uint64_t offset, plain_ns, trapped_ns = 0;
	int r;

	r = find_file_offset((uintptr_t)trapped, &offset);
	if (r < 0)
		return r;
	probe = tracefs_uprobe_alloc(group, EVENT, "/proc/self/exe", offset, "lock=%sp:x64");
	if (!probe)
		return -ENOMEM;
	if (tracefs_dynevent_create(probe) < 0)
		return -errno;
	id_text = tracefs_event_file_read(NULL, group, EVENT, "id", NULL);
	plain_ns = time_batches();
	r = id_text ? time_with_event(strtoull(id_text, NULL, 10), &trapped_ns) : -ENOENT;
	(void)tracefs_dynevent_destroy(probe, false);
	if (r < 0)
		return r;
	*ret_ns = trapped_ns > plain_ns ? (trapped_ns - plain_ns) / CALLS : 0;
	return 0;
}
