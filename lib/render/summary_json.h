/* SPDX-License-Identifier: MIT */
/* The summary as JSON, which stands alone and inside of other outputs. Private to lib/render. */
#pragma once

#include "base/json.h"
#include "render/report.h"

/*
 * A new reference to the object of schema 1 (see the man page), with the MOST_BLAME greatest
 * entries of the blame; NULL when out of memory.
 */
json_t *gt_summary_json_new(const struct gt_report *report, uint32_t most_blame);
