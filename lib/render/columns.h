/* SPDX-License-Identifier: MIT */
/*
 * Columns of numbers inside of a page: each is an element with a comment, which browsers read in
 * half the time of any text, with a zlib stream of little-endian base-128 varints in base64.
 * Written as it is fed, so a column costs no memory.
 */
#pragma once

#include <stdint.h>

#include "base/macros.h"
#include "render/sink.h"

struct gt_column;

/* Begins the element with the id "column-NAME". NULL when out of memory. */
struct gt_column *gt_column_open(struct gt_sink *sink, const char *name);

void gt_column_put(struct gt_column *column, uint64_t value);

/* Ends the element, and frees the column. */
void gt_column_close(struct gt_column *column);
GT_DEFINE_CLEANUP(struct gt_column *, gt_column_close)
