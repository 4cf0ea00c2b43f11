/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static enum gt_log_level max_level = GT_LOG_INFO;

void gt_log_set_level(enum gt_log_level level)
{
	max_level = level;
}

enum gt_log_level gt_log_level(void)
{
	return max_level;
}

static void log_line(const char *message, const char *reason)
{
	/* One call a message, so that the target's own lines do not fall into it. */
	fprintf(stderr, "giltrace: %s%s%s\n", message, reason ? ": " : "", reason ? reason : "");
}

void gt_log(enum gt_log_level level, const char *format, ...)
{
	_cleanup_free_ char *message = NULL;
	va_list arguments;

	if (level > max_level)
		return;
	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	va_end(arguments);
	log_line(message ? message : format, NULL);
}

int gt_log_errno(enum gt_log_level level, int err, const char *format, ...)
{
	_cleanup_free_ char *message = NULL;
	va_list arguments;

	if (level > max_level)
		return err;
	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	va_end(arguments);
	log_line(message ? message : format, strerror(-err));
	return err;
}

int gt_error_oom(void)
{
	gt_error("out of memory");
	return -ENOMEM;
}
