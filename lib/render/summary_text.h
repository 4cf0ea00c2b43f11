/* SPDX-License-Identifier: MIT */
/* Figures and lines as the summary has them. Private to lib/render. */
#pragma once

#include <stdint.h>

#include "base/macros.h"
#include "render/report.h"

#define GT_TEXT_SIZE 32

/* Each writes to TEXT, and returns it. */

/* "812ns", "5.1us", "51ms", "2.5s": five columns at most up to a day. */
const char *gt_text_ns(uint64_t ns, char text[static GT_TEXT_SIZE]);
/* Five columns at most: "99999", "100k", "1.2M". */
const char *gt_text_count(uint64_t count, char text[static GT_TEXT_SIZE]);
/* All digits, in groups: "1,234". */
const char *gt_text_digits(uint64_t count, char text[static GT_TEXT_SIZE]);
/* "81.8"; "-" when there is nothing to be a part of. */
const char *gt_text_percent(uint64_t part, uint64_t whole, char text[static GT_TEXT_SIZE]);

/* How many columns it takes on a terminal, as far as each character takes one. */
uint32_t gt_text_columns(const char *text);

/* Writes a line, cut off where the terminal ends: a table that wraps cannot be read. */
void gt_text_write_line(const struct gt_report *report, struct gt_sink *sink, const char *text, ...)
	_printf_(3, 4);

/* Writes a sentence in lines that the terminal, or else 80 columns, has room for. */
void gt_text_write_wrapped(const struct gt_report *report, struct gt_sink *sink, const char *text,
			   ...) _printf_(3, 4);
