/* SPDX-License-Identifier: MIT */
#include "cmd/agent_cost.h"

#include "base/macros.h"
#include "base/time.h"
#include "record/agent.h"

#define RECORDS 1024
#define BATCHES 5

static uint64_t time_batch(enum gt_agent_clock clock)
{
	static struct gt_agent_record records[RECORDS];
	uint64_t start_ns = gt_clock_ns(CLOCK_MONOTONIC);

	for (uint32_t i = 0; i < RECORDS; i++) {
		records[i].value = i;
		records[i].time = gt_agent_clock_read(clock);
		/* They are stored, although nobody reads them. */
		__asm__ volatile("" : : "r"(&records[i]) : "memory");
	}
	return gt_clock_ns(CLOCK_MONOTONIC) - start_ns;
}

uint64_t gt_agent_cost_measure(enum gt_agent_clock clock)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < BATCHES; i++)
		best_ns = GT_MIN(best_ns, time_batch(clock));
	return (best_ns + RECORDS / 2) / RECORDS;
}
