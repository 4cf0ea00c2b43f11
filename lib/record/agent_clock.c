/* SPDX-License-Identifier: MIT */
#include "record/agent_clock.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/time.h"
#include "record/agent.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <x86intrin.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* Advanced power management: the counter runs evenly, in every state of the processor. */
#define CPUID_POWER_MANAGEMENT 0x80000007u
#define CPUID_INVARIANT_TSC (1u << 8)

/*
 * A reading of CLOCK_MONOTONIC between two of the counter is as exact as these are close together;
 * an interrupt may come in between. Of so many, the closest ones are taken.
 */
#define READINGS 8
#define MAX_READINGS 64
#define CLOSE_TICKS 1000u

/*
 * The kernel keeps time by the counter only while it finds it to be the same on all CPUs; that it
 * does not stop either, the processor must say.
 */
enum gt_agent_clock gt_agent_clock_choose(void)
{
	_cleanup_free_ char *source = NULL;
	unsigned int a, b, c, d = 0;

	if (gt_read_file(CLOCKSOURCE, 64, &source, NULL) < 0 || strcmp(source, "tsc\n") != 0)
		return GT_AGENT_CLOCK_MONOTONIC;
	if (!__get_cpuid(CPUID_POWER_MANAGEMENT, &a, &b, &c, &d) || !(d & CPUID_INVARIANT_TSC))
		return GT_AGENT_CLOCK_MONOTONIC;
	return GT_AGENT_CLOCK_TSC;
}

static void read_both(uint64_t *ret_ticks, uint64_t *ret_ns)
{
	uint64_t closest = UINT64_MAX;

	for (unsigned i = 0; i < READINGS || (closest > CLOSE_TICKS && i < MAX_READINGS); i++) {
		uint64_t before, ns, after;
		unsigned cpu;

		_mm_lfence();
		before = __rdtsc();
		_mm_lfence();
		ns = gt_clock_ns(CLOCK_MONOTONIC);
		after = __rdtscp(&cpu);
		if (after - before >= closest)
			continue;
		closest = after - before;
		*ret_ticks = before + closest / 2;
		*ret_ns = ns;
	}
}

#else

enum gt_agent_clock gt_agent_clock_choose(void)
{
	return GT_AGENT_CLOCK_MONOTONIC;
}

static void read_both(uint64_t *ret_ticks, uint64_t *ret_ns)
{
	*ret_ticks = *ret_ns = gt_clock_ns(CLOCK_MONOTONIC);
}

#endif

static void read_now(struct gt_agent_converter *converter)
{
	if (converter->clock == GT_AGENT_CLOCK_TSC)
		read_both(&converter->ticks, &converter->ns);
	else
		converter->ticks = converter->ns = gt_clock_ns(CLOCK_MONOTONIC);
}

void gt_agent_converter_start(struct gt_agent_converter *converter, enum gt_agent_clock clock)
{
	converter->clock = clock;
	converter->count = 0;
	read_now(converter);
	/* There is always one: of no length, until the next moment. */
	converter->segments[converter->count++] = (struct gt_agent_clock_segment){
		.start_ticks = converter->ticks, .start_ns = converter->ns};
}

void gt_agent_converter_advance(struct gt_agent_converter *converter)
{
	struct gt_agent_clock_segment segment = {.start_ticks = converter->ticks,
						 .start_ns = converter->ns};
	uint64_t ticks, ns;

	read_now(converter);
	ticks = converter->ticks - segment.start_ticks;
	ns = converter->ns - segment.start_ns;
	if (ticks == 0)
		return;
	segment.ns_per_tick = (uint64_t)(((unsigned __int128)ns << 32) / ticks);
	/* The first moment's own segment has done its work. */
	if (converter->count == 1 && converter->segments[0].ns_per_tick == 0)
		converter->count = 0;
	converter->segments[converter->count++ % GT_AGENT_CLOCK_SEGMENTS] = segment;
}

const struct gt_agent_clock_segment *gt_agent_converter_find(
	const struct gt_agent_converter *converter, uint64_t ticks)
{
	uint32_t known = GT_MIN(converter->count, GT_AGENT_CLOCK_SEGMENTS);
	const struct gt_agent_clock_segment *segment = NULL;

	for (uint32_t i = 1; i <= known; i++) {
		segment = &converter->segments[(converter->count - i) % GT_AGENT_CLOCK_SEGMENTS];
		if (ticks >= segment->start_ticks)
			break;
	}
	return segment;
}
