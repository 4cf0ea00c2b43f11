/* SPDX-License-Identifier: MIT */
#include "render/summary_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <libutil.h>

#include "base/time.h"

#define USUAL_COLUMNS UINT32_C(80)

const char *gt_text_ns(uint64_t ns, char text[static GT_TEXT_SIZE])
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"s", GT_NS_PER_SEC}, {"ms", GT_NS_PER_MS}, {"us", GT_NS_PER_US}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		uint64_t tenths = (ns + units[i].ns / 20) / (units[i].ns / 10);

		if (tenths < 10)
			continue;
		if (tenths < 100)
			snprintf(text, GT_TEXT_SIZE, "%" PRIu64 ".%" PRIu64 "%s", tenths / 10,
				 tenths % 10, units[i].name);
		else
			snprintf(text, GT_TEXT_SIZE, "%" PRIu64 "%s",
				 (ns + units[i].ns / 2) / units[i].ns, units[i].name);
		return text;
	}
	snprintf(text, GT_TEXT_SIZE, "%" PRIu64 "ns", ns);
	return text;
}

const char *gt_text_count(uint64_t count, char text[static GT_TEXT_SIZE])
{
	if (count < 100000)
		snprintf(text, GT_TEXT_SIZE, "%" PRIu64, count);
	else if (humanize_number(text, 5, (int64_t)GT_MIN(count, (uint64_t)INT64_MAX), "",
				 HN_AUTOSCALE, HN_NOSPACE | HN_DECIMAL | HN_DIVISOR_1000) < 0)
		snprintf(text, GT_TEXT_SIZE, "%" PRIu64, count);
	return text;
}

const char *gt_text_digits(uint64_t count, char text[static GT_TEXT_SIZE])
{
	char plain[GT_TEXT_SIZE];
	size_t length = (size_t)snprintf(plain, sizeof(plain), "%" PRIu64, count), at = 0;

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = plain[i];
	}
	text[at] = '\0';
	return text;
}

const char *gt_text_percent(uint64_t part, uint64_t whole, char text[static GT_TEXT_SIZE])
{
	if (whole == 0)
		snprintf(text, GT_TEXT_SIZE, "-");
	else
		snprintf(text, GT_TEXT_SIZE, "%.1f", 100.0 * (double)part / (double)whole);
	return text;
}

/* Of UTF-8, all bytes begin a character but those that go on with one. */
static bool begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

uint32_t gt_text_columns(const char *text)
{
	uint32_t columns = 0;

	for (; *text; text++)
		columns += begins_character(*text);
	return columns;
}

static char *format(const char *text, va_list arguments)
{
	char *line;

	return vasprintf(&line, text, arguments) < 0 ? NULL : line;
}

void gt_text_write_line(const struct gt_report *report, struct gt_sink *sink, const char *text, ...)
{
	_cleanup_free_ char *line = NULL;
	uint32_t columns = 0;
	va_list arguments;
	size_t end = 0;

	va_start(arguments, text);
	line = format(text, arguments);
	va_end(arguments);
	if (!line)
		return;
	for (size_t i = 0; line[i]; i++) {
		if (begins_character(line[i]) && ++columns == report->columns)
			end = i;
	}
	if (report->columns && columns > report->columns)
		gt_sink_printf(sink, "%.*s…\n", (int)end, line);
	else
		gt_sink_printf(sink, "%s\n", line);
}

void gt_text_write_wrapped(const struct gt_report *report, struct gt_sink *sink, const char *text,
			   ...)
{
	_cleanup_free_ char *sentence = NULL;
	uint32_t room = GT_MIN(report->columns ? report->columns : USUAL_COLUMNS, USUAL_COLUMNS);
	uint32_t columns = 0;
	va_list arguments;
	char *rest;

	va_start(arguments, text);
	sentence = format(text, arguments);
	va_end(arguments);
	rest = sentence;
	for (char *word; (word = strsep(&rest, " "));) {
		uint32_t length = gt_text_columns(word);

		if (columns > 0 && columns + 1 + length > room) {
			gt_sink_puts(sink, "\n ");
			columns = 1;
		}
		gt_sink_printf(sink, "%s%s", columns > 0 ? " " : "", word);
		columns += length + (columns > 0);
	}
	gt_sink_puts(sink, "\n");
}
