/* SPDX-License-Identifier: MIT */
/*
 * Open events, and the kernel's rings that they write to: one ring for each CPU, shared by all
 * events of the set.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/macros.h"

struct gt_pass_counter;
struct gt_pass_spec;
struct gt_pass_tracepoint;
struct perf_cpu_map;
struct perf_evlist;
struct perf_evsel;
struct perf_mmap;
struct perf_thread_map;

struct gt_set_event {
	char *name; /* "system:name", "minor-faults" */
	struct perf_event_attr attr;
	struct perf_evsel *evsel;
	uint64_t *ids; /* one for each ring */
};

struct gt_event_set {
	const char *what;   /* the pass's word for messages */
	const char *probed; /* the file with the probes, or NULL */
	bool has_tracepoints;
	struct perf_evlist *evlist;
	struct perf_cpu_map *cpus;
	struct perf_thread_map *threads;
	GT_ARRAY(struct gt_set_event) events;
	uint32_t ring_count;
	uint64_t ring_bytes, min_ring_bytes;
};

/* What an event has counted, of all tasks that it follows or has followed. */
struct gt_event_count {
	uint64_t value;
	uint64_t enabled_ns, running_ns; /* 0: this event does not tell */
};

/*
 * Opens the events of SPEC on PID, which start at its next exec, and maps the rings: a dummy that
 * brings the records of tasks, names and mappings, and the tracepoints, in this order. Logs what
 * failed. SET can be closed also after a failure.
 *
 * The descriptors are not close-on-exec, because libperf opens them: a process that is forked from
 * here later, and runs another program, must close them.
 */
int gt_event_set_open(struct gt_event_set *set, const struct gt_pass_spec *spec, pid_t pid);

/*
 * Opens TRACEPOINT on all tasks of the system; it has to be enabled. The same otherwise, but that
 * rings are of RING_BYTES.
 */
int gt_event_set_open_all_tasks(struct gt_event_set *set, const struct gt_pass_spec *spec,
				const struct gt_pass_tracepoint *tracepoint, uint64_t ring_bytes);

/*
 * Opens COUNTER alone, on PID, from its next exec on. The same otherwise, but that rings are of
 * RING_BYTES, a power of two and at least a page.
 */
int gt_event_set_open_counter(struct gt_event_set *set, const struct gt_pass_spec *spec,
			      const struct gt_pass_counter *counter, pid_t pid,
			      uint64_t ring_bytes);

void gt_event_set_close(struct gt_event_set *set);

/* The ring after RING; the first one for NULL; NULL after the last. */
struct perf_mmap *gt_event_set_next_ring(const struct gt_event_set *set, struct perf_mmap *ring);

void gt_event_set_enable(struct gt_event_set *set);
void gt_event_set_disable(struct gt_event_set *set);

/* What an event has counted on the CPU of RING so far. A negative errno, not logged. */
int gt_event_set_count(const struct gt_event_set *set, uint32_t event, uint32_t ring,
		       struct gt_event_count *ret);

/* How many records the kernel could not put into ring RING. 0 when this kernel does not count them.
 */
uint64_t gt_event_set_lost(const struct gt_event_set *set, uint32_t ring);
