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

/* Makes paths and names in a message harmless. Its own lines stay lines. */
static void make_printable(char *message)
{
	for (unsigned char *c = (unsigned char *)message; *c; c++)
		if ((*c < ' ' && *c != '\n') || *c == 0x7f)
			*c = '?';
}

/* The reason belongs to the first line; what to do follows on lines of its own. */
static void log_line(char *message, const char *reason)
{
	size_t first;

	if (!message)
		return;
	make_printable(message);
	first = strcspn(message, "\n");
	/* One call a message, so that the target's own lines do not fall into it. */
	fprintf(stderr, "giltrace: %.*s%s%s%s\n", (int)first, message, reason ? ": " : "",
		reason ? reason : "", message + first);
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
	log_line(message, NULL);
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
	log_line(message, strerror(-err));
	return err;
}

int gt_error_oom(void)
{
	gt_error("out of memory");
	return -ENOMEM;
}
