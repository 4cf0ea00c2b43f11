/* SPDX-License-Identifier: MIT */
#include "record/followed_threads.h"

#include <perf/event.h>

#include "base/log.h"
#include "record/pass_output.h"
#include "record/ring.h"

#define STILL_ALIVE UINT64_MAX

static bool read_end(const struct gt_ring_record *record, struct gt_record_end *ret)
{
	return record->header.size >= sizeof(*ret) &&
	       gt_ring_record_copy(record, record->header.size - (uint32_t)sizeof(*ret), ret,
				   sizeof(*ret));
}

/* The thread, or a new one that was born at TIME_NS, as far as that is known. NULL: no memory. */
static struct gt_followed_thread *find_thread(struct gt_followed_threads *followed, uint32_t tid,
					      uint64_t time_ns)
{
	uint32_t i = gt_hash_get(&followed->index, tid);
	struct gt_followed_thread *thread;

	if (i != GT_HASH_NONE)
		return &followed->threads.items[i];
	thread = gt_array_push(&followed->threads);
	if (!thread || gt_hash_set(&followed->index, tid, followed->threads.count - 1) < 0)
		return NULL;
	thread->born_ns = time_ns;
	thread->ended_ns = STILL_ALIVE;
	return thread;
}

static int note_alive(struct gt_followed_threads *followed, uint32_t tid, uint64_t time_ns)
{
	struct gt_followed_thread *thread;

	/* The idle task, and one that is being reaped. */
	if (tid == 0 || tid == UINT32_MAX)
		return 0;
	thread = find_thread(followed, tid, time_ns);
	if (!thread)
		return gt_error_oom();
	if (thread->ended_ns < time_ns) {
		thread->born_ns = time_ns;
		thread->ended_ns = STILL_ALIVE;
	}
	thread->born_ns = GT_MIN(thread->born_ns, time_ns);
	thread->seen_ns = GT_MAX(thread->seen_ns, time_ns);
	return 0;
}

/* The ring that tells of its birth may be read later. */
static int note_end(struct gt_followed_threads *followed, uint32_t tid, uint64_t time_ns)
{
	struct gt_followed_thread *thread = find_thread(followed, tid, time_ns);

	if (!thread)
		return gt_error_oom();
	/*
	 * Alive later: its number was given again, or its process called exec in another thread,
	 * which then goes on with the number of the first one.
	 */
	if (thread->seen_ns <= time_ns)
		thread->ended_ns = time_ns;
	return 0;
}

int gt_followed_threads_note(struct gt_followed_threads *followed,
			     const struct gt_ring_record *record, uint32_t ids_offset)
{
	struct gt_sample_ids sample;
	struct perf_record_fork task;
	struct gt_record_end end;

	switch (record->header.type) {
	case PERF_RECORD_SAMPLE:
		if (!gt_ring_record_copy(record, ids_offset, &sample, sizeof(sample)))
			return 0;
		return note_alive(followed, sample.tid, sample.time_ns);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		if (!read_end(record, &end) || !gt_ring_record_copy(record, 0, &task, sizeof(task)))
			return 0;
		if (record->header.type == PERF_RECORD_FORK)
			return note_alive(followed, task.tid, end.time_ns);
		return note_end(followed, task.tid, end.time_ns);
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_SWITCH:
		return read_end(record, &end) ? note_alive(followed, end.tid, end.time_ns) : 0;
	default:
		/* A loss is told by whoever comes next, and counts even after the end. */
		return 0;
	}
}

bool gt_followed_threads_have(const struct gt_followed_threads *followed, uint32_t tid,
			      uint64_t time_ns)
{
	uint32_t i = gt_hash_get(&followed->index, tid);
	const struct gt_followed_thread *thread;

	if (i == GT_HASH_NONE)
		return false;
	thread = &followed->threads.items[i];
	return time_ns >= thread->born_ns && time_ns <= thread->ended_ns;
}

bool gt_followed_threads_have_ended(const struct gt_followed_threads *followed)
{
	gt_array_for_each (&followed->threads, thread)
		if (thread->ended_ns == STILL_ALIVE)
			return false;
	return followed->threads.count > 0;
}

void gt_followed_threads_clear(struct gt_followed_threads *followed)
{
	gt_array_clear(&followed->threads);
	gt_hash_clear(&followed->index);
}
