/* SPDX-License-Identifier: MIT */
/*
 * All that is recorded of one execution: the GIL's events by one way or two, and the tasks' births
 * and ends, into gil.perf.data and gil.agent; the threads' states into state.perf.data. What fails
 * beside the GIL's events is told, and left out. Without them, the states are all there is.
 */
#pragma once

#include <sys/types.h>

#include "base/macros.h"
#include "record/meta.h"
#include "record/session.h"

struct gt_capture;
struct gt_options;
struct gt_probe_choice;
struct gt_state_choice;
struct gt_traced_python;

struct gt_capture_spec {
	const char *directory;
	const struct gt_options *options;
	const struct gt_traced_python *python;
	const struct gt_gil_sites *sites;
	const struct gt_probe_choice *choice;
	struct gt_state_choice *states; /* what turns out not to be possible is taken out */
	char *const *arguments;		/* the program's */
};

/*
 * Prepares what must be there before the program is forked. SPEC and what it points to must outlive
 * the capture. A negative errno (logged).
 */
int gt_capture_new(const struct gt_capture_spec *spec, struct gt_capture **ret);

/* What the program is to be started with. Owned by the capture. */
char *const *gt_capture_environment(const struct gt_capture *capture);

/* Opens the events on PID, which has been forked and not started. A negative errno (logged). */
int gt_capture_open(struct gt_capture *capture, pid_t pid);

/* Notes what is recorded, and how. A negative errno (logged). */
int gt_capture_describe(const struct gt_capture *capture, struct gt_meta *meta);

/* What a session is to drain, and how many. */
struct gt_session_source *gt_capture_sources(struct gt_capture *capture, uint32_t *ret_count);

/*
 * Completes the files when the program has ended, and notes what was lost. Removes the files that
 * could not be written as long as others tell what matters. -EIO (logged) when none does.
 */
int gt_capture_finish(struct gt_capture *capture, struct gt_meta *meta);

void gt_capture_close(struct gt_capture *capture);
GT_DEFINE_CLEANUP(struct gt_capture *, gt_capture_close)
