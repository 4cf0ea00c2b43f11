/* SPDX-License-Identifier: MIT */
/*
 * Messages for the person at the terminal, on stderr, one line each with "giltrace: " before it.
 * Further lines of a message (what to do) are part of its text, after "\n  ".
 *
 * The function that knows the cause makes the message, and returns the error:
 *
 *     fd = open(path, O_RDONLY | O_CLOEXEC);
 *     if (fd < 0)
 *             return gt_error_errno(-errno, "cannot open %s", path);
 *
 * Callers above pass the error on and add nothing.
 */
#pragma once

#include "base/macros.h"

enum gt_log_level {
	GT_LOG_ERROR, /* what stops the work; -q leaves these */
	GT_LOG_WARNING,
	GT_LOG_INFO,
	GT_LOG_DEBUG, /* -v */
};

void gt_log_set_level(enum gt_log_level level);

void gt_log(enum gt_log_level level, const char *format, ...) _printf_(2, 3);

/* Logs "MESSAGE: STRERROR", further lines of MESSAGE behind it, and returns ERR, which is a
 * negative errno. */
int gt_log_errno(enum gt_log_level level, int err, const char *format, ...) _printf_(3, 4);

#define gt_error(...) gt_log(GT_LOG_ERROR, __VA_ARGS__)
#define gt_warning(...) gt_log(GT_LOG_WARNING, __VA_ARGS__)
#define gt_info(...) gt_log(GT_LOG_INFO, __VA_ARGS__)
#define gt_debug(...) gt_log(GT_LOG_DEBUG, __VA_ARGS__)

#define gt_error_errno(err, ...) gt_log_errno(GT_LOG_ERROR, err, __VA_ARGS__)
#define gt_debug_errno(err, ...) gt_log_errno(GT_LOG_DEBUG, err, __VA_ARGS__)

/*
 * While one of these is active, messages are kept in it instead of printed, all but those for -v.
 * For a caller that reports them in a form of its own. They nest.
 */
struct gt_log_capture {
	struct gt_log_capture *outer;
	FILE *stream;
	char *text;
	size_t size;
};

void gt_log_start_capture(struct gt_log_capture *inner);

/* Ends the one that was started last, and gives what was said meanwhile; NULL for nothing. The
 * caller frees it. */
char *gt_log_end_capture(struct gt_log_capture *inner);

/* Out of memory: logs, and returns -ENOMEM. */
int gt_error_oom(void);
