/* SPDX-License-Identifier: MIT */
/*
 * Puts the moments of all threads in order: a heap holds the next one of each. What one thread says
 * is never put in another order, even if its clock went back.
 */
#include "agentdata/agentdata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agentdata/reader.h"
#include "base/log.h"

/*
 * At one time, a GIL is let go before another thread has it; and who appears at that time, does so
 * before it acts.
 */
enum {
	RANK_BIRTH,
	RANK_LOSS,
	RANK_NAME,
	RANK_RELEASE,
	RANK_OTHER,
	RANK_ACQUIRED,
	RANK_END,
};

static const struct {
	enum gt_event_type type;
	uint32_t rank;
} kinds[] = {
	[GT_AGENT_TAKE] = {GT_EVENT_TAKE, RANK_OTHER},
	[GT_AGENT_ACQUIRED] = {GT_EVENT_ACQUIRED, RANK_ACQUIRED},
	[GT_AGENT_RELEASE] = {GT_EVENT_RELEASE, RANK_RELEASE},
	[GT_AGENT_SWITCHED] = {GT_EVENT_SWITCHED, RANK_OTHER},
};

static void say_broken(enum gt_log_level level, const struct gt_agentdata *data, uint64_t offset,
		       const char *format, va_list arguments)
{
	_cleanup_free_ char *reason = NULL;

	if (vasprintf(&reason, format, arguments) < 0)
		reason = NULL;
	gt_log(level, "%s: broken at offset %" PRIu64 ": %s", data->path, offset,
	       reason ? reason : format);
}

int gt_agentdata_broken(const struct gt_agentdata *data, uint64_t offset, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_broken(GT_LOG_ERROR, data, offset, format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

void gt_agentdata_warn(const struct gt_agentdata *data, uint64_t offset, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_broken(GT_LOG_WARNING, data, offset, format, arguments);
	va_end(arguments);
}

static bool is_before(const struct gt_reader_key *a, const struct gt_reader_key *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->rank != b->rank ? a->rank < b->rank : a->thread < b->thread;
}

/* Lets KEY sink from the place AT to where it belongs. */
static void sink(struct gt_agentdata *data, uint32_t at, struct gt_reader_key key)
{
	struct gt_reader_key *heap = data->heap;
	uint32_t count = data->heap_count;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &key))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = key;
}

static void begin_block(struct gt_agentdata *data, struct gt_reader_thread *thread)
{
	const struct gt_agent_records_block *records;

	thread->block = NULL;
	if (thread->next_block == thread->blocks.count)
		return;
	thread->block = gt_agentdata_block(data, thread->blocks.items[thread->next_block++]);
	data->done += thread->block->bytes;
	if (thread->block->type == GT_AGENT_BLOCK_RECORDS) {
		records = (const struct gt_agent_records_block *)thread->block;
		thread->lost = records->lost_before;
		thread->record = (const struct gt_agent_record *)(records + 1);
		thread->records_end = thread->record + (thread->block->bytes - sizeof(*records)) /
							       sizeof(struct gt_agent_record);
	} else if (thread->block->type == GT_AGENT_BLOCK_END) {
		thread->lost = ((const struct gt_agent_end_block *)thread->block)->lost;
	}
}

uint64_t gt_agentdata_count_records(const struct gt_agent_block *block)
{
	if (block->type == GT_AGENT_BLOCK_RECORDS)
		return ((const struct gt_agent_records_block *)block)->lost_before +
		       (block->bytes - sizeof(struct gt_agent_records_block)) /
			       sizeof(struct gt_agent_record);
	return block->type == GT_AGENT_BLOCK_END ? ((const struct gt_agent_end_block *)block)->lost
						 : 0;
}

void gt_agentdata_leave_out(struct gt_agentdata *data, struct gt_reader_thread *thread)
{
	for (; thread->next_block < thread->blocks.count; thread->next_block++) {
		const struct gt_agent_block *block =
			gt_agentdata_block(data, thread->blocks.items[thread->next_block]);

		data->lost_threads += gt_agentdata_count_records(block);
		data->done += block->bytes;
	}
}

static uint64_t block_time(const struct gt_agent_block *block)
{
	/* All but records have it in the same place. */
	_Static_assert(offsetof(struct gt_agent_thread_block, time_ns) ==
				       offsetof(struct gt_agent_name_block, time_ns) &&
			       offsetof(struct gt_agent_thread_block, time_ns) ==
				       offsetof(struct gt_agent_end_block, time_ns),
		       "one place");
	return ((const struct gt_agent_name_block *)block)->time_ns;
}

