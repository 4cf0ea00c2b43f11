/* SPDX-License-Identifier: MIT */
/* The summary as JSON, which stands alone and inside of other outputs. Private to lib/render. */
#pragma once

#include "base/json.h"
#include "render/report.h"

/*
 * A new reference to the object of schema 1 (see the man page), whose blame is empty
 * without HAS_BLAME; NULL when out of memory.
 */
json_t *gt_summary_json_new(const struct gt_report *report, bool has_blame);
