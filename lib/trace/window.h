/* SPDX-License-Identifier: MIT */
/*
 * The window of a flight recorder: of what came before it, only the tasks that still live as it
 * begins are of interest.
 */
#pragma once

#include <stdint.h>

#include "base/macros.h"
#include "trace/merge.h"

struct gt_window;

/*
 * Leaves out what SOURCE, which stays the caller's, has from before START_NS. In its stead come the
 * births, names and maps of the tasks that live at START_NS, with the time 0; and at START_NS
 * itself, what they were doing and the memory that they had. What threads have counted is left out:
 * it is of their whole lives. 0 or -ENOMEM (logged).
 */
int gt_window_new(struct gt_event_source source, uint64_t start_ns, struct gt_window **ret);
void gt_window_free(struct gt_window *window);
GT_DEFINE_CLEANUP(struct gt_window *, gt_window_free)

/* The next event: as that of a source. OBJECT is a struct gt_window. */
int gt_window_next(void *object, struct gt_event *ret);
