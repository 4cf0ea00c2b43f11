/* SPDX-License-Identifier: MIT */
#pragma once

/* Says that PATH, a file of the trace, cannot be written, and what to do. Returns ERR. */
int gt_write_error(const char *path, int err);
