/* SPDX-License-Identifier: MIT */
/* The verbs, one file each. Each returns the exit status of giltrace. */
#pragma once

struct gt_options;

int gt_run(const struct gt_options *options);
int gt_record(const struct gt_options *options);
int gt_report(const struct gt_options *options);
int gt_probe(const struct gt_options *options);
int gt_doctor(const struct gt_options *options);

/*
 * The parts that run is made of.
 *
 * Records the target into DIRECTORY: 0 and the target's status as a shell would give it, or the
 * exit status for a failure of giltrace itself (logged).
 */
int gt_record_into(const struct gt_options *options, const char *directory, int *ret_status);

/* Whether every output can be written, before anything is run. 0 or a negative errno (logged). */
int gt_report_check_outputs(const struct gt_options *options);

/* Reports a trace directory, or one perf.data file. 0 or a negative errno (logged). */
int gt_report_path(const struct gt_options *options, const char *path);