static uint32_t block_rank(const struct gt_agent_block *block)
{
	return block->type == GT_AGENT_BLOCK_THREAD ? RANK_BIRTH
	       : block->type == GT_AGENT_BLOCK_NAME ? RANK_NAME
						    : RANK_END;
}

static void find_record_key(const struct gt_reader_thread *thread, struct gt_reader_key *ret)
{
	uint64_t kind = thread->record->time >> GT_AGENT_KIND_SHIFT;
	uint64_t time_ns = thread->record->time & GT_AGENT_TIME_MASK;

	ret->time_ns = GT_MAX(time_ns, thread->last_ns);
	ret->rank = kinds[kind].rank;
}

/* A record of no kind is as good as lost. */
static void pass_unsound_records(struct gt_agentdata *data, struct gt_reader_thread *thread)
{
	for (; thread->record < thread->records_end; thread->record++) {
		uint64_t kind = thread->record->time >> GT_AGENT_KIND_SHIFT;

		if (kind >= GT_AGENT_TAKE && kind <= GT_AGENT_SWITCHED)
			break;
		thread->lost++;
		if (!data->has_unsound)
			gt_agentdata_warn(
				data, (uint64_t)((const uint8_t *)thread->record - data->map),
				"a record of kind %" PRIu64 "\n  those of no kind count as lost",
				kind);
		data->has_unsound = true;
	}
}

/* The next moment of a thread. False: there is none. */
static bool find_key(struct gt_agentdata *data, uint32_t index, struct gt_reader_key *ret)
{
	struct gt_reader_thread *thread = &data->threads.items[index];

	ret->thread = index;
	for (; thread->block; begin_block(data, thread)) {
		if (thread->block->type == GT_AGENT_BLOCK_RECORDS)
			pass_unsound_records(data, thread);
		/* What was lost came behind what was given last. */
		if (thread->lost > 0) {
			ret->time_ns = thread->last_ns;
			ret->rank = RANK_LOSS;
			return true;
		}
		if (thread->block->type != GT_AGENT_BLOCK_RECORDS) {
			ret->time_ns = GT_MAX(block_time(thread->block), thread->last_ns);
			ret->rank = block_rank(thread->block);
			return true;
		}
		if (thread->record < thread->records_end) {
			find_record_key(thread, ret);
			return true;
		}
	}
	return false;
}

/* The moment at the top of the heap was given. */
static void advance(struct gt_agentdata *data)
{
	struct gt_reader_key key;

	if (find_key(data, data->heap[0].thread, &key)) {
		sink(data, 0, key);
		return;
	}
	data->heap_count--;
	if (data->heap_count > 0)
		sink(data, 0, data->heap[data->heap_count]);
}

static void convert(struct gt_reader_thread *thread, uint64_t time_ns, struct gt_event *ret)
{
	const struct gt_agent_record *record = thread->record;

	ret->time_ns = time_ns;
	ret->pid = thread->pid;
	ret->tid = thread->tid;
	ret->type = kinds[record->time >> GT_AGENT_KIND_SHIFT].type;
	ret->ring = GT_EVENT_NO_RING;
	/* Caller or lock: the same place, and the same size. */
	ret->lock = record->value;
	thread->record++;
	thread->last_ns = time_ns;
}

static void tell_loss(struct gt_reader_thread *thread, uint64_t time_ns, struct gt_event *ret)
{
	*ret = (struct gt_event){.type = GT_EVENT_LOST,
				 .time_ns = time_ns,
				 .pid = thread->pid,
				 .tid = thread->tid,
				 .ring = GT_EVENT_NO_RING,
				 .lost = thread->lost};
	thread->lost = 0;
}

/* The block of a thread, which is none of records, becomes events in the queue. */
static int tell_block(struct gt_agentdata *data, uint32_t index, uint64_t time_ns)
{
	struct gt_reader_thread *thread = &data->threads.items[index];
	const struct gt_agent_block *block = thread->block;
	int r = 0;

	thread->last_ns = time_ns;
	data->queue_count = data->queue_next = 0;
	switch (block->type) {
	case GT_AGENT_BLOCK_THREAD:
		r = gt_agentdata_tell_thread(data, index,
					     (const struct gt_agent_thread_block *)block, time_ns);
		break;
	case GT_AGENT_BLOCK_NAME:
		gt_agentdata_tell_name(data, index, (const struct gt_agent_name_block *)block,
				       time_ns);
		break;
	default:
		gt_agentdata_tell_end(data, index, (const struct gt_agent_end_block *)block,
				      time_ns);
		break;
	}
	begin_block(data, thread);
	return r;
}

