/* SPDX-License-Identifier: MIT */
/*
 * The pass of a recording that is about states: when threads get on and off a CPU, from where, and
 * what they count meanwhile, into state.perf.data.
 */
#pragma once

#include <sys/types.h>

#include "record/meta.h"
#include "record/pass.h"

struct gt_options;
struct gt_rights;
struct gt_state_choice;

struct gt_state_capture_spec {
	const char *directory;
	const char *path; /* of the file */
	const struct gt_options *options;
	const struct gt_rights *rights;
	char *const *arguments; /* the program's */
};

/*
 * Opens it on PID, which has been forked and not started. What turns out not to be possible is
 * taken out of CHOICE, with a warning. A negative errno (warned of, or logged as an error
 * where there is nothing but states) when nothing is left.
 */
int gt_state_capture_open(const struct gt_state_capture_spec *spec, struct gt_state_choice *choice,
			  pid_t pid, struct gt_pass **ret);

/* Notes what is recorded, and how. -ENOMEM (logged). */
int gt_state_capture_describe(const struct gt_options *options,
			      const struct gt_state_choice *choice, struct gt_meta *meta);
