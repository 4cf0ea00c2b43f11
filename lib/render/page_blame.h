/* SPDX-License-Identifier: MIT */
/* Who kept whom waiting, in the page. Private to lib/render. */
#pragma once

#include <jansson.h>

#include "render/report.h"

/*
 * Adds to the page's JSON the greatest pairs, and of the others how many they are. PROCESSES has
 * the place of each of the trace's processes in the summary, THREADS that of each thread in its
 * process. Like gt_json_set(), it leaves *PAGE NULL when out of memory.
 */
void gt_page_blame_describe(const struct gt_report *report, const uint32_t *processes,
			    const uint32_t *threads, json_t **page);
