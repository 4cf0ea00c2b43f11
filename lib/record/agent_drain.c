/* SPDX-License-Identifier: MIT */
#include "record/agent_drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macros.h"
#include "base/time.h"

/* How long a record that was begun is waited for, once its thread has left the chunk. */
#define HOLE_PATIENCE_NS (100 * GT_NS_PER_MS)

/* Signal handlers that a thread may be in at one time, each in the middle of a record. */
#define MAX_HOLES 4

int gt_agent_drain_init(struct gt_agent_drain *drain)
{
	drain->chunks = calloc(drain->memory->chunk_count, sizeof(*drain->chunks));
	return drain->chunks ? 0 : gt_error_oom();
}

void gt_agent_drain_clear(struct gt_agent_drain *drain)
{
	free(drain->chunks);
	drain->chunks = NULL;
	gt_array_clear(&drain->turns);
}

static uint32_t read_state(const struct gt_agent_chunk *chunk)
{
	return __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
}

static uint64_t read_time(const struct gt_agent_record *record)
{
	return __atomic_load_n(&record->time, __ATOMIC_ACQUIRE);
}

/* Starts to read a chunk that somebody has taken. */
static int open_chunk(struct gt_agent_drain *drain, const struct gt_agent_chunk *chunk,
		      struct gt_agent_chunk_reading *reading)
{
	struct gt_agent_thread *thread;
	uint32_t index;
	int r;

	*reading = (struct gt_agent_chunk_reading){.is_open = true};
	r = gt_agent_threads_add(drain->threads, chunk, &index);
	if (r == -EINVAL) {
		reading->is_ignored = true;
		return 0;
	}
	if (r < 0)
		return r;
	thread = &drain->threads->items.items[index];
	thread->chunks++;
	reading->thread = index;
	reading->lost_before = chunk->lost_before;
	return 0;
}

/* Nothing more is read of this chunk, as it is; somebody else may take it. */
static void forget_chunk(struct gt_agent_drain *drain, struct gt_agent_chunk_reading *reading)
{
	if (!reading->is_ignored)
		drain->threads->items.items[reading->thread].chunks--;
	reading->is_open = false;
}

static void give_back(struct gt_agent_drain *drain, uint32_t index)
{
	forget_chunk(drain, &drain->chunks[index]);
	gt_agent_memory_give_back(drain->memory, index);
	drain->bytes += GT_AGENT_CHUNK_BYTES;
}

/* Counts what is in a chunk that its thread is done with, and that nobody is to read. */
static void count_ignored(struct gt_agent_drain *drain, const struct gt_agent_chunk *chunk)
{
	for (uint32_t i = 0; i < GT_AGENT_CHUNK_RECORDS; i++)
		drain->lost += read_time(&chunk->records[i]) != 0;
	/* Its next one is ignored as well. */
	drain->lost += chunk->lost;
}

/* Whether a chunk that was offered to its thread again has been taken, and perhaps filled and left
 * since. */
static bool was_taken_again(const struct gt_agent_chunk *chunk,
			    const struct gt_agent_chunk_reading *reading, uint32_t state)
{
	return reading->is_emptied && (state == GT_AGENT_CHUNK_USED ||
				       (state == GT_AGENT_CHUNK_LEFT &&
					read_time(&chunk->records[0]) != reading->emptied_start));
}

/* Whether chunk INDEX is to be read. */
static int look_at_chunk(struct gt_agent_drain *drain, uint32_t index, bool is_last,
			 bool *ret_is_taken)
{
	const struct gt_agent_chunk *chunk = gt_agent_chunk_at(drain->memory->shared, index);
	struct gt_agent_chunk_reading *reading = &drain->chunks[index];
	uint32_t state = read_state(chunk);
	int r = 0;

	/* One that its thread has taken a second time is like a new one. */
	if (reading->is_open &&
	    (state == GT_AGENT_CHUNK_FREE || was_taken_again(chunk, reading, state)))
		forget_chunk(drain, reading);
	if (!reading->is_open && (state == GT_AGENT_CHUNK_USED || state == GT_AGENT_CHUNK_LEFT))
		r = open_chunk(drain, chunk, reading);
	if (reading->is_open && reading->is_ignored && (state == GT_AGENT_CHUNK_LEFT || is_last)) {
		count_ignored(drain, chunk);
		give_back(drain, index);
	}
	*ret_is_taken = reading->is_open && !reading->is_ignored;
	return r;
}

