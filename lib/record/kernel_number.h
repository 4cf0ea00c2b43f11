/* SPDX-License-Identifier: MIT */
#pragma once

/* The number that a file of /proc or tracefs holds. -errno (not logged) when it cannot be read. */
int gt_kernel_number_read(const char *path, long long *ret);
