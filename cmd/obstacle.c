/* SPDX-License-Identifier: MIT */
#include "cmd/obstacle.h"

#include <stdarg.h>
#include <string.h>

#include "base/io.h"

void gt_obstacle_set(struct gt_obstacle *obstacle, const char *remedy, const char *cause_format,
		     ...)
{
	va_list arguments;

	gt_obstacle_clear(obstacle);
	va_start(arguments, cause_format);
	if (vasprintf(&obstacle->cause, cause_format, arguments) < 0)
		obstacle->cause = NULL;
	va_end(arguments);
	obstacle->remedy = remedy ? strdup(remedy) : NULL;
}

void gt_obstacle_clear(struct gt_obstacle *obstacle)
{
	free(obstacle->cause);
	free(obstacle->remedy);
	*obstacle = (struct gt_obstacle){0};
}

void gt_obstacle_set_message(struct gt_obstacle *obstacle, char *message)
{
	char *end = message ? strchr(message, '\n') : NULL;
	const char *remedy = NULL;

	if (end) {
		*end = '\0';
		remedy = end + 1 + strspn(end + 1, " ");
	}
	gt_obstacle_set(obstacle, remedy && *remedy ? remedy : NULL, "%s",
			message ? message : "it cannot be told why");
	free(message);
}

char *gt_obstacle_text(const struct gt_obstacle *obstacle)
{
	if (!obstacle->cause)
		return NULL;
	return gt_format("%s%s%s", obstacle->cause, obstacle->remedy ? "\n  " : "",
			 obstacle->remedy ? obstacle->remedy : "");
}
