/* SPDX-License-Identifier: MIT */
/* What is done for each moment: a look at the clock, and two words of memory. */
#pragma once

#include <time.h>

#include "probes/agent/attach.h"

/* When a GIL of this process was released last. Written and read under the GIL's mutex. */
extern uint64_t gt_agent_last_release;

/* The first record of another chunk; NULL: the moment is lost. */
struct gt_agent_record *gt_agent_renew(struct gt_agent_thread *self);

static inline uint64_t gt_agent_now(void)
{
	struct timespec time;

#if defined(__x86_64__)
	if (likely(gt_agent.clock == GT_AGENT_CLOCK_TSC)) {
		uint32_t low, high;

		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
		return ((uint64_t)high << 32 | low) & GT_AGENT_TIME_MASK;
	}
#endif
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/*
 * The counter may be read before the lock that was taken in front of it is had: by less than a
 * microsecond, but a GIL must not be acquired before it was released. A fence would double what a
 * moment costs; what the one who released it has written is all that matters. That one's time needs
 * nothing: it is stored before the mutex is unlocked.
 */
static inline uint64_t order(enum gt_agent_kind kind, uint64_t time)
{
	if (kind == GT_AGENT_RELEASE)
		__atomic_store_n(&gt_agent_last_release, time, __ATOMIC_RELAXED);
	if (kind == GT_AGENT_ACQUIRED) {
		uint64_t released = __atomic_load_n(&gt_agent_last_release, __ATOMIC_RELAXED);

		if (unlikely(time <= released))
			return released + 1;
	}
	return time;
}

/*
 * Reserves the next record: in one instruction, so that a signal handler that notes something
 * itself gets another one.
 */
static inline struct gt_agent_record *reserve(struct gt_agent_thread *self)
{
#if defined(__x86_64__)
	uint64_t old = sizeof(struct gt_agent_record);

	__asm__("xaddq %0, %1" : "+r"(old), "+m"(self->next));
	return (struct gt_agent_record *)old;
#else
	return __atomic_fetch_add(&self->next, sizeof(struct gt_agent_record), __ATOMIC_RELAXED);
#endif
}

/* Notes that a moment is now. */
static inline __attribute__((always_inline)) void gt_agent_note(enum gt_agent_kind kind,
								uint64_t value)
{
	struct gt_agent_thread *self = &gt_agent_self;
	struct gt_agent_record *record = NULL;
	uint64_t time = order(kind, gt_agent_now());

	if (likely(self->process == gt_agent.process->number))
		record = reserve(self);
	if (unlikely(!record || record >= self->end)) {
		record = gt_agent_renew(self);
		if (!record)
			return;
	}
	record->value = value;
	/* What giltrace sees a time of is complete. */
	__atomic_store_n(&record->time, (uint64_t)kind << GT_AGENT_KIND_SHIFT | time,
			 __ATOMIC_RELEASE);
}