/* All records of one chunk are older than all of the next; the first may be a hole. */
static uint64_t find_start(const struct gt_agent_converter *converter,
			   const struct gt_agent_chunk *chunk)
{
	uint64_t time = 0;

	for (uint32_t i = 0; time == 0 && i < MAX_HOLES; i++)
		time = read_time(&chunk->records[i]);
	time &= GT_AGENT_TIME_MASK;
	/* Of those that are too young, none is read. */
	if (time == 0 || gt_agent_converter_judge(converter, time) != GT_AGENT_TIME_KNOWN)
		return UINT64_MAX;
	return gt_agent_converter_ns(converter, time);
}

static int compare_turns(const void *left, const void *right)
{
	const struct gt_agent_chunk_turn *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

/*
 * Brings the chunks that have been taken into the order of their threads' chunks. A thread may take
 * another one meanwhile, and that one may be seen and the one before it not: then all records of
 * both are younger than this run, and are left to the next.
 */
static int arrange_turns(struct gt_agent_drain *drain, bool is_last)
{
	uint32_t touched = gt_agent_memory_touched(drain->memory);

	drain->turns.count = 0;
	for (uint32_t i = 0; i < touched; i++) {
		struct gt_agent_chunk_turn *turn;
		bool is_taken;
		int r = look_at_chunk(drain, i, is_last, &is_taken);

		if (r < 0)
			return r;
		if (!is_taken)
			continue;
		turn = gt_array_push(&drain->turns);
		if (!turn)
			return gt_error_oom();
		*turn = (struct gt_agent_chunk_turn){
			.thread = drain->chunks[i].thread,
			.chunk = i,
			.start = find_start(drain->converter,
					    gt_agent_chunk_at(drain->memory->shared, i))};
	}
	if (drain->turns.count > 1)
		qsort(drain->turns.items, drain->turns.count, sizeof(*drain->turns.items),
		      compare_turns);
	return 0;
}

static bool is_sound(uint64_t time)
{
	uint64_t kind = time >> GT_AGENT_KIND_SHIFT;

	return kind >= GT_AGENT_TAKE && kind <= GT_AGENT_SWITCHED;
}

/*
 * Copies records with their times in nanoseconds, up to the first that is not written yet, or no
 * record, or too young, or of no time that was. A handler's record may stand before the one that it
 * has interrupted, and yet be younger: times never go back. Returns their number.
 */
static uint32_t copy_records(const struct gt_agent_converter *converter,
			     const struct gt_agent_record *from, uint32_t count,
			     struct gt_agent_record *to, uint64_t *last_ns)
{
	uint64_t last = *last_ns;
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint64_t time = read_time(&from[i]), ns;

		if (!is_sound(time) ||
		    gt_agent_converter_judge(converter, time & GT_AGENT_TIME_MASK) !=
			    GT_AGENT_TIME_KNOWN)
			break;
		ns = gt_agent_converter_ns(converter, time & GT_AGENT_TIME_MASK);
		last = GT_MAX(last, ns);
		to[i].time = (time & ~GT_AGENT_TIME_MASK) | last;
		to[i].value = from[i].value;
	}
	*last_ns = last;
	return i;
}

/* Reads the records of a chunk that are there, one behind the other. */
static int read_records(struct gt_agent_drain *drain, const struct gt_agent_chunk *chunk,
			struct gt_agent_chunk_reading *reading)
{
	const struct gt_agent_record *from = chunk->records + reading->position;
	struct gt_agent_thread *thread = &drain->threads->items.items[reading->thread];
	uint32_t left = GT_AGENT_CHUNK_RECORDS - reading->position, count;
	struct gt_agent_records_block *block;
	struct gt_agent_record first;

