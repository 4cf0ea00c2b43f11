/* SPDX-License-Identifier: MIT */
/*
 * Two ways of capturing the GIL's moments in one execution, held against each other. Compared are
 * acquired, release and switched; of takes, an agent tells only those that wait.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/macros.h"
#include "trace/event.h"

enum gt_compared_source {
	GT_COMPARED_UPROBE,
	GT_COMPARED_AGENT,
	GT_COMPARED_SOURCES,
};

enum gt_compared_kind {
	GT_COMPARED_ACQUIRED,
	GT_COMPARED_RELEASE,
	GT_COMPARED_SWITCHED,
	GT_COMPARED_KINDS,
};

struct gt_compared_thread {
	uint32_t pid, tid;
	uint64_t counts[GT_COMPARED_SOURCES][GT_COMPARED_KINDS];
};

struct gt_comparison {
	GT_ARRAY(struct gt_compared_thread) threads; /* as they were first seen */
	uint64_t paired;			     /* moments that both have */
	uint64_t within_20us;			     /* of these */
	uint64_t median_ns, max_ns; /* distance of a pair; the median is at most 1,048,575 */
	uint64_t only[GT_COMPARED_SOURCES]; /* moments that one of them alone has */
};

struct gt_comparer;

/* NULL when out of memory. */
struct gt_comparer *gt_comparer_new(void);
void gt_comparer_free(struct gt_comparer *comparer);
GT_DEFINE_CLEANUP(struct gt_comparer *, gt_comparer_free)

/* Takes an event of one source; those of a thread come in order. Others are ignored. 0 or -ENOMEM.
 */
int gt_comparer_add(struct gt_comparer *comparer, enum gt_compared_source source,
		    const struct gt_event *event);

/* 0 or -ENOMEM. The caller clears RET. */
int gt_comparer_finish(struct gt_comparer *comparer, struct gt_comparison *ret);
void gt_comparison_clear(struct gt_comparison *comparison);
