/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static enum gt_log_level max_level = GT_LOG_INFO;
static struct gt_log_capture *capture; /* the innermost, or NULL */

void gt_log_set_level(enum gt_log_level level)
{
	max_level = level;
}

/* Makes paths and names in a message harmless. Its own lines stay lines. */
static void make_printable(char *message)
{
	for (unsigned char *c = (unsigned char *)message; *c; c++)
		if ((*c < ' ' && *c != '\n') || *c == 0x7f)
			*c = '?';
}

/* The reason belongs to the first line; what to do follows on lines of its own. */
static void log_line(enum gt_log_level level, char *message, const char *reason)
{
	bool is_captured = capture && capture->stream && level < GT_LOG_DEBUG;
	size_t first;

	if (!message)
		return;
	make_printable(message);
	first = strcspn(message, "\n");
	/* One call a message, so that the target's own lines do not fall into it. */
	fprintf(is_captured ? capture->stream : stderr, "%s%.*s%s%s%s\n",
		is_captured ? "" : "giltrace: ", (int)first, message, reason ? ": " : "",
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
	log_line(level, message, NULL);
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
	log_line(level, message, strerror(-err));
	return err;
}

int gt_error_oom(void)
{
	gt_error("out of memory");
	return -ENOMEM;
}

void gt_log_start_capture(struct gt_log_capture *inner)
{
	*inner = (struct gt_log_capture){.outer = capture};
	/* Without memory for it, messages are printed. */
	inner->stream = open_memstream(&inner->text, &inner->size);
	capture = inner;
}

char *gt_log_end_capture(struct gt_log_capture *inner)
{
	char *text;

	capture = inner->outer;
	if (inner->stream)
		fclose(inner->stream);
	text = GT_STEAL(inner->text);
	if (text && inner->size > 0) {
		/* Of the last line; those between stay. */
		text[inner->size - 1] = '\0';
		return text;
	}
	free(text);
	return NULL;
}