	if (left == 0 ||
	    copy_records(drain->converter, from, 1, &first, &(uint64_t){thread->last_ns}) == 0)
		return 0;
	if (!thread->has_records)
		thread->first_ns = first.time & GT_AGENT_TIME_MASK;
	if (!thread->is_told) {
		int r = gt_agent_thread_tell(thread, drain->file);

		if (r < 0)
			return r;
	}
	block = gt_agent_file_begin_records(drain->file, left, drain->converter->ns);
	if (!block)
		return drain->file->error;
	count = copy_records(drain->converter, from, left, (struct gt_agent_record *)(block + 1),
			     &thread->last_ns);
	if (count == 0) /* somebody has taken the first one back */
		return 0;
	*block = (struct gt_agent_records_block){
		.block = {.type = GT_AGENT_BLOCK_RECORDS,
			  .thread = thread->number,
			  .bytes = (uint32_t)(sizeof(*block) +
					      count * sizeof(struct gt_agent_record))},
		.lost_before = thread->carried + reading->lost_before,
	};
	gt_agent_file_end_records(drain->file, block, thread->last_ns);
	thread->has_records = thread->has_moved = true;
	/* What was lost behind the record before is what was lost before these. */
	thread->lost = thread->carried = 0;
	thread->exit_ns = 0; /* one that goes on was not at its end */
	reading->lost_before = 0;
	reading->has_waited = false;
	reading->position += count;
	return 0;
}

/* The next record that was written, at or behind the position; GT_AGENT_CHUNK_RECORDS for none. */
static uint32_t find_written(const struct gt_agent_chunk *chunk, uint32_t position)
{
	while (position < GT_AGENT_CHUNK_RECORDS && read_time(&chunk->records[position]) == 0)
		position++;
	return position;
}

/*
 * Goes past what is no record and will never be one. False when there is none, so that the chunk is
 * read as far as it goes. IS_LEFT: nobody begins a record in it any more. IS_PATIENT: one that was
 * begun may still be written.
 */
static bool skip_hole(struct gt_agent_drain *drain, const struct gt_agent_chunk *chunk,
		      struct gt_agent_chunk_reading *reading, bool is_left, bool is_patient)
{
	uint32_t next;
	uint64_t time;

	if (reading->position == GT_AGENT_CHUNK_RECORDS)
		return false;
	time = read_time(&chunk->records[reading->position]);
	if (time != 0) {
		/* It is too young, or has just come. At the last run, it is from behind the end. */
		if (is_sound(time) &&
		    gt_agent_converter_judge(drain->converter, time & GT_AGENT_TIME_MASK) !=
			    GT_AGENT_TIME_WRONG)
			return false;
		reading->position++;
		reading->lost_before++;
		return true;
	}
	if (!is_left)
		return false;
	if (is_patient && !reading->has_waited) {
		reading->has_waited = true;
		reading->hole_ns = drain->converter->ns;
	}
	if (is_patient && drain->converter->ns - reading->hole_ns < HOLE_PATIENCE_NS)
		return false;
	next = find_written(chunk, reading->position);
	/* A thread leaves a chunk that is not full when it ends; else something is still missing.
	 */
	if (next < GT_AGENT_CHUNK_RECORDS || chunk->exit_time == 0)
		reading->had_hole = true;
	if (next == GT_AGENT_CHUNK_RECORDS) {
		reading->is_done = true;
		return false;
	}
	reading->lost_before += next - reading->position;
	reading->position = next;
	return true;
}

/*
 * Takes what the head of a chunk says at its end. A thread that has not left it may have done so
 * all the same, without the time to say more; or the word is of a child of vfork.
 */
