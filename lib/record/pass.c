/* SPDX-License-Identifier: MIT */
#include "record/pass.h"

#include <perf/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "record/event_set.h"
#include "record/perfdata_features.h"
#include "record/perfdata_writer.h"
#include "record/ring.h"
#include "record/tracing_data.h"

/*
 * What a CPU may write to its ring in a millisecond while it is left alone: 200 context switches.
 * More wake-ups than this would show in what is measured.
 */
#define RING_BYTES_PER_MS (UINT64_C(8) << 10)
#define MIN_REST_MS UINT64_C(5)

/* The start of every sample, for sample_type IDENTIFIER | TID | TIME. */
struct sample_start {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* A record of losses with the fields that sample_id_all adds to it. */
struct lost_record {
	struct perf_record_lost lost;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t id;
};

struct pass_ring {
	struct gt_ring ring;
	uint64_t lost; /* that records of it told of */
};

struct gt_pass {
	struct gt_event_set set;
	struct gt_perfdata_writer *writer;
	struct gt_writer_event *events;
	struct pass_ring *rings;
	char *const *command;
	char *tracing_data;
	size_t tracing_data_size;
	uint64_t first_ns, last_ns; /* of the samples */
	struct gt_pass_counts counts;
	bool is_behind;
	bool tells_tasks_only;
};

/* What the file's header says of the events. */
static int describe_events(struct gt_pass *pass)
{
	uint32_t count = pass->set.events.count;

	pass->events = calloc(count, sizeof(*pass->events));
	if (!pass->events)
		return gt_error_oom();
	for (uint32_t i = 0; i < count; i++) {
		const struct gt_set_event *event = &pass->set.events.items[i];

		pass->events[i] = (struct gt_writer_event){.name = event->name,
							   .attr = event->attr,
							   .ids = event->ids,
							   .id_count = pass->set.ring_count};
	}
	return 0;
}

static int find_rings(struct gt_pass *pass)
{
	struct perf_mmap *map = NULL;

	pass->rings = calloc(pass->set.ring_count, sizeof(*pass->rings));
	if (!pass->rings)
		return gt_error_oom();
	for (uint32_t i = 0; i < pass->set.ring_count; i++) {
		map = gt_event_set_next_ring(&pass->set, map);
		pass->rings[i].ring = (struct gt_ring){.map = map, .bytes = pass->set.ring_bytes};
	}
	return 0;
}

int gt_pass_open(const struct gt_pass_spec *spec, pid_t pid, struct gt_pass **ret)
{
	_cleanup_(gt_pass_closep) struct gt_pass *pass = calloc(1, sizeof(*pass));
	int r;

	if (!pass)
		return gt_error_oom();
	pass->command = spec->command;
	pass->tells_tasks_only = spec->tracepoint_count == 0 && !spec->context_switches;
	r = gt_event_set_open(&pass->set, spec, pid);
	if (r < 0)
		return r;
	if (spec->tracepoint_count > 0)
		r = gt_tracing_data_read(spec, &pass->tracing_data, &pass->tracing_data_size);
	if (r < 0)
		return r;
	r = describe_events(pass);
	if (r < 0)
		return r;
	r = find_rings(pass);
	if (r < 0)
		return r;
	r = gt_perfdata_writer_open(spec->path, pass->events, pass->set.events.count,
				    &pass->writer);
	if (r < 0)
		return r;
	*ret = GT_STEAL(pass);
	return 0;
}

static void count_record(struct gt_pass *pass, struct pass_ring *ring,
			 const struct gt_ring_record *record)
{
	struct perf_record_lost lost;
	struct sample_start sample;

	if (record->header.type == PERF_RECORD_SAMPLE &&
	    gt_ring_record_copy(record, 0, &sample, sizeof(sample))) {
		if (pass->counts.samples == 0)
			pass->first_ns = sample.time_ns;
		pass->first_ns = GT_MIN(pass->first_ns, sample.time_ns);
		pass->last_ns = GT_MAX(pass->last_ns, sample.time_ns);
		pass->counts.samples++;
	} else if (record->header.type == PERF_RECORD_LOST &&
		   gt_ring_record_copy(record, 0, &lost, sizeof(lost))) {
		ring->lost += lost.lost;
	}
}

/* Writes what one ring holds. *RET_BYTES: how much it was. */
static int drain_ring(struct gt_pass *pass, struct pass_ring *ring, uint64_t *ret_bytes)
{
	uint64_t start = ring->ring.position;
	struct gt_ring_record record;
	int r = 0;

	if (!gt_ring_begin(&ring->ring))
		return 0;
	while (r == 0 && gt_ring_next(&ring->ring, &record)) {
		count_record(pass, ring, &record);
		r = gt_perfdata_writer_append(pass->writer, record.first, record.first_size);
		if (r == 0 && record.second_size > 0)
			r = gt_perfdata_writer_append(pass->writer, record.second,
						      record.second_size);
	}
	gt_ring_end(&ring->ring);
	*ret_bytes = ring->ring.position - start;
	return r;
}

static int end_round(struct gt_pass *pass)
{
	struct perf_event_header mark = {.type = PERF_RECORD_FINISHED_ROUND, .size = sizeof(mark)};

	return gt_perfdata_writer_append(pass->writer, &mark, sizeof(mark));
}

int gt_pass_drain(struct gt_pass *pass)
{
	uint64_t fullest = 0, total = 0;
	int r;

	for (uint32_t i = 0; i < pass->set.ring_count; i++) {
		uint64_t bytes = 0;

		r = drain_ring(pass, &pass->rings[i], &bytes);
		if (r < 0)
			return r;
		fullest = GT_MAX(fullest, bytes);
		total += bytes;
	}
	if (total > 0) {
		r = end_round(pass);
		if (r < 0)
			return r;
	}
	pass->is_behind = fullest > pass->set.ring_bytes / 4;
	return gt_perfdata_writer_tend(pass->writer);
}

uint32_t gt_pass_rest_ms(const struct gt_pass *pass)
{
	uint64_t rest_ms = GT_MAX(pass->set.ring_bytes / RING_BYTES_PER_MS, MIN_REST_MS);

	if (pass->is_behind)
		return 0;
	/* That the rings are small is no reason to wake up for what tasks tell now and then. */
	return pass->tells_tasks_only ? UINT32_MAX : (uint32_t)GT_MIN(rest_ms, UINT32_MAX);
}

static int drain_source(void *object)
{
	return gt_pass_drain(object);
}

static uint32_t source_rest_ms(const void *object)
{
	return gt_pass_rest_ms(object);
}

struct gt_session_source gt_pass_source(struct gt_pass *pass)
{
	return (struct gt_session_source){
		.object = pass, .drain = drain_source, .rest_ms = source_rest_ms};
}

/*
 * The kernel tells of a loss in front of the next record that finds room; there may have been none.
 * What it has counted and not told is added here.
 */
static int add_untold_losses(struct gt_pass *pass)
{
	for (uint32_t i = 0; i < pass->set.ring_count; i++) {
		uint64_t counted = gt_event_set_lost(&pass->set, i);
		struct pass_ring *ring = &pass->rings[i];
		struct lost_record record = {
			.lost = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(record)},
				 .id = pass->set.events.items[0].ids[i]},
			.time_ns = gt_clock_ns(CLOCK_MONOTONIC),
			.id = pass->set.events.items[0].ids[i],
		};
		int r = 0;

