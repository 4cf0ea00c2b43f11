/* SPDX-License-Identifier: MIT */
/* The directory with the recorded data, and one that is gone when giltrace ends, also by a signal.
 */
#pragma once

/* The files in it. */
#define GT_TRACE_GIL_FILE "gil.perf.data"
#define GT_TRACE_STATE_FILE "state.perf.data"
#define GT_TRACE_AGENT_FILE "gil.agent"
#define GT_TRACE_KERNEL_SYMBOLS_FILE "kernel.symbols"
#define GT_TRACE_META_FILE "meta.json"
#define GT_TRACE_NEW_META_FILE "meta.json.new" /* while it is written */

/* And a directory in it, with code that was mapped and is gone or replaced: files that are named by
 * their build ids. */
#define GT_TRACE_FILES_DIRECTORY "files"

/* Removes these files, as far as they are there. */
void gt_trace_directory_empty(const char *path);

/* Makes one in TMPDIR. A negative errno (logged). */
int gt_trace_directory_make_temporary(char **ret_path);

/* For _cleanup_(): removes *PATH, if it is not NULL, with the files in it, and frees it. */
void gt_trace_directory_removep(char **path);
