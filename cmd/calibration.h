/* SPDX-License-Identifier: MIT */
/* Half a second of two threads that compute, traced by one way of watching the GIL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "cmd/options.h"

/* How often a thread of the run did each. */
struct gt_calibration_thread {
	uint32_t tid;
	uint64_t take, acquired, release;
};

struct gt_calibration {
	bool has_run, ok;
	char *problem; /* NULL, or what went wrong and what to do */
	GT_ARRAY(struct gt_calibration_thread) threads;
	uint64_t has_ns;  /* the sum of all holds of the one GIL */
	uint64_t wall_ns; /* the whole run */
	uint64_t lost, inferred;
};

/*
 * Runs it under the Python of OPTIONS, by WAY, which is one way, into CALIBRATION, which is empty
 * before. The caller clears it.
 */
void gt_calibrate(const struct gt_options *options, enum gt_probe_way way, bool is_gil_enabled,
		  struct gt_calibration *calibration);
void gt_calibration_clear(struct gt_calibration *calibration);
