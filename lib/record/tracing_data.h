/* SPDX-License-Identifier: MIT */
/* The tracing data of a perf.data file: what tracefs says of the fields of tracepoints. */
#pragma once

#include <stddef.h>

struct gt_pass_spec;

/*
 * Reads the formats of SPEC's tracepoints, while they are there: uprobes go after the recording.
 * The caller frees *RET_DATA. Logs what failed.
 */
int gt_tracing_data_read(const struct gt_pass_spec *spec, char **ret_data, size_t *ret_size);