static void finish_chunk(struct gt_agent_drain *drain, const struct gt_agent_chunk *chunk,
			 const struct gt_agent_chunk_reading *reading, bool was_left)
{
	struct gt_agent_thread *thread = &drain->threads->items.items[reading->thread];
	uint64_t exit_ticks = chunk->exit_time & GT_AGENT_TIME_MASK, exit_ns;

	/* The thread's next chunk, if it ever has one, tells of the chunk's own losses again. */
	thread->carried += reading->lost_before;
	thread->lost = thread->carried + chunk->lost;
	if (exit_ticks == 0)
		return;
	exit_ns = gt_agent_converter_judge(drain->converter, exit_ticks) == GT_AGENT_TIME_KNOWN
			  ? gt_agent_converter_ns(drain->converter, exit_ticks)
			  : drain->converter->ns;
	if (was_left)
		gt_agent_thread_set_exit(thread, chunk->comm, exit_ns);
	else if (thread->is_dead && exit_ns >= thread->last_ns)
		gt_agent_thread_set_exit(thread, "", exit_ns);
}

/*
 * Offers a full chunk to the thread that still has it: there may be no other for it. A thread that
 * finds one, or counts a loss, meanwhile does no harm.
 */
static void empty_chunk(struct gt_agent_chunk *chunk, struct gt_agent_chunk_reading *reading)
{
	uint32_t state = GT_AGENT_CHUNK_USED;

	reading->emptied_start = read_time(&chunk->records[0]);
	reading->is_emptied =
		__atomic_compare_exchange_n(&chunk->state, &state, GT_AGENT_CHUNK_EMPTIED, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/*
 * Reads what chunk INDEX has to offer. *RET_GO_ON: that was all of it, so that the thread's next
 * chunk has its turn.
 */
static int read_chunk(struct gt_agent_drain *drain, uint32_t index, bool is_last, bool *ret_go_on)
{
	struct gt_agent_chunk *chunk = gt_agent_chunk_at(drain->memory->shared, index);
	struct gt_agent_chunk_reading *reading = &drain->chunks[index];
	bool is_dead = drain->threads->items.items[reading->thread].is_dead;
	/* Before its records: those of one that was left are then all there. */
	uint32_t state = read_state(chunk);
	bool is_left = state == GT_AGENT_CHUNK_LEFT || is_dead || is_last;
	int r = 0;

	/* Since this run has begun: the next one sees it as a new one. */
	if (was_taken_again(chunk, reading, state)) {
		*ret_go_on = false;
		return 0;
	}
	while (!reading->is_done) {
		r = read_records(drain, chunk, reading);
		if (r < 0)
			return r;
		if (skip_hole(drain, chunk, reading, is_left, !is_dead && !is_last))
			continue;
		if (reading->position == GT_AGENT_CHUNK_RECORDS || is_last)
			reading->is_done = is_left;
		if (reading->is_done)
			finish_chunk(drain, chunk, reading, state == GT_AGENT_CHUNK_LEFT);
		break;
	}
	*ret_go_on = reading->is_done;
	if (is_last)
		*ret_go_on = true;
	else if (reading->is_done && (is_dead || !reading->had_hole) && is_left)
		give_back(drain, index);
	else if (state == GT_AGENT_CHUNK_USED && reading->position == GT_AGENT_CHUNK_RECORDS)
		empty_chunk(chunk, reading);
	return 0;
}

/* The thread's turns from FIRST on. Returns where those of the next one start. */
static int read_thread(struct gt_agent_drain *drain, uint32_t first, bool is_last,
		       uint32_t *ret_next)
{
	uint32_t thread = drain->turns.items[first].thread, i = first;
	bool go_on = true;

	for (; i < drain->turns.count && drain->turns.items[i].thread == thread; i++) {
		int r = 0;

		if (go_on)
			r = read_chunk(drain, drain->turns.items[i].chunk, is_last, &go_on);
		if (r < 0)
			return r;
	}
	*ret_next = i;
	return 0;
}

int gt_agent_drain_run(struct gt_agent_drain *drain, bool is_last)
{
	int r;

	drain->bytes = 0;
	gt_agent_converter_advance(drain->converter);
	r = arrange_turns(drain, is_last);
	for (uint32_t i = 0; r == 0 && i < drain->turns.count;)
		r = read_thread(drain, i, is_last, &i);
	return r;
}
