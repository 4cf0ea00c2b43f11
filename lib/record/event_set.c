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
#include <time.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/io.h"
#include "base/log.h"
#include "record/pass.h"

#define SAMPLE_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

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

/* A small number from a file of /proc or tracefs; -errno when it cannot be read. */
static int read_number(const char *path, long long *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = gt_read_file(path, 64, &text, NULL);

	if (r < 0)
		return r;
	*ret = strtoll(text, NULL, 10);
	return 0;
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

static struct perf_event_attr common_attr(void)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_period = 1,
		.sample_type = SAMPLE_TYPE,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static struct perf_event_attr dummy_attr(const struct gt_pass_spec *spec)
{
	struct perf_event_attr attr = common_attr();

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	/*
	 * It never samples. But with such an event the kernel does not swap the events of two tasks
	 * that inherited them instead of switching them: an event then keeps the process that it
	 * was made for, by which uprobes are filtered. Otherwise the exit of one process can take
	 * the probes out of another that goes on.
	 */
	attr.sample_type |= PERF_SAMPLE_READ;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.task = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.build_id = 1;
	attr.context_switch = spec->context_switches;
	return attr;
}

static int tracepoint_attr(const struct gt_pass_spec *spec,
			   const struct gt_pass_tracepoint *tracepoint, struct perf_event_attr *ret)
{
	_cleanup_free_ char *path = gt_format("%s/events/%s/%s/id", spec->tracefs,
					      tracepoint->system, tracepoint->name);
	struct perf_event_attr attr = common_attr();
	long long id;
	int r;

	if (!path)
		return gt_error_oom();
	r = read_number(path, &id);
	if (r == -ENOENT) {
		gt_error("cannot record %s: this kernel has no event %s:%s (no %s)", spec->what,
			 tracepoint->system, tracepoint->name, path);
		return r;
	}
	if (r == -EACCES || r == -EPERM) {
		gt_error("cannot record %s: %s cannot be read: %s\n"
			 "  run as root, or let an administrator open tracefs to you",
			 spec->what, path, strerror(-r));
		return r;
	}
	if (r < 0)
		return gt_error_errno(r, "cannot record %s: %s cannot be read", spec->what, path);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = (uint64_t)id;
	attr.sample_type |= PERF_SAMPLE_RAW;
	*ret = attr;
	return 0;
}

static int refuse_open(const struct gt_event_set *set, const char *name, int err)
{
	_cleanup_free_ char *file_system = NULL;
	long long paranoid = 0, needed;
	bool is_known = read_number("/proc/sys/kernel/perf_event_paranoid", &paranoid) == 0;

	switch (err) {
	case -EACCES:
	case -EPERM:
		/* Up to 2, everybody may have an event that sees no more than its own programs. */
		needed = set->has_tracepoints ? -1 : 2;
		if (!is_known || geteuid() == 0 || paranoid <= needed)
			gt_error("cannot open %s (%s): %s, by a container's filter of system calls "
				 "or a locked down kernel\n"
				 "  run outside of the container, or allow it perf_event_open: "
				 "docker run --privileged",
				 set->what, name, strerror(-err));
		else
			gt_error("cannot open %s (%s): %s (perf_event_paranoid is %lld)\n"
				 "  run as root, or: sudo sysctl kernel.perf_event_paranoid=%lld",
				 set->what, name, strerror(-err), paranoid, needed);
		break;
	case -ENOSYS:
		gt_error("cannot open %s: this system has no perf events (perf_event_open)",
			 set->what);
		break;
	case -EMFILE:
	case -ENFILE:
		gt_error("cannot open %s (%s): too many open files: one is needed for each event "
			 "and CPU\n  raise the limit: ulimit -n %d",
			 set->what, name, 16 * perf_cpu_map__nr(set->cpus) + 1024);
		break;
	case -ESRCH:
		gt_error("cannot open %s: the process has ended", set->what);
		break;
	case -EIO:
		if (set->probed && gt_file_system_name(set->probed, &file_system) == 0)
			gt_error("cannot open %s: the kernel refuses probes in %s, which is on a "
				 "file "
				 "system of the kind %s\n"
				 "  copy that Python to another one, such as ext4 or tmpfs",
				 set->what, set->probed, file_system);
		else
			gt_error("cannot open %s (%s): %s", set->what, name, strerror(-err));
		break;
	default:
		gt_error("cannot open %s (%s): %s", set->what, name, strerror(-err));
	}
	return err;
}

/* Takes what this kernel does not know out of ATTR, one thing at a time. False when all is out. */
static bool simplify(struct perf_event_attr *attr)
{
	if (attr->sample_type & PERF_SAMPLE_READ) /* with inherit: from Linux 6.12 */
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
	else if (attr->read_format & PERF_FORMAT_LOST) /* from Linux 6.0 */
		attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	else if (attr->build_id) /* from Linux 5.12 */
		attr->build_id = 0;
	else
		return false;
	return true;
}

static int open_event(struct gt_event_set *set, char *name, struct perf_event_attr attr)
{
	struct gt_set_event *event = gt_array_push(&set->events);
	int r;

	if (!event) {
		free(name);
		return gt_error_oom();
	}
	event->name = name;
	do {
		struct perf_evsel *evsel = perf_evsel__new(&attr);

		if (!evsel)
			return gt_error_oom();
		r = perf_evsel__open(evsel, set->cpus, set->threads);
		if (r == 0)
			event->evsel = evsel;
		else
			perf_evsel__delete(evsel);
	} while (r == -EINVAL && simplify(&attr));
	if (r < 0)
		return refuse_open(set, name, r);
	event->attr = attr;
	perf_evlist__add(set->evlist, event->evsel);
	return 0;
}

static int open_tracepoint(struct gt_event_set *set, const struct gt_pass_spec *spec,
			   const struct gt_pass_tracepoint *tracepoint)
{
	struct perf_event_attr attr;
	char *name;
	int r = tracepoint_attr(spec, tracepoint, &attr);

	if (r < 0)
		return r;
	name = gt_format("%s:%s", tracepoint->system, tracepoint->name);
	if (!name)
		return gt_error_oom();
	return open_event(set, name, attr);
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

	if (read_number("/proc/sys/kernel/perf_event_mlock_kb", &mlock_kb) == 0)
		while (smaller > MIN_RING_BYTES && smaller * 2 > (uint64_t)mlock_kb << 10)
			smaller /= 2;
	return smaller;
}

static int map_rings(struct gt_event_set *set, const struct gt_pass_spec *spec)
{
	uint64_t min_bytes = set->has_tracepoints ? MIN_RING_BYTES : MIN_DUMMY_RING_BYTES;
	int r = try_to_map(set);

	while ((r == -EPERM || r == -ENOMEM) && spec->may_shrink_rings &&
	       set->ring_bytes / 2 >= min_bytes) {
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

int gt_event_set_open(struct gt_event_set *set, const struct gt_pass_spec *spec, pid_t pid)
{
	char *name = strdup("dummy:u");
	int r;

	libperf_init(print_to_debug_log);
	raise_descriptor_limit();
	set->what = spec->what;
	set->probed = spec->probed;
	set->has_tracepoints = spec->tracepoint_count > 0;
	set->ring_bytes = round_ring_bytes(spec->ring_bytes);
	set->evlist = perf_evlist__new();
	set->cpus = online_cpus();
	set->threads = perf_thread_map__new_array(1, &pid);
	if (!name || !set->evlist || !set->cpus || !set->threads) {
		free(name);
		return gt_error_oom();
	}
	set->ring_count = (uint32_t)perf_cpu_map__nr(set->cpus);
	r = open_event(set, name, dummy_attr(spec));
	for (uint32_t i = 0; r == 0 && i < spec->tracepoint_count; i++)
		r = open_tracepoint(set, spec, &spec->tracepoints[i]);
	if (r < 0)
		return r;
	/* The threads were named at the opening; the list would not give them back either. */
	perf_evlist__set_maps(set->evlist, set->cpus, NULL);
	gt_array_for_each (&set->events, event) {
		r = read_ids(set, event);
		if (r < 0)
			return r;
	}
	return map_rings(set, spec);
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

void gt_event_set_disable(struct gt_event_set *set)
{
	perf_evlist__disable(set->evlist);
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
