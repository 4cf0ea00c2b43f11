/* SPDX-License-Identifier: MIT */
#include "render/page_lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

/* So many a browser opens in three seconds, in less than 700 MB of memory. */
#define MOST_SLICES 12000000

static struct gt_bar interval_bar(const struct gt_trace *trace, uint32_t index)
{
	const struct gt_interval *interval = &trace->intervals.items[index];

	return (struct gt_bar){
		.start_ns = interval->start_ns,
		.end_ns = interval->end_ns,
		.thread = interval->thread,
		.kind = interval->kind,
		.gil = interval->gil == GT_INTERVAL_NO_GIL ? 0 : (uint32_t)interval->gil + 1,
	};
}

/* What nobody has watched has no bars. */
static struct gt_bar no_bar(const struct gt_trace *trace, uint32_t index)
{
	struct gt_bar bar = interval_bar(trace, index);

	bar.kind = 0;
	return bar;
}

/* A sleep of which nothing is known is what lies between the others. */
static struct gt_bar state_bar(const struct gt_trace *trace, uint32_t index)
{
	const struct gt_state_interval *state = &trace->states.items[index];
	bool is_known = state->kind != GT_STATE_SLEEPING || state->reason != GT_SLEEP_UNEXPLAINED ||
			state->stack != GT_STACK_NONE;

	return (struct gt_bar){
		.start_ns = state->start_ns,
		.end_ns = state->end_ns,
		.thread = state->thread,
		.kind = is_known ? gt_page_state_number(state->kind, state->reason) : 0,
		.stack = state->stack,
	};
}

static int compare_lanes(const void *a, const void *b, void *context)
{
	const struct gt_trace *trace = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct gt_thread *x = &trace->threads.items[left], *y = &trace->threads.items[right];
	const struct gt_process *process = &trace->processes.items[x->process];

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if ((process->main_thread == left) != (process->main_thread == right))
		return process->main_thread == left ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return left < right ? -1 : left > right;
}

static bool is_shown(const struct gt_report *report, const struct gt_bar *bar)
{
	return bar->kind != 0 && bar->end_ns > bar->start_ns &&
	       gt_report_shows_process(report, report->trace->threads.items[bar->thread].process);
}

/* Of COUNT bars that BARS get, those that are shown. */
static int bars_find(const struct gt_report *report, const struct gt_page_lanes *lanes,
		     uint32_t count, struct gt_page_bars *bars)
{
	const struct gt_trace *trace = report->trace;
	uint64_t end = 0;

	bars->ends = calloc(trace->threads.count + 1, sizeof(*bars->ends));
	bars->lengths = calloc(trace->threads.count + 1, sizeof(*bars->lengths));
	if (!bars->ends || !bars->lengths)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct gt_bar bar = bars->get(trace, i);

		if (is_shown(report, &bar))
			bars->ends[bar.thread]++;
	}
	for (uint32_t i = 0; i < lanes->count; i++) {
		uint64_t *offset = &bars->ends[lanes->threads[i]];
		uint64_t length = *offset;

		*offset = end;
		end += length;
	}
	bars->count = (uint32_t)end;
	bars->order = calloc(end + 1, sizeof(*bars->order));
	if (!bars->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct gt_bar bar = bars->get(trace, i);

		if (is_shown(report, &bar))
			bars->order[bars->ends[bar.thread]++] = i;
	}
	return 0;
}

uint64_t gt_page_bars_walk(const struct gt_page_lanes *lanes, const struct gt_page_bars *bars,
			   void (*emit)(const struct gt_bar *bar, void *context), void *context)
{
	struct gt_fold fold = {
		.origin_ns = lanes->trace->start_ns,
		.quantum_ns = lanes->quantum_ns,
		.emit = emit,
		.context = context,
	};

	for (uint32_t i = 0; i < bars->count; i++) {
		struct gt_bar bar = bars->get(lanes->trace, bars->order[i]);

		gt_fold_add(&fold, &bar);
	}
	gt_fold_end(&fold);
	return fold.merged;
}

static void count_bar(const struct gt_bar *bar, void *context)
{
	struct gt_page_bars *bars = context;

	bars->lengths[bar->thread]++;
	bars->left++;
}

static void count_left(const struct gt_page_lanes *lanes, struct gt_page_bars *bars)
{
	memset(bars->lengths, 0, lanes->trace->threads.count * sizeof(*bars->lengths));
	bars->left = 0;
	bars->merged = gt_page_bars_walk(lanes, bars, count_bar, bars);
}

/* How many are left when they are folded into quanta of 2^SHIFT ns. */
static uint64_t count_folded(struct gt_page_lanes *lanes, unsigned shift)
{
	lanes->quantum_ns = UINT64_C(1) << shift;
	count_left(lanes, &lanes->intervals);
	count_left(lanes, &lanes->states);
	return lanes->intervals.left + lanes->states.left;
}

/*
 * Takes the shortest quantum with which no more than MOST are left, or where there is none, the
 * longest. The longer it is, the less is left: quanta lie within those of twice their length.
 */
static void fold(struct gt_page_lanes *lanes, uint64_t most)
{
	uint64_t duration_ns = gt_ns_since(lanes->trace->end_ns, lanes->trace->start_ns);
	unsigned low = 0, high = 64 - (unsigned)__builtin_clzll(duration_ns | 1);

	high = GT_MIN(high, 63u);
	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (count_folded(lanes, middle) <= most)
			high = middle;
		else
			low = middle + 1;
	}
	count_folded(lanes, low);
}

int gt_page_lanes_find(const struct gt_report *report, struct gt_page_lanes *ret)
{
	const struct gt_trace *trace = report->trace;
	uint64_t most = report->page_slices ? report->page_slices : MOST_SLICES;
	int r;

	ret->trace = trace;
	ret->intervals.get = gt_report_knows_waits(report) ? interval_bar : no_bar;
	ret->states.get = state_bar;
	ret->threads = calloc(trace->threads.count + 1, sizeof(*ret->threads));
	if (!ret->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->threads.count; i++)
		if (gt_report_shows_process(report, trace->threads.items[i].process))
			ret->threads[ret->count++] = i;
	qsort_r(ret->threads, ret->count, sizeof(*ret->threads), compare_lanes, (void *)trace);
	r = bars_find(report, ret, trace->intervals.count, &ret->intervals);
	if (r < 0)
		return r;
	r = bars_find(report, ret, trace->states.count, &ret->states);
	if (r < 0)
		return r;
	count_left(ret, &ret->intervals);
	count_left(ret, &ret->states);
	if (ret->intervals.left + ret->states.left > most)
		fold(ret, most);
	return 0;
}

static void bars_clear(struct gt_page_bars *bars)
{
	free(bars->ends);
	free(bars->order);
	free(bars->lengths);
}

void gt_page_lanes_clear(struct gt_page_lanes *lanes)
{
	free(lanes->threads);
	bars_clear(&lanes->intervals);
	bars_clear(&lanes->states);
}
