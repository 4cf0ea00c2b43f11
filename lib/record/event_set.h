/* SPDX-License-Identifier: MIT */
/*
 * The open events of a pass, and the kernel's rings that they write to: one ring for each CPU,
 * shared by all events. The first event is a dummy that brings the records of tasks, names and
 * mappings.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/macros.h"

struct gt_pass_spec;
struct perf_cpu_map;
struct perf_evlist;
struct perf_evsel;
struct perf_mmap;
struct perf_thread_map;

struct gt_set_event {
	char *name; /* "system:name"; "dummy:u" for the first */
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
	uint64_t ring_bytes;
};

/*
 * Opens the events of SPEC on PID, which start at its next exec, and maps the rings. Logs what
 * failed. SET can be closed also after a failure.
 *
 * The descriptors are not close-on-exec, because libperf opens them: a process that is forked from
 * here later, and runs another program, must close them.
 */
int gt_event_set_open(struct gt_event_set *set, const struct gt_pass_spec *spec, pid_t pid);
void gt_event_set_close(struct gt_event_set *set);

/* The ring after RING; the first one for NULL; NULL after the last. */
struct perf_mmap *gt_event_set_next_ring(const struct gt_event_set *set, struct perf_mmap *ring);

void gt_event_set_disable(struct gt_event_set *set);

/* How many records the kernel could not put into ring RING. 0 when this kernel does not count them.
 */
uint64_t gt_event_set_lost(const struct gt_event_set *set, uint32_t ring);
