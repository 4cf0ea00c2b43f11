/* SPDX-License-Identifier: MIT */
/*
 * Kernel probes on the sites of the GIL, through tracefs: a group with one event for all sites of a
 * kind (take, acquired, release, switched). A recording has a group of its own, giltrace_<pid>,
 * that goes with it; others are made to stay, and have any other name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct gt_elf;
struct gt_gil_sites;
struct gt_uprobes;

/*
 * Installs the probes in the file ELF, in GROUP, or in this process's own where that is NULL. On
 * failure all of them are gone again, and a message has been logged: -EACCES, -EPERM without
 * rights, -EOPNOTSUPP, -ESTALE when the file has been replaced since it was opened, …
 */
int gt_uprobes_install(const char *group, const struct gt_elf *elf,
		       const struct gt_gil_sites *sites, struct gt_uprobes **ret);

/* The group's name. Owned by UPROBES. */
const char *gt_uprobes_group(const struct gt_uprobes *uprobes);

/* Removes the probes and frees UPROBES. No event of them may be open any more. */
void gt_uprobes_remove(struct gt_uprobes *uprobes);
GT_DEFINE_CLEANUP(struct gt_uprobes *, gt_uprobes_remove)

/* Frees UPROBES, and leaves the probes where they are. */
void gt_uprobes_keep(struct gt_uprobes *uprobes);

/*
 * Removes the GIL's events of GROUP, and no other event. -ENOENT when there are none; -EBUSY when
 * one is in use (both logged).
 */
int gt_uprobes_remove_group(const char *group);

/* Whether a group that is made to stay can be made with this name; logs why not. */
bool gt_uprobes_check_group(const char *group);

/* Calls FUNCTION for each probe that has the name of a GIL's event, in GROUP, or in any if NULL. */
void gt_uprobes_list(const char *group,
		     void (*function)(const char *group, const char *event, const char *address));

/*
 * Removes the groups of processes that have died without doing so. The probes of others, and those
 * in use, are left alone.
 */
void gt_uprobes_remove_leftovers(void);
