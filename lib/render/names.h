/* SPDX-License-Identifier: MIT */
/* Names for people, each kept once: what threads, functions and states are called. */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"

struct gt_names {
	/* Of one line, and without the semicolon that stands between frames. Owned. */
	GT_ARRAY(char *) texts;
	/* Private: where the same one is, if it is there already. */
	struct gt_hash by_text;
	GT_ARRAY(uint32_t) next; /* with the same hash */
};

/* The number of TEXT, any bytes, made fit to be seen. 0 or -ENOMEM. */
int gt_names_add(struct gt_names *names, const char *text, uint32_t *ret);

/* The number of "TEXT (NUMBER)". 0 or -ENOMEM. */
int gt_names_add_numbered(struct gt_names *names, const char *text, uint32_t number, uint32_t *ret);

void gt_names_clear(struct gt_names *names);
