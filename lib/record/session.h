/* SPDX-License-Identifier: MIT */
/*
 * One execution under recording: signals, the target, and the passes that are drained while it
 * runs.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct gt_target;
struct gt_target_spec;
struct gt_session;

/*
 * From here on giltrace is not ended by a signal: it must remove its probes and write its report. A
 * signal from the terminal reaches the target by itself; one that was sent to giltrace alone (kill)
 * is passed on to it. Undone by gt_session_free(), which also lets a
 * signal end giltrace that came before the target was started.
 */
int gt_session_new(struct gt_session **ret);
void gt_session_free(struct gt_session *session);
GT_DEFINE_CLEANUP(struct gt_session *, gt_session_free)

/* Something that is drained while the target runs: a pass, or the agents' memory. */
struct gt_session_source {
	void *object;
	int (*drain)(void *object);		 /* -errno (logged): it is given up */
	uint32_t (*rest_ms)(const void *object); /* how long it can be left alone now; 0: not */
	bool has_failed;			 /* set by gt_session_run() */
};

/* Fills in the signal mask and dispositions that giltrace was started with. */
void gt_session_init_target(const struct gt_session *session, struct gt_target_spec *spec);

/*
 * Starts the target, and drains the sources until it has ended. RET_STATUS is that of waitpid(). A
 * negative errno (logged) when it could not be started, -EINTR (not logged) when a signal came
 * before; a source that fails is given up, and the target goes on.
 */
int gt_session_run(struct gt_session *session, struct gt_target *target,
		   struct gt_session_source *sources, uint32_t source_count, int *ret_status);
