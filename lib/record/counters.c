/* SPDX-License-Identifier: MIT */
#include "record/counters.h"

#include <perf/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macros.h"
#include "base/time.h"
#include "record/followed_threads.h"
#include "record/pass.h"
#include "record/pass_output.h"
#include "record/ring.h"

/* PERF_RECORD_READ, as far as counters always have it. */
struct read_start {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t value, enabled_ns, running_ns, id;
};

/*
 * For the ends of 1600 threads. Where memory is limited so much that the pass has got small rings,
 * these are small beside them.
 */
#define RING_BYTES (UINT64_C(128) << 10)
#define PART_OF_PASS 16

static int open_counter(struct gt_counter *counter, const struct gt_pass_spec *spec, uint32_t index,
			uint64_t ring_bytes, pid_t pid)
{
	int r = gt_event_set_open_counter(&counter->set, spec, &spec->counters[index], pid,
					  ring_bytes);

	if (r < 0)
		return r;
	counter->told = calloc(counter->set.ring_count, sizeof(*counter->told));
	if (!counter->told)
		return gt_error_oom();
	return gt_pass_rings_init(&counter->rings, &counter->set);
}

int gt_counters_open(struct gt_counters *counters, const struct gt_pass_spec *spec,
		     uint64_t pass_ring_bytes, pid_t pid)
{
	uint64_t ring_bytes = GT_MIN(RING_BYTES, pass_ring_bytes / PART_OF_PASS);
	int r = 0;

	counters->pid = (uint32_t)pid;
	if (spec->counter_count == 0)
		return 0;
	counters->items = calloc(spec->counter_count, sizeof(*counters->items));
	if (!counters->items)
		return gt_error_oom();
	while (r == 0 && counters->count < spec->counter_count) {
		uint32_t index = counters->count++;

		r = open_counter(&counters->items[index], spec, index,
				 GT_MAX(ring_bytes, (uint64_t)getpagesize()), pid);
	}
	return r;
}

void gt_counters_disable(struct gt_counters *counters)
{
	for (uint32_t i = 0; i < counters->count; i++)
		gt_event_set_disable(&counters->items[i].set);
}

void gt_counters_close(struct gt_counters *counters)
{
	for (uint32_t i = 0; i < counters->count; i++) {
		gt_pass_rings_clear(&counters->items[i].rings);
		gt_event_set_close(&counters->items[i].set);
		free(counters->items[i].told);
	}
	free(counters->items);
	*counters = (struct gt_counters){0};
}

bool gt_counters_note(struct gt_counters *counters, uint32_t counter, uint32_t ring,
		      const struct gt_ring_record *record)
{
	struct gt_event_count *told = &counters->items[counter].told[ring];
	struct read_start read;

	if (record->header.type != PERF_RECORD_READ ||
	    !gt_ring_record_copy(record, 0, &read, sizeof(read)))
		return true;
	told->value += read.value;
	told->enabled_ns += read.enabled_ns;
	told->running_ns += read.running_ns;
	counters->has_first |= read.tid == counters->pid;
	return read.value > 0 || read.running_ns > 0 || ring == 0;
}

void gt_counters_begin(struct gt_counters *counters)
{
	counters->is_behind = false;
	for (uint32_t i = 0; i < counters->count; i++)
		for (uint32_t ring = 0; ring < counters->items[i].rings.count; ring++)
			gt_ring_begin(&counters->items[i].rings.rings[ring].ring);
}

static int drain_ring(struct gt_counters *counters, uint32_t counter, uint32_t index,
		      struct gt_pass_output *output)
{
	struct gt_pass_rings *rings = &counters->items[counter].rings;
	struct gt_pass_ring *ring = &rings->rings[index];
	struct gt_ring_record record;
	int r = 0;

	counters->is_behind |= gt_pass_ring_is_behind(ring);
	while (r == 0 && gt_ring_next(&ring->ring, &record)) {
		gt_pass_ring_note(ring, &record);
		if (gt_counters_note(counters, counter, index, &record))
			r = gt_pass_output_copy(output, &record);
	}
	return r < 0 ? r : gt_pass_rings_end(rings, index, 0, output);
}

int gt_counters_drain(struct gt_counters *counters, struct gt_pass_output *output)
{
	int r = 0;

	for (uint32_t i = 0; i < counters->count; i++)
		for (uint32_t ring = 0; r == 0 && ring < counters->items[i].rings.count; ring++)
			r = drain_ring(counters, i, ring, output);
	return r;
}

uint64_t gt_counters_lost(const struct gt_counters *counters)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < counters->count; i++)
		lost += gt_pass_rings_lost(&counters->items[i].rings);
	return lost;
}

int gt_counters_add_untold(struct gt_counters *counters, struct gt_pass_output *output)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < counters->count; i++)
		r = gt_pass_rings_add_untold(&counters->items[i].rings, 0, output);
	return r;
}

static uint64_t subtract(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* What the first thread has counted on the CPU of RING. */
static int append_rest(const struct gt_counters *counters, const struct gt_counter *counter,
		       uint32_t ring, struct gt_pass_output *output)
{
	const struct gt_set_event *event = &counter->set.events.items[0];
	const struct gt_event_count *told = &counter->told[ring];
	bool has_lost = event->attr.read_format & PERF_FORMAT_LOST;
	struct gt_event_count all;
	struct {
		struct read_start start;
		uint64_t lost_and_end[1 + sizeof(struct gt_record_end) / sizeof(uint64_t)];
	} record = {.start = {.header = {.type = PERF_RECORD_READ},
			      .pid = counters->pid,
			      .tid = counters->pid,
			      .id = event->ids[ring]}};
	struct gt_record_end end = {.pid = counters->pid,
				    .tid = counters->pid,
				    .time_ns = gt_clock_ns(CLOCK_MONOTONIC),
				    .id = event->ids[ring]};
	int r = gt_event_set_count(&counter->set, 0, ring, &all);

	if (r < 0) {
		gt_debug_errno(r, "cannot read the counter %s", event->name);
		return 0;
	}
	record.start.value = subtract(all.value, told->value);
	record.start.enabled_ns = subtract(all.enabled_ns, told->enabled_ns);
	record.start.running_ns = subtract(all.running_ns, told->running_ns);
	if (record.start.value == 0 && record.start.running_ns == 0 && ring > 0)
		return 0;
	memcpy(&record.lost_and_end[has_lost], &end, sizeof(end));
	record.start.header.size =
		(uint16_t)(sizeof(record.start) + sizeof(end) + (has_lost ? sizeof(uint64_t) : 0));
	return gt_pass_output_append(output, &record, record.start.header.size);
}

int gt_counters_add_first(struct gt_counters *counters, bool has_lost,
			  const struct gt_followed_threads *followed, struct gt_pass_output *output)
{
	int r = 0;

	if (counters->count == 0)
		return 0;
	if (has_lost || counters->has_first || gt_counters_lost(counters) > 0 ||
	    !gt_followed_threads_have_ended(followed)) {
		gt_debug("what the first thread has counted is not known");
		return 0;
	}
	for (uint32_t i = 0; r == 0 && i < counters->count; i++)
		for (uint32_t ring = 0; r == 0 && ring < counters->items[i].rings.count; ring++)
			r = append_rest(counters, &counters->items[i], ring, output);
	return r;
}
