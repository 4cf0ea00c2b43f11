/* SPDX-License-Identifier: MIT */
/* What a perf.data file says of its recording, beside the records: its feature sections. */
#pragma once

#include <stdint.h>

#include "record/perfdata_writer.h"

struct gt_perfdata_features {
	const struct gt_writer_event *events;
	uint32_t event_count;
	uint32_t cpu_count;
	char *const *command; /* NULL-terminated */
	uint64_t first_ns;    /* of the samples; both 0 when there are none */
	uint64_t last_ns;
};

/* Adds the features of SPEC to the file, and finishes it. Logs what failed. */
int gt_perfdata_features_write(struct gt_perfdata_writer *writer,
			       const struct gt_perfdata_features *spec);
