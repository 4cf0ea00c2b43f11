/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

/* The finalizer of MurmurHash3: pids, ids and addresses differ in few bits, slots must not. */
static uint64_t mix(uint64_t key)
{
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64_C(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

static struct gt_hash_slot *find_slot(const struct gt_hash *hash, uint64_t key)
{
	uint32_t mask = hash->capacity - 1;
	uint32_t i = (uint32_t)mix(key) & mask;

	while (hash->slots[i].value != GT_HASH_NONE && hash->slots[i].key != key)
		i = (i + 1) & mask;
	return &hash->slots[i];
}

uint32_t gt_hash_get(const struct gt_hash *hash, uint64_t key)
{
	if (hash->count == 0)
		return GT_HASH_NONE;
	return find_slot(hash, key)->value;
}

static int grow(struct gt_hash *hash)
{
	struct gt_hash bigger = {.count = hash->count,
				 .capacity = hash->capacity ? hash->capacity * 2 : 16};

	if (bigger.capacity == 0)
		return -ENOMEM;
	bigger.slots = reallocarray(NULL, bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < bigger.capacity; i++)
		bigger.slots[i] = (struct gt_hash_slot){.value = GT_HASH_NONE};
	for (uint32_t i = 0; i < hash->capacity; i++)
		if (hash->slots[i].value != GT_HASH_NONE)
			*find_slot(&bigger, hash->slots[i].key) = hash->slots[i];
	free(hash->slots);
	*hash = bigger;
	return 0;
}

int gt_hash_set(struct gt_hash *hash, uint64_t key, uint32_t value)
{
	struct gt_hash_slot *slot;
	int r;

	/* At most three quarters full, so that a search ends soon. */
	if (hash->count >= hash->capacity / 4 * 3) {
		r = grow(hash);
		if (r < 0)
			return r;
	}
	slot = find_slot(hash, key);
	if (slot->value == GT_HASH_NONE)
		hash->count++;
	slot->key = key;
	slot->value = value;
	return 0;
}

void gt_hash_clear(struct gt_hash *hash)
{
	free(hash->slots);
	*hash = (struct gt_hash){0};
}
