/* SPDX-License-Identifier: MIT */
#include "trace/stats.h"

#include <errno.h>
#include <string.h>

#include "trace/acquisitions.h"
#include "trace/blame.h"
#include "trace/sleep.h"

static void add_interval(struct gt_stats *stats, const struct gt_interval *interval)
{
	struct gt_thread_stats *thread = &stats->threads[interval->thread];
	struct gt_gil_stats *gil =
		interval->gil == GT_INTERVAL_NO_GIL ? NULL : &stats->gils[interval->gil];
	uint64_t ns = interval->end_ns - interval->start_ns;

	switch ((enum gt_interval_kind)interval->kind) {
	case GT_INTERVAL_NO:
		thread->no_ns += ns;
		break;
	case GT_INTERVAL_WAIT:
		thread->wait_ns += ns;
		if (gil)
			gil->waited_ns += ns;
		break;
	case GT_INTERVAL_HAS:
		thread->has_ns += ns;
		if (gil)
			gil->held_ns += ns;
		break;
	case GT_INTERVAL_UNKNOWN:
		thread->unknown_ns += ns;
		break;
	}
}

static int add_states(const struct gt_trace *trace, struct gt_thread_stats *threads)
{
	_cleanup_(gt_sleep_waits_clear) struct gt_sleep_waits waits = {0};
	int r;

	if (trace->states.count == 0)
		return 0;
	r = gt_sleep_waits_find(trace, &waits);
	if (r < 0)
		return r;
	gt_array_for_each (&trace->states, state) {
		struct gt_thread_stats *thread = &threads[state->thread];
		uint64_t ns = state->end_ns - state->start_ns;

		switch ((enum gt_state_kind)state->kind) {
		case GT_STATE_SLEEPING:
			thread->sleep_ns += ns;
			thread->sleep_reason_ns[state->reason] += ns;
			thread->sleep_gil_ns += gt_sleep_waited_ns(&waits, state->thread,
								   state->start_ns, state->end_ns);
			break;
		case GT_STATE_RUNNABLE:
			thread->runnable_ns += ns;
			break;
		case GT_STATE_RUNNING:
			thread->running_ns += ns;
			break;
		case GT_STATE_UNKNOWN:
			thread->state_unknown_ns += ns;
			break;
		case GT_STATE_UNINTERRUPTIBLE:
			thread->uninterruptible_ns += ns;
			thread->uninterruptible_reason_ns[state->reason] += ns;
			break;
		}
	}
	if (!trace->without_gil)
		return 0;
	for (uint32_t i = 0; i < trace->threads.count; i++)
		threads[i].sleep_gil_ns = threads[i].sleep_reason_ns[GT_SLEEP_GIL];
	return 0;
}

int gt_stats_compute(const struct gt_trace *trace, struct gt_stats *ret)
{
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	int r;

	stats.threads = calloc(trace->threads.count + 1, sizeof(*stats.threads));
	stats.gils = calloc(trace->gils.count + 1, sizeof(*stats.gils));
	if (!stats.threads || !stats.gils)
		return -ENOMEM;
	gt_array_for_each (&trace->intervals, interval)
		add_interval(&stats, interval);
	r = add_states(trace, stats.threads);
	if (r < 0)
		return r;
	r = gt_acquisitions_compute(trace, stats.threads);
	if (r < 0)
		return r;
	r = gt_blame_compute(trace, &stats);
	if (r < 0)
		return r;
	*ret = stats;
	stats = (struct gt_stats){0};
	return 0;
}

void gt_stats_clear(struct gt_stats *stats)
{
	free(stats->threads);
	free(stats->gils);
	gt_array_clear(&stats->blame);
	*stats = (struct gt_stats){0};
}
