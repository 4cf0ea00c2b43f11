/* SPDX-License-Identifier: MIT */
#include "record/pass_rings.h"

#include <inttypes.h>
#include <perf/event.h>
#include <stdlib.h>

#include "base/log.h"
#include "record/event_set.h"
#include "record/pass_output.h"

int gt_pass_rings_init(struct gt_pass_rings *rings, struct gt_event_set *set)
{
	struct perf_mmap *map = NULL;

	rings->set = set;
	rings->count = set->ring_count;
	rings->rings = calloc(rings->count, sizeof(*rings->rings));
	if (!rings->rings)
		return gt_error_oom();
	for (uint32_t i = 0; i < rings->count; i++) {
		map = gt_event_set_next_ring(set, map);
		rings->rings[i].ring = (struct gt_ring){.map = map, .bytes = set->ring_bytes};
	}
	return 0;
}

void gt_pass_rings_clear(struct gt_pass_rings *rings)
{
	free(rings->rings);
	*rings = (struct gt_pass_rings){0};
}

void gt_pass_ring_note(struct gt_pass_ring *ring, const struct gt_ring_record *record)
{
	struct perf_record_lost lost;

	if (record->header.type == PERF_RECORD_LOST &&
	    gt_ring_record_copy(record, 0, &lost, sizeof(lost)))
		ring->lost += lost.lost;
}

int gt_pass_rings_end(struct gt_pass_rings *rings, uint32_t index, uint32_t event,
		      struct gt_pass_output *output)
{
	struct gt_pass_ring *ring = &rings->rings[index];

	gt_ring_end(&ring->ring);
	if (!ring->ring.is_broken)
		return 0;
	gt_debug("ring %" PRIu32 " of %s was broken up to byte %" PRIu64, index, rings->set->what,
		 ring->ring.position);
	ring->breaks++;
	return gt_pass_output_append_loss(output, rings->set->events.items[event].ids[index], 1);
}

bool gt_pass_ring_is_behind(const struct gt_pass_ring *ring)
{
	return ring->ring.end - ring->ring.position > ring->ring.bytes / 4;
}

uint64_t gt_pass_rings_lost(const struct gt_pass_rings *rings)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < rings->count; i++)
		lost += rings->rings[i].lost + rings->rings[i].breaks;
	return lost;
}

int gt_pass_rings_add_untold(struct gt_pass_rings *rings, uint32_t event,
			     struct gt_pass_output *output)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < rings->count; i++) {
		uint64_t counted = gt_event_set_lost(rings->set, i);
		struct gt_pass_ring *ring = &rings->rings[i];

		if (counted <= ring->lost)
			continue;
		r = gt_pass_output_append_loss(output, rings->set->events.items[event].ids[i],
					       counted - ring->lost);
		ring->lost = counted;
	}
	return r;
}
