/* SPDX-License-Identifier: MIT */
/*
 * Which file's code is where, in each address space. Those that came from one another by a fork
 * share what they have, until one of them changes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/macros.h"

struct gt_code_mapping {
	uint64_t start, end;
	uint64_t file_offset; /* of start */
	uint32_t file;	      /* a number of the caller's */
};

/* What is mapped. Never two of a number, whatever becomes of them: a change gives a new one. */
struct gt_code_map {
	uint64_t id;
	uint32_t users;
	GT_ARRAY(struct gt_code_mapping) mappings; /* sorted, without overlaps */
};

struct gt_address_space {
	struct gt_code_map *map; /* NULL: nothing is mapped */
	bool is_new;		 /* since a program was executed, nothing has been mapped */
};

struct gt_address_spaces {
	struct gt_hash by_number; /* → index in spaces */
	GT_ARRAY(struct gt_address_space) spaces;
	uint64_t last_id;
};

void gt_address_spaces_clear(struct gt_address_spaces *spaces);

/* MAPPING takes the place of what was there. An empty one is ignored. 0 or -ENOMEM. */
int gt_address_spaces_map(struct gt_address_spaces *spaces, uint32_t space,
			  const struct gt_code_mapping *mapping);

/* CHILD has what PARENT has, and nothing else. 0 or -ENOMEM. */
int gt_address_spaces_fork(struct gt_address_spaces *spaces, uint32_t parent, uint32_t child);

/* A space that is not known, and that there is no memory for, stays unknown. */
void gt_address_spaces_exec(struct gt_address_spaces *spaces, uint32_t space);

/* Whether a program is about to be loaded to SPACE: there is no code to run, and no stack. */
bool gt_address_spaces_is_new(const struct gt_address_spaces *spaces, uint32_t space);

/* NULL when nothing is mapped. Owned by SPACES, until the next change. */
const struct gt_code_map *gt_address_spaces_get(const struct gt_address_spaces *spaces,
						uint32_t space);

/* The mapping that holds ADDRESS, or NULL. */
const struct gt_code_mapping *gt_code_map_at(const struct gt_code_map *map, uint64_t address);
