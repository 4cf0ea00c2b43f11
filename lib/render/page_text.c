/* SPDX-License-Identifier: MIT */
#include "render/page_text.h"

#include <string.h>

void gt_page_write_json(struct gt_sink *sink, const char *text)
{
	const char *bracket;

	while ((bracket = strchr(text, '<'))) {
		gt_sink_write(sink, text, (size_t)(bracket - text));
		gt_sink_puts(sink, "\\u003c");
		text = bracket + 1;
	}
	gt_sink_puts(sink, text);
}
