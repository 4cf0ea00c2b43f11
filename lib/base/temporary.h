/* SPDX-License-Identifier: MIT */
/*
 * Files and directories that must not outlive giltrace, also when a signal ends it: they are noted
 * here while they exist.
 */
#pragma once

#include <sys/types.h>

/*
 * Notes PATH, which is copied. Without room for it (there is enough), it is not noted. With a
 * directory go the files in it; one that is in it is to be noted behind it.
 */
void gt_temporary_add(const char *path);

/* It has been removed, or is there to stay. */
void gt_temporary_forget(const char *path);

/* Notes a process group that must not outlive giltrace either; 0: it has ended. */
void gt_temporary_set_group(pid_t group);

/*
 * From now on a signal that ends the program removes what is noted, last noted first, and then ends
 * it as it would have. One that is ignored stays so.
 */
void gt_temporary_remove_on_signals(void);
