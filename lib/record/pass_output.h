/* SPDX-License-Identifier: MIT */
/* What a pass writes to its file: records as they come from rings, and some of its own. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/perfdata_writer.h"

struct gt_ring_record;

/* What samples have in common, behind their identifier (and their address, if they have one). */
struct gt_sample_ids {
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* The end of every other record, by sample_id_all. */
struct gt_record_end {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t id;
};

struct gt_pass_output {
	struct gt_perfdata_writer *writer; /* owned */
	uint32_t ids_offset;		   /* of struct gt_sample_ids in samples */
	uint64_t samples;
	uint64_t first_ns, last_ns; /* of the samples */
	bool has_round;		    /* records were written that no mark of a round follows */
};

/* Writes a record as it is. Logs what failed, as all of these. */
int gt_pass_output_copy(struct gt_pass_output *output, const struct gt_ring_record *record);

/* Writes a record made here. */
int gt_pass_output_append(struct gt_pass_output *output, const void *record, uint32_t size);

/* Writes that COUNT records of the event ID were lost up to now. */
int gt_pass_output_append_loss(struct gt_pass_output *output, uint64_t id, uint64_t count);

/*
 * All that was written so far is older than what is written after the next call: readers sort by
 * this. Nothing is written where there is nothing to say.
 */
int gt_pass_output_end_round(struct gt_pass_output *output);

void gt_pass_output_close(struct gt_pass_output *output);
