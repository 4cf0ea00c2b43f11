/* SPDX-License-Identifier: MIT */
/* What giltrace doctor finds out, and the two forms in which it tells. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "base/array.h"
#include "cmd/traced_python.h"
#include "record/event_kinds.h"

struct gt_options;

/* How often a thread of the calibration run did each. */
struct gt_calibration_thread {
	uint32_t tid;
	uint64_t take, acquired, release;
};

/* Half a second of two threads that compute, traced. */
struct gt_calibration {
	bool has_run, ok;
	char *problem; /* NULL, or what went wrong and what to do */
	GT_ARRAY(struct gt_calibration_thread) threads;
	uint64_t has_ns;  /* the sum of all holds of the one GIL */
	uint64_t wall_ns; /* the whole run */
	uint64_t lost, inferred;
};

struct gt_diagnosis {
	struct utsname kernel;
	uint32_t uid;
	uint64_t capabilities; /* effective ones, a bit each */
	bool has_paranoid;
	int paranoid;
	const char *tracefs; /* NULL: not mounted, and cannot be */
	bool can_probe;
	char *rights_problem;
	bool events[GT_EVENT_KINDS];
	struct gt_traced_python python;
	bool has_python, has_sites;
	char *python_problem;
	struct gt_calibration calibration;
	bool ok; /* tracing will work */
};

/* Finds everything out, into DIAGNOSIS, which is empty before. The caller clears it. */
void gt_diagnose(const struct gt_options *options, struct gt_diagnosis *diagnosis);
void gt_diagnosis_clear(struct gt_diagnosis *diagnosis);

/* On stdout: a table for people, or one JSON object. 0 or a negative errno. */
int gt_diagnosis_print(const struct gt_diagnosis *diagnosis);
int gt_diagnosis_print_json(const struct gt_diagnosis *diagnosis);
