/* SPDX-License-Identifier: MIT */
#include "unwind/address_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As many as Linux allows a process (vm.max_map_count), where nobody has changed it. */
#define MAX_MAPPINGS 65530u

static void drop(struct gt_code_map *map)
{
	if (!map || --map->users > 0)
		return;
	gt_array_clear(&map->mappings);
	free(map);
}

void gt_address_spaces_clear(struct gt_address_spaces *spaces)
{
	gt_array_for_each (&spaces->spaces, space)
		drop(space->map);
	gt_array_clear(&spaces->spaces);
	gt_hash_clear(&spaces->by_number);
}

/* SPACE, which there is from now on. NULL when out of memory. */
static struct gt_address_space *find_or_add(struct gt_address_spaces *spaces, uint32_t space)
{
	uint32_t index = gt_hash_get(&spaces->by_number, space);
	struct gt_address_space *added;

	if (index != GT_HASH_NONE)
		return &spaces->spaces.items[index];
	added = gt_array_push(&spaces->spaces);
	if (!added || gt_hash_set(&spaces->by_number, space, spaces->spaces.count - 1) < 0)
		return NULL;
	return added;
}

/* A map of its own for the space, with what was in the one that it had. */
static int make_own(struct gt_address_spaces *spaces, struct gt_code_map **map)
{
	const struct gt_code_map *shared = *map;
	struct gt_code_map *own;

	if (shared && shared->users == 1) {
		(*map)->id = ++spaces->last_id;
		return 0;
	}
	own = calloc(1, sizeof(*own));
	if (!own)
		return -ENOMEM;
	own->users = 1;
	own->id = ++spaces->last_id;
	for (uint32_t i = 0; shared && i < shared->mappings.count; i++) {
		struct gt_code_mapping *copy = gt_array_push(&own->mappings);

		if (!copy) {
			drop(own);
			return -ENOMEM;
		}
		*copy = shared->mappings.items[i];
	}
	drop(*map);
	*map = own;
	return 0;
}

/* The number of mappings that end at ADDRESS or before it. */
static uint32_t count_before(const struct gt_code_map *map, uint64_t address)
{
	uint32_t low = 0, high = map->mappings.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->mappings.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts PIECES in place of the mappings from FIRST up to LAST, which is excluded. */
static int replace(struct gt_code_map *map, uint32_t first, uint32_t last,
		   const struct gt_code_mapping *pieces, uint32_t piece_count)
{
	uint32_t count = map->mappings.count, tail = count - last;
	struct gt_code_mapping *items;

	for (uint32_t i = last - first; i < piece_count; i++)
		if (!gt_array_push(&map->mappings)) {
			map->mappings.count = count;
			return -ENOMEM;
		}
	items = map->mappings.items;
	memmove(&items[first + piece_count], &items[last], tail * sizeof(*items));
	memcpy(&items[first], pieces, piece_count * sizeof(*pieces));
	map->mappings.count = first + piece_count + tail;
	return 0;
}

static int insert(struct gt_code_map *map, const struct gt_code_mapping *mapping)
{
	uint32_t first = count_before(map, mapping->start), last = first, count = 0;
	const struct gt_code_mapping *items = map->mappings.items;
	struct gt_code_mapping pieces[3];

	while (last < map->mappings.count && items[last].start < mapping->end)
		last++;
	if (first < last && items[first].start < mapping->start) {
		pieces[count] = items[first];
		pieces[count++].end = mapping->start;
	}
	pieces[count++] = *mapping;
	if (first < last && items[last - 1].end > mapping->end) {
		pieces[count] = items[last - 1];
		pieces[count].file_offset += mapping->end - pieces[count].start;
		pieces[count++].start = mapping->end;
	}
	return replace(map, first, last, pieces, count);
}

/* Recorders tell of some twice. */
static bool is_there(const struct gt_code_map *map, const struct gt_code_mapping *mapping)
{
	const struct gt_code_mapping *known = map ? gt_code_map_at(map, mapping->start) : NULL;

	return known && known->start == mapping->start && known->end == mapping->end &&
	       known->file_offset == mapping->file_offset && known->file == mapping->file;
}

int gt_address_spaces_map(struct gt_address_spaces *spaces, uint32_t space,
			  const struct gt_code_mapping *mapping)
{
	struct gt_address_space *found;
	const struct gt_code_map *map;
	int r;

	if (mapping->start >= mapping->end)
		return 0;
	found = find_or_add(spaces, space);
	if (!found)
		return -ENOMEM;
	map = found->map;
	found->is_new = false;
	if (is_there(map, mapping) || (map && map->mappings.count >= MAX_MAPPINGS))
		return 0;
	r = make_own(spaces, &found->map);
	return r < 0 ? r : insert(found->map, mapping);
}

int gt_address_spaces_fork(struct gt_address_spaces *spaces, uint32_t parent, uint32_t child)
{
	uint32_t from = gt_hash_get(&spaces->by_number, parent);
	struct gt_address_space *made, parents = {0};

	if (parent == child)
		return 0;
	made = find_or_add(spaces, child);
	if (!made)
		return -ENOMEM;
	if (from != GT_HASH_NONE)
		parents = spaces->spaces.items[from];
	if (parents.map)
		parents.map->users++;
	drop(made->map);
	*made = parents;
	return 0;
}

void gt_address_spaces_exec(struct gt_address_spaces *spaces, uint32_t space)
{
	struct gt_address_space *found = find_or_add(spaces, space);

	if (!found)
		return;
	drop(found->map);
	*found = (struct gt_address_space){.is_new = true};
}

bool gt_address_spaces_is_new(const struct gt_address_spaces *spaces, uint32_t space)
{
	uint32_t index = gt_hash_get(&spaces->by_number, space);

	return index != GT_HASH_NONE && spaces->spaces.items[index].is_new;
}

const struct gt_code_map *gt_address_spaces_get(const struct gt_address_spaces *spaces,
						uint32_t space)
{
	uint32_t index = gt_hash_get(&spaces->by_number, space);

	return index == GT_HASH_NONE ? NULL : spaces->spaces.items[index].map;
}

const struct gt_code_mapping *gt_code_map_at(const struct gt_code_map *map, uint64_t address)
{
	uint32_t index = count_before(map, address);

	if (index == map->mappings.count || address < map->mappings.items[index].start)
		return NULL;
	return &map->mappings.items[index];
}
