/* SPDX-License-Identifier: MIT */
#include "record/ring.h"

#include <perf/event.h>
#include <perf/mmap.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"

/*
 * libperf (6.1) copies a record that goes past the ring's end, but no more of it than its union of
 * record types is large, about 4 KiB: a sample with a stack would be cut off. And it cannot stop at
 * what was there at some moment. So it is only asked where the very first record lies, which is
 * where the ring starts; the kernel's page with the ring's two ends is in front of that.
 */
static bool find_data(struct gt_ring *ring)
{
	const union perf_event *record = NULL;

	if (perf_mmap__read_init(ring->map) == 0)
		record = perf_mmap__read_event(ring->map);
	if (!record)
		return false;
	ring->data = (const uint8_t *)record;
	ring->page = (struct perf_event_mmap_page *)(ring->data - getpagesize());
	return true;
}

bool gt_ring_begin(struct gt_ring *ring)
{
	if (!ring->data && !find_data(ring))
		return false;
	ring->is_broken = false;
	ring->end = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	return ring->end != ring->position;
}

/* Where it is, the kernel has put a whole record, in whole words. */
static bool is_sound(const struct gt_ring *ring, uint32_t size)
{
	return size >= sizeof(struct perf_event_header) && size <= ring->end - ring->position &&
	       size % sizeof(uint64_t) == 0;
}

static bool give_up_rest(struct gt_ring *ring)
{
	ring->position = ring->end;
	ring->is_broken = true;
	return false;
}

bool gt_ring_next(struct gt_ring *ring, struct gt_ring_record *ret)
{
	uint64_t start = ring->position & (ring->bytes - 1);

	if (ring->position == ring->end)
		return false;
	if (ring->end - ring->position > ring->bytes || start % sizeof(uint64_t) != 0)
		return give_up_rest(ring);
	ret->first = ring->data + start;
	memcpy(&ret->header, ret->first, sizeof(ret->header));
	if (!is_sound(ring, ret->header.size))
		return give_up_rest(ring);
	ret->first_size = ret->header.size;
	ret->second = ring->data;
	ret->second_size = 0;
	if (start + ret->header.size > ring->bytes) {
		ret->first_size = (uint32_t)(ring->bytes - start);
		ret->second_size = ret->header.size - ret->first_size;
	}
	ring->position += ret->header.size;
	return true;
}

void gt_ring_end(struct gt_ring *ring)
{
	if (ring->page)
		__atomic_store_n(&ring->page->data_tail, ring->position, __ATOMIC_RELEASE);
}

bool gt_ring_record_copy(const struct gt_ring_record *record, uint32_t offset, void *to,
			 uint32_t size)
{
	uint32_t first = 0;

	if (offset > record->header.size || size > record->header.size - offset)
		return false;
	if (offset < record->first_size) {
		first = GT_MIN(size, record->first_size - offset);
		memcpy(to, record->first + offset, first);
		offset = 0;
	} else {
		offset -= record->first_size;
	}
	if (size > first)
		memcpy((uint8_t *)to + first, record->second + offset, size - first);
	return true;
}
