/* SPDX-License-Identifier: MIT */
/* Where the kernel's tracing files are. */
#pragma once

/*
 * The mount point of tracefs, which is mounted first if it is not (and that is said). Owned by
 * libtracefs, valid until the program ends. -EPERM, -EACCES … (logged, with what to do).
 */
int gt_tracefs_find(const char **ret_path);

/* The same where it is mounted already, NULL where it is not. Changes nothing, and logs nothing. */
const char *gt_tracefs_mounted(void);
