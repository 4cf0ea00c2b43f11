/* SPDX-License-Identifier: MIT */
#include "record/pass_output.h"

#include <perf/event.h>

#include "base/time.h"
#include "record/ring.h"

/* A record of losses with the fields that sample_id_all adds to it. */
struct lost_record {
	struct perf_record_lost lost;
	struct gt_record_end end;
};

static void count_sample(struct gt_pass_output *output, const struct gt_ring_record *record)
{
	struct gt_sample_ids sample;

	if (record->header.type != PERF_RECORD_SAMPLE ||
	    !gt_ring_record_copy(record, output->ids_offset, &sample, sizeof(sample)))
		return;
	if (output->samples == 0)
		output->first_ns = sample.time_ns;
	output->first_ns = GT_MIN(output->first_ns, sample.time_ns);
	output->last_ns = GT_MAX(output->last_ns, sample.time_ns);
	output->samples++;
}

int gt_pass_output_copy(struct gt_pass_output *output, const struct gt_ring_record *record)
{
	int r;

	count_sample(output, record);
	r = gt_pass_output_append(output, record->first, record->first_size);
	if (r == 0 && record->second_size > 0)
		r = gt_pass_output_append(output, record->second, record->second_size);
	return r;
}

int gt_pass_output_append(struct gt_pass_output *output, const void *record, uint32_t size)
{
	output->has_round = true;
	return gt_perfdata_writer_append(output->writer, record, size);
}

int gt_pass_output_append_loss(struct gt_pass_output *output, uint64_t id, uint64_t count)
{
	struct lost_record record = {
		.lost = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(record)},
			 .id = id,
			 .lost = count},
		.end = {.time_ns = gt_clock_ns(CLOCK_MONOTONIC), .id = id},
	};

	return gt_pass_output_append(output, &record, sizeof(record));
}

int gt_pass_output_end_round(struct gt_pass_output *output)
{
	struct perf_event_header mark = {.type = PERF_RECORD_FINISHED_ROUND, .size = sizeof(mark)};

	if (!output->has_round)
		return 0;
	output->has_round = false;
	return gt_perfdata_writer_append(output->writer, &mark, sizeof(mark));
}

void gt_pass_output_close(struct gt_pass_output *output)
{
	if (output->writer)
		gt_perfdata_writer_close(output->writer);
}
