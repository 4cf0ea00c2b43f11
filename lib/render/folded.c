/* SPDX-License-Identifier: MIT */
#include "render/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "render/flame.h"

struct lines {
	const struct gt_flame *flame;
	const struct gt_names *names;
	uint32_t *depths;
	uint32_t *order; /* the nodes that have a line, by their texts */
	uint32_t *path;
	uint32_t count, deepest;
};

static void lines_clear(struct lines *lines)
{
	free(lines->depths);
	free(lines->order);
	free(lines->path);
}

static const char *name_of(const struct lines *lines, uint32_t node)
{
	return lines->names->texts.items[lines->flame->nodes.items[node].name];
}

static uint32_t parent_of(const struct lines *lines, uint32_t node)
{
	return lines->flame->nodes.items[node].parent;
}

/*
 * Where the texts of two frames part, their bytes decide; a text that ends there goes on with a
 * semicolon unless it is the last one of its line.
 */
static int compare_names(const char *a, bool a_goes_on, const char *b, bool b_goes_on)
{
	while (*a && *a == *b)
		a++, b++;
	return (*a	    ? (unsigned char)*a
		: a_goes_on ? ';'
			    : 0) -
	       (*b	    ? (unsigned char)*b
		: b_goes_on ? ';'
			    : 0);
}

/* As the texts of the lines compare, without making them. */
static int compare_lines(const void *x, const void *y, void *context)
{
	const struct lines *lines = context;
	uint32_t first = *(const uint32_t *)x, second = *(const uint32_t *)y;
	uint32_t a = first, b = second;

	while (lines->depths[a] > lines->depths[b])
		a = parent_of(lines, a);
	while (lines->depths[b] > lines->depths[a])
		b = parent_of(lines, b);
	/* One of them lies on the way to the other. */
	if (a == b)
		return a == first ? -(b != second) : 1;
	while (parent_of(lines, a) != parent_of(lines, b)) {
		a = parent_of(lines, a);
		b = parent_of(lines, b);
	}
	return compare_names(name_of(lines, a), a != first, name_of(lines, b), b != second);
}

static uint64_t microseconds(const struct gt_flame_node *node)
{
	return (node->ns + GT_NS_PER_US / 2) / GT_NS_PER_US;
}

static int lines_find(struct lines *lines)
{
	uint32_t count = lines->flame->nodes.count;

	lines->depths = calloc((size_t)count + 1, sizeof(uint32_t));
	lines->order = calloc((size_t)count + 1, sizeof(uint32_t));
	if (!lines->depths || !lines->order)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		lines->depths[i] = lines->depths[parent_of(lines, i)] + 1;
		lines->deepest = GT_MAX(lines->deepest, lines->depths[i]);
		if (microseconds(&lines->flame->nodes.items[i]) > 0)
			lines->order[lines->count++] = i;
	}
	lines->path = calloc((size_t)lines->deepest + 1, sizeof(uint32_t));
	if (!lines->path)
		return -ENOMEM;
	qsort_r(lines->order, lines->count, sizeof(uint32_t), compare_lines, lines);
	return 0;
}

static void write_line(const struct lines *lines, uint32_t node, struct gt_sink *sink)
{
	uint32_t depth = lines->depths[node];

	for (uint32_t i = depth, at = node; i > 0; i--, at = parent_of(lines, at))
		lines->path[i] = at;
	for (uint32_t i = 1; i <= depth; i++) {
		gt_sink_puts(sink, name_of(lines, lines->path[i]));
		gt_sink_puts(sink, i < depth ? ";" : " ");
	}
	gt_sink_printf(sink, "%" PRIu64 "\n", microseconds(&lines->flame->nodes.items[node]));
}

int gt_render_folded(const struct gt_report *report, enum gt_folded_kind kind, struct gt_sink *sink)
{
	_cleanup_(gt_names_clear) struct gt_names names = {0};
	_cleanup_(gt_flame_clear) struct gt_flame flame = {0};
	_cleanup_(lines_clear) struct lines lines = {.flame = &flame, .names = &names};
	int r;

	r = gt_flame_build(report, kind, &names, &flame);
	if (r < 0)
		return r;
	r = lines_find(&lines);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < lines.count; i++)
		write_line(&lines, lines.order[i], sink);
	return 0;
}
