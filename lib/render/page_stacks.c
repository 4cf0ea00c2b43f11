/* SPDX-License-Identifier: MIT */
#include "render/page_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "render/columns.h"
#include "render/page_text.h"

static int add_frames(struct gt_page_stacks *stacks)
{
	uint32_t count = stacks->stacks->frames.count;

	stacks->frame_names = calloc((size_t)count + 1, sizeof(uint32_t));
	stacks->frame_files = calloc((size_t)count + 1, sizeof(uint32_t));
	if (!stacks->frame_names || !stacks->frame_files)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct gt_frame *frame = &stacks->stacks->frames.items[i];
		uint32_t file;

		if (gt_names_add(&stacks->names, frame->name, &stacks->frame_names[i]) < 0)
			return -ENOMEM;
		if (!frame->file)
			continue;
		if (gt_names_add(&stacks->names, frame->file, &file) < 0)
			return -ENOMEM;
		stacks->frame_files[i] = file + 1;
	}
	return 0;
}

int gt_page_stacks_make(const struct gt_report *report, struct gt_page_stacks *ret)
{
	int r;

	if (!report->stacks || !report->trace->has_states)
		return 0;
	ret->stacks = report->stacks;
	r = add_frames(ret);
	if (r < 0)
		return r;
	r = gt_flame_build(report, GT_FOLDED_OFF_CPU, &ret->names, &ret->off_cpu);
	if (r < 0)
		return r;
	return gt_flame_build(report, GT_FOLDED_OFF_GIL, &ret->names, &ret->off_gil);
}

void gt_page_stacks_clear(struct gt_page_stacks *stacks)
{
	gt_names_clear(&stacks->names);
	free(stacks->frame_names);
	free(stacks->frame_files);
	gt_flame_clear(&stacks->off_cpu);
	gt_flame_clear(&stacks->off_gil);
}

void gt_page_stacks_describe(const struct gt_page_stacks *stacks, json_t **page)
{
	if (!stacks->stacks)
		return;
	gt_json_set(page, "stacks",
		    json_pack("{s:I, s:I, s:I, s:I}", "stacks",
			      (json_int_t)stacks->stacks->stacks.count - 1, "frames",
			      (json_int_t)stacks->stacks->frames.count, "off_cpu",
			      (json_int_t)stacks->off_cpu.nodes.count - 1, "off_gil",
			      (json_int_t)stacks->off_gil.nodes.count - 1));
}

enum part {
	STACK_UP,
	STACK_FRAME,
	FRAME_NAME,
	FRAME_FILE,
	FLAME_UP,
	FLAME_NAME,
	FLAME_NS,
};

/* Of FLAME for those parts that are a flame's. */
static int write_column(const struct gt_page_stacks *stacks, const struct gt_flame *flame,
			enum part part, const char *name, struct gt_sink *sink)
{
	_cleanup_(gt_column_closep) struct gt_column *column = gt_column_open(sink, name);
	uint32_t count = flame					   ? flame->nodes.count
			 : part == STACK_UP || part == STACK_FRAME ? stacks->stacks->stacks.count
								   : stacks->stacks->frames.count;
	/* The stack of which nothing is known, and the root, stand for themselves. */
	uint32_t first = part != FRAME_NAME && part != FRAME_FILE;

	if (!column)
		return -ENOMEM;
	for (uint32_t i = first; i < count; i++) {
		switch (part) {
		case STACK_UP:
			gt_column_put(column, i - stacks->stacks->stacks.items[i].parent);
			break;
		case STACK_FRAME:
			gt_column_put(column, stacks->stacks->stacks.items[i].frame);
			break;
		case FRAME_NAME:
			gt_column_put(column, stacks->frame_names[i]);
			break;
		case FRAME_FILE:
			gt_column_put(column, stacks->frame_files[i]);
			break;
		case FLAME_UP:
			gt_column_put(column, i - flame->nodes.items[i].parent);
			break;
		case FLAME_NAME:
			gt_column_put(column, flame->nodes.items[i].name);
			break;
		case FLAME_NS:
			gt_column_put(column, flame->nodes.items[i].ns);
			break;
		}
	}
	return 0;
}

static int write_names(const struct gt_names *names, struct gt_sink *sink)
{
	json_auto_t *list = json_array();
	_cleanup_free_ char *text = NULL;

	for (uint32_t i = 0; list && i < names->texts.count; i++)
		gt_json_append(&list, json_string(names->texts.items[i]));
	text = list ? json_dumps(list, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	if (!text)
		return -ENOMEM;
	gt_sink_puts(sink, "<script type=\"application/json\" id=\"names\">");
	gt_page_write_json(sink, text);
	gt_sink_puts(sink, "</script>\n");
	return 0;
}

int gt_page_stacks_write(const struct gt_page_stacks *stacks, struct gt_sink *sink)
{
	const struct {
		enum part part;
		const struct gt_flame *flame;
		const char *name;
	} columns[] = {
		{STACK_UP, NULL, "stack-up"},
		{STACK_FRAME, NULL, "stack-frame"},
		{FRAME_NAME, NULL, "frame-name"},
		{FRAME_FILE, NULL, "frame-file"},
		{FLAME_UP, &stacks->off_cpu, "off-cpu-up"},
		{FLAME_NAME, &stacks->off_cpu, "off-cpu-name"},
		{FLAME_NS, &stacks->off_cpu, "off-cpu-ns"},
		{FLAME_UP, &stacks->off_gil, "off-gil-up"},
		{FLAME_NAME, &stacks->off_gil, "off-gil-name"},
		{FLAME_NS, &stacks->off_gil, "off-gil-ns"},
	};
	int r = 0;

	if (!stacks->stacks)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(columns) && r == 0; i++)
		r = write_column(stacks, columns[i].flame, columns[i].part, columns[i].name, sink);
	return r < 0 ? r : write_names(&stacks->names, sink);
}
