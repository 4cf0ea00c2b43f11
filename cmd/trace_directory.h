/* SPDX-License-Identifier: MIT */
/* A directory for the recorded data that is gone when giltrace ends, also by a signal. */
#pragma once

/* Makes one in TMPDIR. A negative errno (logged). */
int gt_trace_directory_make_temporary(char **ret_path);

/* For _cleanup_(): removes *PATH, if it is not NULL, with the files in it, and frees it. */
void gt_trace_directory_removep(char **path);