static int tell_end_of_file(struct gt_agentdata *data, struct gt_event *ret)
{
	if (data->is_cut) {
		data->is_cut = false;
		*ret = (struct gt_event){
			.type = GT_EVENT_CUT, .time_ns = data->latest_ns, .ring = GT_EVENT_NO_RING};
		return 1;
	}
	if (data->lost_threads == 0)
		return 0;
	*ret = (struct gt_event){.type = GT_EVENT_LOST,
				 .time_ns = data->latest_ns,
				 .ring = GT_EVENT_NO_RING,
				 .lost = data->lost_threads};
	data->lost_threads = 0;
	return 1;
}

int gt_agentdata_next(struct gt_agentdata *data, struct gt_event *ret)
{
	for (;;) {
		const struct gt_reader_key *top = data->heap;
		struct gt_reader_thread *thread;
		bool has_event = true;
		int r = 0;

		if (data->queue_next < data->queue_count) {
			*ret = data->queue[data->queue_next++];
			return 1;
		}
		if (data->heap_count == 0)
			return tell_end_of_file(data, ret);
		data->latest_ns = top->time_ns;
		thread = &data->threads.items[top->thread];
		if (thread->lost > 0) {
			tell_loss(thread, top->time_ns, ret);
		} else if (thread->block->type == GT_AGENT_BLOCK_RECORDS) {
			convert(thread, top->time_ns, ret);
		} else {
			r = tell_block(data, top->thread, top->time_ns);
			has_event = false;
		}
		if (r < 0)
			return r;
		advance(data);
		if (has_event)
			return 1;
	}
}

static int start(struct gt_agentdata *data)
{
	data->heap = calloc((size_t)data->threads.count + 1, sizeof(*data->heap));
	if (!data->heap)
		return gt_error_oom();
	for (uint32_t i = 0; i < data->threads.count; i++) {
		begin_block(data, &data->threads.items[i]);
		if (find_key(data, i, &data->heap[data->heap_count]))
			data->heap_count++;
	}
	for (uint32_t i = data->heap_count / 2; i-- > 0;)
		sink(data, i, data->heap[i]);
	return 0;
}

/* Hexadecimal to bytes; what is none, or too long, is no build-id. */
static void read_build_id(struct gt_agentdata *data, const char *text)
{
	size_t length = strlen(text);

	if (length % 2 != 0 || length / 2 > sizeof(data->build_id) ||
	    strspn(text, "0123456789abcdef") != length)
		return;
	for (size_t i = 0; i < length / 2; i++) {
		const char digits[] = {text[2 * i], text[2 * i + 1], '\0'};

		data->build_id[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	data->build_id_bytes = (uint32_t)(length / 2);
}

int gt_agentdata_open(const struct gt_agentdata_spec *spec, struct gt_agentdata **ret)
{
	_cleanup_(gt_agentdata_closep) struct gt_agentdata *data = calloc(1, sizeof(*data));
	int r;

	if (!data)
		return gt_error_oom();
	data->gil_events_only = spec->gil_events_only;
	data->path = strdup(spec->path);
	data->gil_file = spec->gil_file ? strdup(spec->gil_file) : NULL;
	if (!data->path || (spec->gil_file && !data->gil_file))
		return gt_error_oom();
	if (spec->build_id)
		read_build_id(data, spec->build_id);
	r = gt_agentdata_map(data);
	if (r < 0)
		return r;
	r = start(data);
	if (r < 0)
		return r;
	*ret = GT_STEAL(data);
	return 0;
}

void gt_agentdata_close(struct gt_agentdata *data)
{
	if (!data)
		return;
	gt_array_for_each (&data->threads, thread)
		gt_array_clear(&thread->blocks);
	gt_array_clear(&data->threads);
	gt_array_clear(&data->processes);
	gt_hash_clear(&data->thread_by_number);
	gt_hash_clear(&data->process_by_number);
	gt_hash_clear(&data->process_by_pid);
	gt_hash_clear(&data->thread_by_tid);
	if (data->map)
		munmap((void *)data->map, data->map_bytes);
	free(data->heap);
	free(data->gil_file);
	free(data->path);
	free(data);
}

uint64_t gt_agentdata_window_start_ns(const struct gt_agentdata *data)
{
	return data->header.window_start_ns;
}

void gt_agentdata_progress(const struct gt_agentdata *data, uint64_t *ret_done, uint64_t *ret_total)
{
	*ret_done = data->done;
	*ret_total = data->size - data->header.header_bytes;
}
