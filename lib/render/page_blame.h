/* SPDX-License-Identifier: MIT */
/* Who kept whom waiting, in the page. Private to lib/render. */
#pragma once

#include <jansson.h>

#include "render/report.h"

/*
 * Adds to the page's JSON the greatest pairs, and of the others how many they are; PLACES has the
 * number of each of the trace's processes in the summary. 0 or -ENOMEM.
 */
int gt_page_blame_describe(const struct gt_report *report, const uint32_t *places, json_t **page);
