/* SPDX-License-Identifier: MIT */
/* The memory of processes over time, in the page. Private to lib/render. */
#pragma once

#include <jansson.h>

#include "render/report.h"

struct gt_page_memory {
	const struct gt_trace *trace;
	uint32_t *ends;	 /* of each process of the trace: the end of its part of ORDER */
	uint32_t *order; /* the points of processes that are shown, process after process */
	uint32_t count;
};

/* 0 or -ENOMEM; the caller clears RET. */
int gt_page_memory_make(const struct gt_report *report, struct gt_page_memory *ret);
void gt_page_memory_clear(struct gt_page_memory *memory);

/*
 * Adds to the page's JSON how many points each process has that has some; PLACES has the number of
 * each of the trace's processes in the summary.
 */
void gt_page_memory_describe(const struct gt_page_memory *memory, const uint32_t *places,
			     json_t **page);

/* Writes the columns: the time since the point before, and how many bytes. 0 or -ENOMEM. */
int gt_page_memory_write(const struct gt_page_memory *memory, struct gt_sink *sink);
