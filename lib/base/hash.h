/* SPDX-License-Identifier: MIT */
/*
 * A hash table from a 64-bit key to a 32-bit value (an index into some array). Open addressing;
 * keys are never removed, because nothing here ever forgets one.
 */
#pragma once

#include <stdint.h>

#define GT_HASH_NONE UINT32_MAX

struct gt_hash_slot {
	uint64_t key;
	uint32_t value; /* GT_HASH_NONE: the slot is free */
};

struct gt_hash {
	struct gt_hash_slot *slots;
	uint32_t count;
	uint32_t capacity; /* a power of two, or 0 */
};

/* The value of KEY, or GT_HASH_NONE. */
uint32_t gt_hash_get(const struct gt_hash *hash, uint64_t key);

/* Sets KEY to VALUE, which is not GT_HASH_NONE. Returns 0 or -ENOMEM. */
int gt_hash_set(struct gt_hash *hash, uint64_t key, uint32_t value);

/* Frees the slots. The table is empty afterwards, and can be used again. */
void gt_hash_clear(struct gt_hash *hash);
