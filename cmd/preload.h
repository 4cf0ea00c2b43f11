/* SPDX-License-Identifier: MIT */
/* Having a library loaded into a program before its own (LD_PRELOAD). */
#pragma once

#include "cmd/obstacle.h"

struct gt_traced_python;

/*
 * Whether the loader of this Python will do so, and whether the agent can see its GIL then. A
 * negative errno (not logged) if not, with the reason in OBSTACLE.
 */
int gt_preload_check(const struct gt_traced_python *python, struct gt_obstacle *obstacle);

/* An environment that says so. */
struct gt_preload_environment {
	char **variables; /* NULL-terminated; the others' text is borrowed */
	char *preload, *agent, *sanitizer_options;
};

/*
 * BASE, which must outlive it, with LIBRARY in front of what LD_PRELOAD has there, but behind the
 * run-time libraries of sanitizers, and with NAME=VALUE, into RET. Programs that are linked with
 * AddressSanitizer are told (ASAN_OPTIONS) to put up with that. The caller clears it. -ENOMEM
 * (logged).
 */
int gt_preload_environment_make(char *const *base, const char *library, const char *name,
				const char *value, struct gt_preload_environment *ret);
void gt_preload_environment_clear(struct gt_preload_environment *environment);
