/* SPDX-License-Identifier: MIT */
/*
 * What a process has that a program started by giltrace itself would not: a wrapper may have
 * changed its user, its limits, its folder, its namespaces or its root before it became a Python.
 * Such a wrapper must be run as well, while a mere shim can be skipped.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether we may look: not at a process whose program has given it other rights than ours. */
bool gt_surroundings_can_be_seen(pid_t pid);

/* Whether PID, a living process, has all of that as this process does. */
bool gt_surroundings_are_ours(pid_t pid);

/* Its root directory as we see it, in a new string; NULL when it is ours, or cannot be told. */
char *gt_surroundings_root(pid_t pid);

/*
 * Whether PATH, as PID sees it, is the file OUR_PATH here: in a mount namespace of its own a path
 * may lead elsewhere.
 */
bool gt_surroundings_share_file(pid_t pid, const char *path, const char *our_path);
