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

static uint64_t read_counter(void)
{
	_mm_lfence();
	return __rdtsc();
}

#else

enum gt_agent_clock gt_agent_clock_choose(void)
{
	return GT_AGENT_CLOCK_MONOTONIC;
}

static uint64_t read_counter(void)
{
	return gt_clock_ns(CLOCK_MONOTONIC);
}

static void read_both(uint64_t *ret_ticks, uint64_t *ret_ns)
{
	*ret_ticks = *ret_ns = gt_clock_ns(CLOCK_MONOTONIC);
}

#endif

/* By how much the clocks of two CPUs may seem to differ: far more than the kernel lets pass. */
#define CPU_DIFFERENCE_TICKS (UINT64_C(1) << 20)

uint64_t gt_agent_clock_read(enum gt_agent_clock clock)
{
	return clock == GT_AGENT_CLOCK_TSC ? read_counter() : gt_clock_ns(CLOCK_MONOTONIC);
}

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
	converter->largest_ticks = converter->ticks;
	/* There is always one: of no length, until the next moment. */
	converter->segments[converter->count++] =
		(struct gt_agent_clock_segment){.start_ticks = converter->ticks,
						.end_ticks = converter->ticks,
						.start_ns = converter->ns};
}

static uint64_t to_ns(uint64_t ticks, uint64_t ns_per_tick)
{
	return (uint64_t)(((unsigned __int128)ticks * ns_per_tick) >> 32);
}

/*
 * The counter has started anew since the last moment, at which its time was LAST_NS. How fast it
 * runs is known from before.
 */
static void go_back(struct gt_agent_converter *converter, uint64_t last_ns)
{
	struct gt_agent_clock_segment segment =
		converter->segments[(converter->count - 1) % GT_AGENT_CLOCK_SEGMENTS];
	uint64_t ns = to_ns(converter->ticks, segment.ns_per_tick);

	segment.start_ticks = 0;
	segment.end_ticks = converter->ticks;
	/* It may as well have gone back to anything; before the last moment was another time. */
	if (ns > converter->ns - last_ns) {
		uint64_t too_many = ns - (converter->ns - last_ns);

		segment.start_ticks =
			(uint64_t)(((unsigned __int128)too_many << 32) / segment.ns_per_tick);
		ns = to_ns(converter->ticks - segment.start_ticks, segment.ns_per_tick);
	}
	segment.start_ns = converter->ns - ns;
	converter->segments[converter->count++ % GT_AGENT_CLOCK_SEGMENTS] = segment;
}

void gt_agent_converter_add(struct gt_agent_converter *converter, uint64_t ticks, uint64_t ns)
{
	struct gt_agent_clock_segment segment = {
		.start_ticks = converter->ticks, .end_ticks = ticks, .start_ns = converter->ns};

	converter->ticks = ticks;
	converter->ns = ns;
	converter->largest_ticks = GT_MAX(converter->largest_ticks, ticks);
	if (ticks < segment.start_ticks)
		go_back(converter, segment.start_ns);
	if (ticks <= segment.start_ticks)
		return;
	segment.ns_per_tick = (uint64_t)(((unsigned __int128)(ns - segment.start_ns) << 32) /
					 (ticks - segment.start_ticks));
	/* The first moment's own segment has done its work. */
	if (converter->count == 1 && converter->segments[0].ns_per_tick == 0)
		converter->count = 0;
	converter->segments[converter->count++ % GT_AGENT_CLOCK_SEGMENTS] = segment;
}

void gt_agent_converter_advance(struct gt_agent_converter *converter)
{
	struct gt_agent_converter now = {.clock = converter->clock};

	read_now(&now);
	gt_agent_converter_add(converter, now.ticks, now.ns);
}

enum gt_agent_time gt_agent_converter_judge_late(const struct gt_agent_converter *converter,
						 uint64_t ticks)
{
	/* Written before this is read. */
	if (ticks <= gt_agent_clock_read(converter->clock) + CPU_DIFFERENCE_TICKS)
		return GT_AGENT_TIME_YOUNG;
	return ticks <= converter->largest_ticks ? GT_AGENT_TIME_KNOWN : GT_AGENT_TIME_WRONG;
}

const struct gt_agent_clock_segment *gt_agent_converter_find(
	const struct gt_agent_converter *converter, uint64_t ticks)
{
	uint32_t known = GT_MIN(converter->count, GT_AGENT_CLOCK_SEGMENTS);
	const struct gt_agent_clock_segment *segment = NULL;

	for (uint32_t i = 1; i <= known; i++) {
		segment = &converter->segments[(converter->count - i) % GT_AGENT_CLOCK_SEGMENTS];
		if (ticks >= segment->start_ticks && ticks <= segment->end_ticks)
			break;
	}
	return segment;
}
