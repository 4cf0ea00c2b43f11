/* SPDX-License-Identifier: MIT */
#include "record/ring.h"

#include <perf/event.h>
#include <perf/mmap.h>

bool gt_ring_begin(struct gt_ring *ring)
{
	return perf_mmap__read_init(ring->map) == 0;
}

/*
 * libperf (6.1) copies a record that goes past the ring's end, but no more of it than its union of
 * record types is large, about 4 KiB: a sample with a stack would be cut off. So its pointer is
 * used only to learn where the ring starts, which is where its very first record lies; later
 * records follow one another from there.
 */
bool gt_ring_next(struct gt_ring *ring, struct gt_ring_record *ret)
{
	const union perf_event *record = perf_mmap__read_event(ring->map);
	uint64_t start = ring->position & (ring->bytes - 1);

	if (!record)
		return false;
	if (!ring->data)
		ring->data = (const uint8_t *)record;
	ret->header = record->header;
	ret->first = ring->data + start;
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
	perf_mmap__consume(ring->map);
}
