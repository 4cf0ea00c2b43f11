/* SPDX-License-Identifier: MIT */
/* Notes moments in the memory that giltrace shares: see layout.h. */
#include "probes/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "probes/agent/attach.h"

__thread struct gt_agent_thread gt_agent_self;
struct gt_agent_call gt_agent_calls[GT_AGENT_CALLS];
struct gt_agent gt_agent;

bool gt_agent_is_retake(uint64_t caller)
{
	for (uint32_t i = 0; i < gt_agent.retake_count; i++)
		if (gt_agent.retakes[i] == caller)
			return true;
	return false;
}

static inline uint64_t now(void)
{
	struct timespec time;

#if defined(__x86_64__)
	if (gt_agent.clock == GT_AGENT_CLOCK_TSC) {
		uint32_t low, high;

		/*
		 * Behind the fence the lock that was acquired before is acquired. The other side
		 * needs none: a time is stored before the lock that is released behind it.
		 */
		__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
		return ((uint64_t)high << 32 | low) & GT_AGENT_TIME_MASK;
	}
#endif
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
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

/* A chunk that nobody uses, or NULL. */
static struct gt_agent_chunk *take_chunk(struct gt_agent_shared *shared)
{
	uint64_t free = __atomic_load_n(&shared->free, __ATOMIC_ACQUIRE), rest;
	uint32_t index;

	while ((uint32_t)free != 0) {
		struct gt_agent_chunk *chunk;

		if ((uint32_t)free > gt_agent.chunk_count)
			return NULL;
		chunk = gt_agent_chunk_at(shared, (uint32_t)free - 1);
		rest = ((free >> 32) + 1) << 32 | __atomic_load_n(&chunk->next, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(&shared->free, &free, rest, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return chunk;
	}
	if (__atomic_load_n(&shared->touched, __ATOMIC_RELAXED) >= gt_agent.chunk_count)
		return NULL;
	index = __atomic_fetch_add(&shared->touched, 1, __ATOMIC_RELAXED);
	return index < gt_agent.chunk_count ? gt_agent_chunk_at(shared, index) : NULL;
}

static void count_lost(struct gt_agent_thread *self)
{
	if (self->chunk)
		__atomic_store_n(&self->chunk->lost, self->chunk->lost + 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&gt_agent.shared->lost_without_chunk, 1, __ATOMIC_RELAXED);
}

/* The first moment in a process is that of one thread: a child has no other when it is forked. */
static void attach_process(struct gt_agent_thread *self)
{
	if (self->process != 0) {
		self->ppid = self->pid;
		self->ptid = self->tid;
	}
	gt_agent.process->number =
		__atomic_add_fetch(&gt_agent.shared->processes, 1, __ATOMIC_RELAXED);
	gt_agent.process->ppid = self->ppid;
	gt_agent.process->ptid = self->ptid;
}

static void attach_thread(struct gt_agent_thread *self)
{
	if (gt_agent.process->number == 0)
		attach_process(self);
	self->process = gt_agent.process->number;
	self->ppid = gt_agent.process->ppid;
	self->ptid = gt_agent.process->ptid;
	self->chunk = NULL;
	self->number = __atomic_add_fetch(&gt_agent.shared->threads, 1, __ATOMIC_RELAXED);
	gt_agent_identify(&self->pid, &self->tid);
}

/* Makes CHUNK the one of this thread, and leaves the one that it had. */
static void begin_chunk(struct gt_agent_thread *self, struct gt_agent_chunk *chunk)
{
	struct gt_agent_chunk *old = self->chunk;

	chunk->process = self->process;
	chunk->thread = self->number;
	chunk->pid = self->pid;
	chunk->tid = self->tid;
	chunk->ppid = self->ppid;
	chunk->ptid = self->ptid;
	chunk->map_start = gt_agent.map_start;
	chunk->map_bytes = gt_agent.map_bytes;
	chunk->map_offset = gt_agent.map_offset;
	chunk->lost_before = old ? old->lost : 0;
	chunk->lost = 0;
	chunk->exit_time = 0;
	chunk->comm[0] = '\0';
	memset(chunk->records, 0, GT_AGENT_CHUNK_RECORDS * sizeof(chunk->records[0]));
	if (!old) {
		prctl(PR_GET_NAME, chunk->comm);
		/* At the thread's end, also for one whose end has been told before. */
		pthread_setspecific(gt_agent.key, self);
	}
	__atomic_store_n(&chunk->state, GT_AGENT_CHUNK_USED, __ATOMIC_RELEASE);
	if (old)
		__atomic_store_n(&old->state, GT_AGENT_CHUNK_LEFT, __ATOMIC_RELEASE);
	self->chunk = chunk;
	self->end = chunk->records + GT_AGENT_CHUNK_RECORDS;
	self->next = chunk->records + 1;
}

/* The first record of another chunk; NULL: the moment is lost. */
static __attribute__((noinline)) struct gt_agent_record *renew(struct gt_agent_thread *self)
{
	struct gt_agent_chunk *chunk;
	int saved_errno = errno;

	if (__atomic_load_n(&gt_agent.shared->closed, __ATOMIC_RELAXED))
		return NULL;
	/* A signal handler, in the middle of this. */
	if (self->is_renewing) {
		__atomic_fetch_add(&gt_agent.shared->lost_without_chunk, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	self->is_renewing = true;
	if (self->process == 0 || self->process != gt_agent.process->number)
		attach_thread(self);
	chunk = take_chunk(gt_agent.shared);
	if (chunk)
		begin_chunk(self, chunk);
	else
		count_lost(self);
	self->is_renewing = false;
	errno = saved_errno;
	return chunk ? chunk->records : NULL;
}

void gt_agent_note(enum gt_agent_kind kind, uint64_t value)
{
	struct gt_agent_thread *self = &gt_agent_self;
	struct gt_agent_record *record = NULL;
	uint64_t time = now();

	if (likely(self->process == gt_agent.process->number))
		record = reserve(self);
	if (unlikely(!record || record >= self->end)) {
		record = renew(self);
		if (!record)
			return;
	}
	record->value = value;
	/* What giltrace sees a time of is complete. */
	__atomic_store_n(&record->time, (uint64_t)kind << GT_AGENT_KIND_SHIFT | time,
			 __ATOMIC_RELEASE);
}

void gt_agent_end_thread(void *argument)
{
	struct gt_agent_thread *self = &gt_agent_self;

	(void)argument;
	if (!self->chunk || self->process != gt_agent.process->number)
		return;
	prctl(PR_GET_NAME, self->chunk->comm);
	self->chunk->exit_time = now();
	self->next = self->end = NULL;
	__atomic_store_n(&self->chunk->state, GT_AGENT_CHUNK_LEFT, __ATOMIC_RELEASE);
	self->chunk = NULL;
}
