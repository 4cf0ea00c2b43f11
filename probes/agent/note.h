/* SPDX-License-Identifier: MIT */
/* What is done for each moment: a look at the clock, and two words of memory. */
#pragma once

#include "probes/agent/attach.h"

#if defined(__x86_64__)
static inline uint64_t gt_agent_counter(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return ((uint64_t)high << 32 | low) & GT_AGENT_TIME_MASK;
}
#else
#define gt_agent_counter() 0
#endif

static inline uint64_t gt_agent_now(void)
{
	struct timespec time;

	if (likely(gt_agent_hot.clock == GT_AGENT_CLOCK_TSC))
		return gt_agent_counter();
	gt_agent_hot.clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/*
 * The counter may be read before the lock that was taken in front of it is had: by less than a
 * microsecond, but a GIL must not be acquired before it was released. A fence would double what a
 * moment costs; what the one who released it has written is all that matters. That one's time needs
 * nothing: it is stored before the mutex is unlocked.
 */
static inline uint64_t gt_agent_order(enum gt_agent_kind kind, uint64_t time)
{
	if (kind == GT_AGENT_RELEASE)
		__atomic_store_n(&gt_agent_hot.process->last_release, time, __ATOMIC_RELAXED);
	if (kind == GT_AGENT_ACQUIRED) {
		uint64_t released =
			__atomic_load_n(&gt_agent_hot.process->last_release, __ATOMIC_RELAXED);

		if (unlikely(time <= released))
			return released + 1;
	}
	return time;
}

/*
 * Reserves the next record: in one instruction, so that a signal handler that notes something
 * itself gets another one.
 */
static inline struct gt_agent_record *gt_agent_reserve(struct gt_agent_thread *self)
{
#if defined(__x86_64__)
	uint64_t old = sizeof(struct gt_agent_record);

	__asm__("xaddq %0, %1" : "+r"(old), "+m"(self->next));
	return (struct gt_agent_record *)old;
#else
	return __atomic_fetch_add(&self->next, sizeof(struct gt_agent_record), __ATOMIC_RELAXED);
#endif
}

/* Where a record of this thread can be written at once; NULL when its chunk is full, or none. */
static inline struct gt_agent_record *gt_agent_next(struct gt_agent_thread *self)
{
	struct gt_agent_record *record;

	if (unlikely(self->process != gt_agent_hot.process->number))
		return NULL;
	record = gt_agent_reserve(self);
	return likely(record < self->end) ? record : NULL;
}

/* What giltrace sees a time of is complete. */
static inline void gt_agent_write(struct gt_agent_record *record, enum gt_agent_kind kind,
				  uint64_t time, uint64_t value)
{
	record->value = value;
	__atomic_store_n(&record->time, (uint64_t)kind << GT_AGENT_KIND_SHIFT | time,
			 __ATOMIC_RELEASE);
}

/* Notes a moment where there is no record at hand. */
void gt_agent_note_slowly(enum gt_agent_kind kind, uint64_t time, uint64_t value);

/* Notes that a moment is now. */
static inline void gt_agent_note(enum gt_agent_kind kind, uint64_t value)
{
	uint64_t time = gt_agent_order(kind, gt_agent_now());
	struct gt_agent_record *record = gt_agent_next(&gt_agent_self);

	if (likely(record))
		gt_agent_write(record, kind, time, value);
	else
		gt_agent_note_slowly(kind, time, value);
}
