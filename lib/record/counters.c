/* SPDX-License-Identifier: MIT */
#include "record/counters.h"

#include <perf/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macros.h"
#include "base/time.h"
#include "record/followed_threads.h"
#include "record/pass_output.h"
#include "record/pass_rings.h"
#include "record/ring.h"

/* PERF_RECORD_READ, as far as counters always have it. */
struct read_start {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t value, enabled_ns, running_ns, id;
};

int gt_counters_init(struct gt_counters *counters, const struct gt_event_set *set, uint32_t count,
		     pid_t pid)
{
	counters->set = set;
	counters->first = set->events.count - count;
	counters->count = count;
	counters->pid = (uint32_t)pid;
	counters->told = calloc((size_t)count * set->ring_count, sizeof(*counters->told));
	if (!counters->told && count > 0)
		return gt_error_oom();
	for (uint32_t i = 0; i < count * set->ring_count; i++) {
		const struct gt_set_event *event =
			&set->events.items[counters->first + i / set->ring_count];

		if (gt_hash_set(&counters->index, event->ids[i % set->ring_count], i) < 0)
			return gt_error_oom();
	}
	return 0;
}

void gt_counters_clear(struct gt_counters *counters)
{
	gt_hash_clear(&counters->index);
	free(counters->told);
	*counters = (struct gt_counters){0};
}

bool gt_counters_note(struct gt_counters *counters, const struct gt_ring_record *record)
{
	struct gt_event_count *told;
	struct read_start read;
	uint32_t i;

	if (!gt_ring_record_copy(record, 0, &read, sizeof(read)))
		return true;
	i = gt_hash_get(&counters->index, read.id);
	if (i == GT_HASH_NONE)
		return true;
	told = &counters->told[i];
	told->value += read.value;
	told->enabled_ns += read.enabled_ns;
	told->running_ns += read.running_ns;
	counters->has_first |= read.tid == counters->pid;
	return read.value > 0 || read.running_ns > 0 || i % counters->set->ring_count == 0;
}

static uint64_t subtract(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* What the first thread has counted on the CPU of RING. */
static int append_rest(const struct gt_counters *counters, uint32_t counter, uint32_t ring,
		       struct gt_pass_output *output)
{
	const struct gt_set_event *event = &counters->set->events.items[counters->first + counter];
	const struct gt_event_count *told =
		&counters->told[counter * counters->set->ring_count + ring];
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
	int r = gt_event_set_count(counters->set, counters->first + counter, ring, &all);

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

int gt_counters_add_first(struct gt_counters *counters, const struct gt_pass_rings *rings,
			  const struct gt_followed_threads *followed, struct gt_pass_output *output)
{
	int r = 0;

	if (counters->count == 0)
		return 0;
	if (counters->has_first || gt_pass_rings_lost(rings) > 0 ||
	    !gt_followed_threads_have_ended(followed)) {
		gt_debug("what the first thread has counted is not known");
		return 0;
	}
	for (uint32_t i = 0; r == 0 && i < counters->count; i++)
		for (uint32_t ring = 0; r == 0 && ring < rings->count; ring++)
			r = append_rest(counters, i, ring, output);
	return r;
}
