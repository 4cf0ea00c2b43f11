/* SPDX-License-Identifier: MIT */
#include "record/event_set.h"

#include <errno.h>
#include <inttypes.h>
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "record/event_attr.h"
#include "record/kernel_number.h"
#include "record/open_error.h"
#include "record/pass.h"

/* A ring must hold the largest record, of 64 KiB, and more; libperf measures it in int. */
#define MIN_RING_BYTES (UINT64_C(128) << 10)
/* Without samples, the largest record is that of a mapping, with a path: some 4 KiB. */
#define MIN_DUMMY_RING_BYTES (UINT64_C(16) << 10)
#define MAX_RING_BYTES (UINT64_C(1) << 30)

static int print_to_debug_log(enum libperf_print_level level, const char *format, va_list arguments)
{
	_cleanup_free_ char *message = NULL;

	(void)level;
	if (vasprintf(&message, format, arguments) < 0) {
		message = NULL;
		return -1;
	}
	message[strcspn(message, "\n")] = '\0'; /* the log adds its own */
	gt_debug("%s", message);
	return 0;
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * The CPUs that are online. One map for the whole program: libperf (6.1) does not give back the
 * references that events hold, so that a map of its own would be lost with each pass.
 */
static struct perf_cpu_map *online_cpus(void)
{
	static struct perf_cpu_map *cpus;

	if (!cpus)
		cpus = perf_cpu_map__new(NULL);
	return perf_cpu_map__get(cpus);
}

static int refuse_open(const struct gt_event_set *set, const struct gt_set_event *event,
		       const char *counter, int err)
{
	struct gt_open_attempt attempt = {
		.what = set->what,
		.name = event->name,
		.probed = set->probed,
		.counter = counter,
		/* Up to 2, everybody may have an event that sees no more than its own programs. */
		.allowed_paranoid = 2,
		.cpu_count = perf_cpu_map__nr(set->cpus),
	};

	if (set->has_tracepoints)
		attempt.allowed_paranoid = -1;
	else if (!event->attr.exclude_kernel)
		attempt.allowed_paranoid = 1;
	return gt_open_error(&attempt, err);
}

/* COUNTER is its name when the event is one, else NULL. */
static int open_event(struct gt_event_set *set, const char *name, const char *counter,
		      const struct perf_event_attr *attr)
{
	struct gt_set_event *event = gt_array_push(&set->events);
	int r;

	if (!event)
		return gt_error_oom();
	event->attr = *attr;
	event->name = strdup(name);
	if (!event->name)
		return gt_error_oom();
	do {
		struct perf_evsel *evsel = perf_evsel__new(&event->attr);

		if (!evsel)
			return gt_error_oom();
		r = perf_evsel__open(evsel, set->cpus, set->threads);
		if (r == 0)
			event->evsel = evsel;
		else
			perf_evsel__delete(evsel);
	} while (r == -EINVAL && gt_event_attr_simplify(&event->attr));
	if (r < 0)
		return refuse_open(set, event, counter, r);
	perf_evlist__add(set->evlist, event->evsel);
	return 0;
}

static int open_tracepoint(struct gt_event_set *set, const struct gt_pass_tracepoint *tracepoint,
			   const struct perf_event_attr *attr)
{
	_cleanup_free_ char *name = gt_format("%s:%s", tracepoint->system, tracepoint->name);

	return name ? open_event(set, name, NULL, attr) : gt_error_oom();
}

/* libperf has no other way to an event's identifiers. */
static int read_ids(struct gt_event_set *set, struct gt_set_event *event)
{
	event->ids = calloc(set->ring_count, sizeof(*event->ids));
	if (!event->ids)
		return gt_error_oom();
	for (uint32_t ring = 0; ring < set->ring_count; ring++) {
		struct perf_counts_values counts;
		int r = perf_evsel__read(event->evsel, (int)ring, 0, &counts);

		if (r < 0)
			return gt_error_errno(r, "cannot read the identifiers of %s", set->what);
		event->ids[ring] = counts.id;
	}
	return 0;
}

/* libperf's mapping would look up the identifiers again, and never free them. */
static void hide_ids(struct gt_event_set *set, bool hide)
{
	gt_array_for_each (&set->events, event)
		perf_evsel__attr(event->evsel)->read_format =
			event->attr.read_format & ~(hide ? (uint64_t)PERF_FORMAT_ID : 0);
}

static int try_to_map(struct gt_event_set *set)
{
	int r;

	hide_ids(set, true);
	r = perf_evlist__mmap(set->evlist, (int)(set->ring_bytes / (uint64_t)getpagesize())) < 0
		    ? -errno
		    : 0;
	hide_ids(set, false);
	return r;
}

/*
 * Half of what perf_event_mlock_kb allows a user without rights for each CPU, so that two such
 * passes fit, of this giltrace or of another; or a smaller half, if others have taken more.
 */
static uint64_t shrink_ring_bytes(uint64_t bytes)
{
	long long mlock_kb = 0;
	uint64_t smaller = bytes / 2;

	if (gt_kernel_number_read("/proc/sys/kernel/perf_event_mlock_kb", &mlock_kb) == 0)
		while (smaller > MIN_RING_BYTES && smaller * 2 > (uint64_t)mlock_kb << 10)
			smaller /= 2;
	return smaller;
}

static int map_rings(struct gt_event_set *set, bool may_shrink)
{
	int r = try_to_map(set);

	while ((r == -EPERM || r == -ENOMEM) && may_shrink &&
	       set->ring_bytes / 2 >= set->min_ring_bytes) {
		set->ring_bytes = shrink_ring_bytes(set->ring_bytes);
		r = try_to_map(set);
	}
	if (r == -EPERM || r == -ENOMEM) {
		gt_error("cannot map the rings of %s: %u of %" PRIu64 " KiB each: %s\n"
			 "  ask for less with --buffer-size, run as root, or: "
			 "sudo sysctl kernel.perf_event_mlock_kb=%" PRIu64,
			 set->what, set->ring_count, set->ring_bytes >> 10, strerror(-r),
			 (set->ring_bytes + (uint64_t)getpagesize()) >> 10);
		return r;
	}
	if (r < 0)
		return gt_error_errno(r, "cannot map the rings of %s", set->what);
	return 0;
}

static uint64_t round_ring_bytes(uint64_t wanted)
{
	uint64_t bytes = MIN_RING_BYTES;

	while (bytes < wanted && bytes < MAX_RING_BYTES)
		bytes *= 2;
	return bytes;
}

static int prepare(struct gt_event_set *set, const struct gt_pass_spec *spec, pid_t pid)
{
	libperf_init(print_to_debug_log);
	raise_descriptor_limit();
	set->what = spec->what;
	set->probed = spec->probed;
	set->evlist = perf_evlist__new();
	set->cpus = online_cpus();
	set->threads = perf_thread_map__new_array(1, &pid);
	if (!set->evlist || !set->cpus || !set->threads)
		return gt_error_oom();
	set->ring_count = (uint32_t)perf_cpu_map__nr(set->cpus);
	return 0;
}

/* When all events are open. */
static int complete(struct gt_event_set *set, uint64_t ring_bytes, bool may_shrink_rings)
{
	/* The threads were named at the opening; the list would not give them back either. */
	perf_evlist__set_maps(set->evlist, set->cpus, NULL);
	gt_array_for_each (&set->events, event) {
		int r = read_ids(set, event);

		if (r < 0)
			return r;
	}
	set->ring_bytes = ring_bytes;
	return map_rings(set, may_shrink_rings);
}

int gt_event_set_open(struct gt_event_set *set, const struct gt_pass_spec *spec, pid_t pid)
{
	struct perf_event_attr attr = gt_event_attr_of_tasks(spec);
	int r = prepare(set, spec, pid);

	set->has_tracepoints = spec->tracepoint_count > 0;
	set->min_ring_bytes = set->has_tracepoints ? MIN_RING_BYTES : MIN_DUMMY_RING_BYTES;
	if (r == 0)
		r = open_event(set, "dummy:u", NULL, &attr);
	for (uint32_t i = 0; r == 0 && i < spec->tracepoint_count; i++) {
		r = gt_event_attr_of_tracepoint(spec, &spec->tracepoints[i], &attr);
		if (r == 0)
			r = open_tracepoint(set, &spec->tracepoints[i], &attr);
	}
	return r < 0 ? r
		     : complete(set, round_ring_bytes(spec->ring_bytes), spec->may_shrink_rings);
}

int gt_event_set_open_all_tasks(struct gt_event_set *set, const struct gt_pass_spec *spec,
				const struct gt_pass_tracepoint *tracepoint, uint64_t ring_bytes)
{
	struct perf_event_attr attr;
	int r = prepare(set, spec, -1);

	set->has_tracepoints = true;
	set->min_ring_bytes = MIN_RING_BYTES;
	if (r == 0)
		r = gt_event_attr_of_all_tasks(spec, tracepoint, &attr);
	if (r == 0)
		r = open_tracepoint(set, tracepoint, &attr);
	return r < 0 ? r : complete(set, round_ring_bytes(ring_bytes), spec->may_shrink_rings);
}

int gt_event_set_open_counter(struct gt_event_set *set, const struct gt_pass_spec *spec,
			      const struct gt_pass_counter *counter, pid_t pid, uint64_t ring_bytes)
{
	struct perf_event_attr attr = gt_event_attr_of_counter(spec, counter);
	int r = prepare(set, spec, pid);

	if (r == 0)
		r = open_event(set, counter->name, counter->name, &attr);
	set->min_ring_bytes = (uint64_t)getpagesize();
	return r < 0 ? r : complete(set, ring_bytes, spec->may_shrink_rings);
}

void gt_event_set_close(struct gt_event_set *set)
{
	/* Deletes the events as well. */
	perf_evlist__delete(set->evlist);
	perf_cpu_map__put(set->cpus);
	perf_thread_map__put(set->threads);
	gt_array_for_each (&set->events, event) {
		free(event->name);
		free(event->ids);
	}
	gt_array_clear(&set->events);
	*set = (struct gt_event_set){0};
}

struct perf_mmap *gt_event_set_next_ring(const struct gt_event_set *set, struct perf_mmap *ring)
{
	return perf_evlist__next_mmap(set->evlist, ring, false);
}

void gt_event_set_enable(struct gt_event_set *set)
{
	perf_evlist__enable(set->evlist);
}

void gt_event_set_disable(struct gt_event_set *set)
{
	perf_evlist__disable(set->evlist);
}

int gt_event_set_count(const struct gt_event_set *set, uint32_t event, uint32_t ring,
		       struct gt_event_count *ret)
{
	struct perf_counts_values counts;
	int r = perf_evsel__read(set->events.items[event].evsel, (int)ring, 0, &counts);

	if (r < 0)
		return r;
	*ret = (struct gt_event_count){
		.value = counts.val, .enabled_ns = counts.ena, .running_ns = counts.run};
	return 0;
}

uint64_t gt_event_set_lost(const struct gt_event_set *set, uint32_t ring)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < set->events.count; i++) {
		const struct gt_set_event *event = &set->events.items[i];
		struct perf_counts_values counts;

		if ((event->attr.read_format & PERF_FORMAT_LOST) &&
		    perf_evsel__read(event->evsel, (int)ring, 0, &counts) == 0)
			lost += counts.lost;
	}
	return lost;
}
