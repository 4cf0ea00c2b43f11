/* SPDX-License-Identifier: MIT */
/*
 * The tree that a flame graph draws: below the root processes, below them their threads, then the
 * frames of the stacks from the outermost on, and at the end, off the CPU, the state. Private to
 * lib/render.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "render/folded.h"
#include "render/names.h"

struct gt_flame_node {
	uint32_t parent; /* of the root itself */
	uint32_t name;	 /* of the root not set */
	uint64_t ns;	 /* its own: what is not in a child */
};

struct gt_flame {
	GT_ARRAY(struct gt_flame_node) nodes; /* parents stand before their children */
	struct gt_hash by_content;	      /* private */
};

/*
 * What is called the same below the same is one node. NAMES may have others, too. 0 or -ENOMEM; the
 * caller clears RET.
 */
int gt_flame_build(const struct gt_report *report, enum gt_folded_kind kind, struct gt_names *names,
		   struct gt_flame *ret);
void gt_flame_clear(struct gt_flame *flame);
