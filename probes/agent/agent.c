/* SPDX-License-Identifier: MIT */
/* Notes moments in the memory that giltrace shares: see layout.h. */
#include "probes/agent/agent.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "probes/agent/note.h"

#pragma weak pthread_setspecific

__thread struct gt_agent_thread gt_agent_self;
struct gt_agent_calls gt_agent_calls;
struct gt_agent gt_agent;

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
	gt_agent_hot.process->number =
		__atomic_add_fetch(&gt_agent.shared->processes, 1, __ATOMIC_RELAXED);
	gt_agent_hot.process->ppid = self->ppid;
	gt_agent_hot.process->ptid = self->ptid;
}

static void attach_thread(struct gt_agent_thread *self)
{
	if (gt_agent_hot.process->number == 0)
		attach_process(self);
	self->process = gt_agent_hot.process->number;
	self->ppid = gt_agent_hot.process->ppid;
	self->ptid = gt_agent_hot.process->ptid;
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
	if (old && old != chunk)
		__atomic_store_n(&old->state, GT_AGENT_CHUNK_LEFT, __ATOMIC_RELEASE);
	self->chunk = chunk;
	/* In this order: a signal handler in between finds a record of this chunk, or none. */
	self->next = chunk->records + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->end = chunk->records + GT_AGENT_CHUNK_RECORDS;
}

/* The first record of another chunk; NULL: the moment is lost. */
static struct gt_agent_record *renew(struct gt_agent_thread *self)
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
	if (self->process == 0 || self->process != gt_agent_hot.process->number)
		attach_thread(self);
	chunk = take_chunk(gt_agent.shared);
	if (!chunk && self->chunk &&
	    __atomic_load_n(&self->chunk->state, __ATOMIC_ACQUIRE) == GT_AGENT_CHUNK_EMPTIED)
		chunk = self->chunk;
	if (chunk)
		begin_chunk(self, chunk);
	else
		count_lost(self);
	self->is_renewing = false;
	errno = saved_errno;
	return chunk ? chunk->records : NULL;
}

void gt_agent_note_slowly(enum gt_agent_kind kind, uint64_t time, uint64_t value)
{
	struct gt_agent_record *record = renew(&gt_agent_self);

	if (record)
		gt_agent_write(record, kind, time, value);
}

void gt_agent_end_thread(void *argument)
{
	struct gt_agent_thread *self = &gt_agent_self;

	(void)argument;
	if (!self->chunk || self->process != gt_agent_hot.process->number)
		return;
	prctl(PR_GET_NAME, self->chunk->comm);
	self->chunk->exit_time = gt_agent_now();
	self->end = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&self->chunk->state, GT_AGENT_CHUNK_LEFT, __ATOMIC_RELEASE);
	self->chunk = NULL;
}

void gt_agent_end_program(void)
{
	struct gt_agent_thread *self = &gt_agent_self;

	if (self->chunk && self->process == gt_agent_hot.process->number)
		self->chunk->exit_time = gt_agent_now();
}
