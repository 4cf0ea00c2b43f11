/* SPDX-License-Identifier: MIT */
#include "render/page_blame.h"

#include "base/json.h"

/* All pairs of 200 threads. Of more threads, the pairs alone would keep the page from being seen.
 */
#define MOST_BLAME 40000

static json_t *describe_left(const struct gt_stats *stats)
{
	uint64_t ns = 0;

	for (uint32_t i = MOST_BLAME; i < stats->blame.count; i++)
		ns += stats->blame.items[i].ns;
	return json_pack("{s:I, s:I}", "pairs", (json_int_t)stats->blame.count - MOST_BLAME, "ns",
			 (json_int_t)ns);
}

/*
 * Four numbers a pair: the process; of its threads the waiter and, plus one, the holder, 0 being
 * nobody; and by how much the pair before is greater (the first: how great it is). Browsers read
 * that several times as fast as the summary's objects, and before anything is seen.
 */
void gt_page_blame_describe(const struct gt_report *report, const uint32_t *processes,
			    const uint32_t *threads, json_t **page)
{
	const struct gt_trace *trace = report->trace;
	const struct gt_stats *stats = report->stats;
	uint32_t shown = GT_MIN(stats->blame.count, (uint32_t)MOST_BLAME);
	json_t *list = json_array();
	uint64_t before_ns = 0;

	for (uint32_t i = 0; i < shown; i++) {
		const struct gt_blame *blame = &stats->blame.items[i];
		uint32_t process = trace->threads.items[blame->waiter].process;
		bool is_held = blame->holder != GT_NONE;

		gt_json_append(&list, gt_json_integer(processes[process]));
		gt_json_append(&list, gt_json_integer(threads[blame->waiter]));
		gt_json_append(&list, gt_json_integer(is_held ? threads[blame->holder] + 1 : 0));
		gt_json_append(&list, gt_json_integer(i ? before_ns - blame->ns : blame->ns));
		before_ns = blame->ns;
	}
	gt_json_set(page, "blame", list);
	if (stats->blame.count > MOST_BLAME)
		gt_json_set(page, "blame_left", describe_left(stats));
}