		if (counted > ring->lost) {
			record.lost.lost = counted - ring->lost;
			ring->lost = counted;
			r = gt_perfdata_writer_append(pass->writer, &record, sizeof(record));
		}
		if (r < 0)
			return r;
		pass->counts.lost += ring->lost;
	}
	/* Also the mark of the last round, so that the data of a finished file is never empty. */
	return end_round(pass);
}

int gt_pass_finish(struct gt_pass *pass, struct gt_pass_counts *ret_counts)
{
	struct gt_perfdata_features features = {
		.events = pass->events,
		.event_count = pass->set.events.count,
		.cpu_count = pass->set.ring_count,
		.command = pass->command,
		.tracing_data = pass->tracing_data,
		.tracing_data_size = pass->tracing_data_size,
	};
	int r;

	gt_event_set_disable(&pass->set);
	r = gt_pass_drain(pass);
	if (r < 0)
		return r;
	r = add_untold_losses(pass);
	if (r < 0)
		return r;
	features.first_ns = pass->first_ns;
	features.last_ns = pass->last_ns;
	r = gt_perfdata_features_write(pass->writer, &features);
	if (r < 0)
		return r;
	pass->counts.bytes = gt_perfdata_writer_bytes(pass->writer);
	*ret_counts = pass->counts;
	return 0;
}

void gt_pass_close(struct gt_pass *pass)
{
	if (pass->writer)
		gt_perfdata_writer_close(pass->writer);
	gt_event_set_close(&pass->set);
	free(pass->events);
	free(pass->rings);
	free(pass->tracing_data);
	free(pass);
}
