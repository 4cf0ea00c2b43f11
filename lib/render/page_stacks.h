/* SPDX-License-Identifier: MIT */
/* Call stacks in the page: those of its states, and the trees of its flame graphs. Private to
 * lib/render. */
#pragma once

#include <jansson.h>

#include "render/flame.h"
#include "render/report.h"

struct gt_page_stacks {
	const struct gt_stacks *stacks; /* NULL when there are none */
	struct gt_names names;
	uint32_t *frame_names, *frame_files; /* numbers of names; a file's + 1, or 0 */
	struct gt_flame off_cpu, off_gil;
};

/* 0 or -ENOMEM; the caller clears RET. */
int gt_page_stacks_make(const struct gt_report *report, struct gt_page_stacks *ret);
void gt_page_stacks_clear(struct gt_page_stacks *stacks);

/* Adds to the page's JSON how many there are of each; nothing when there are none. */
void gt_page_stacks_describe(const struct gt_page_stacks *stacks, json_t **page);

/*
 * Writes the columns: of each stack but GT_STACK_NONE, how far before it its caller's stands, and
 * its frame; of each frame, its name and its file; of each node of a flame graph but the root, how
 * far before it its parent stands, its name, and its own time. 0 or -ENOMEM.
 */
int gt_page_stacks_write(const struct gt_page_stacks *stacks, struct gt_sink *sink);
