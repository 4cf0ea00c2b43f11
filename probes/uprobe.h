/* SPDX-License-Identifier: MIT */
/*
 * Kernel probes on the sites of the GIL, through tracefs, in a group of this process's own:
 * giltrace_<pid>, with one event for all sites of a kind (take, acquired, release, switched).
 */
#pragma once

#include <stdint.h>

#include "base/macros.h"

struct gt_gil_sites;
struct gt_uprobes;

/*
 * Installs the probes in FILE, whose code is for MACHINE (EM_X86_64 …). On failure all of them are
 * gone again, and a message has been logged: -EACCES, -EPERM without rights, -EOPNOTSUPP, …
 */
int gt_uprobes_install(const char *file, uint16_t machine, const struct gt_gil_sites *sites,
		       struct gt_uprobes **ret);

/* The group's name. Owned by UPROBES. */
const char *gt_uprobes_group(const struct gt_uprobes *uprobes);

/* Removes the probes and frees UPROBES. No event of them may be open any more. */
void gt_uprobes_remove(struct gt_uprobes *uprobes);
GT_DEFINE_CLEANUP(struct gt_uprobes *, gt_uprobes_remove)

/*
 * Removes the groups of processes that have died without doing so. The probes of others, and those
 * in use, are left alone.
 */
void gt_uprobes_remove_leftovers(void);
