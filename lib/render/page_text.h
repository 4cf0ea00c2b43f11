/* SPDX-License-Identifier: MIT */
/* Text inside of a page. Private to lib/render. */
#pragma once

#include "render/sink.h"

/* Writes JSON within a script element: without a < nothing in it can end the element. */
void gt_page_write_json(struct gt_sink *sink, const char *text);
