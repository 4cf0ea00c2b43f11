/* SPDX-License-Identifier: MIT */
#include "record/agent.h"

#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/time.h"
#include "record/agent_clock.h"
#include "record/agent_drain.h"
#include "record/agent_file.h"
#include "record/agent_memory.h"
#include "record/agent_threads.h"

/* What a busy program with several interpreters may write in a millisecond: 200 MB a second. */
#define MEMORY_BYTES_PER_MS (UINT64_C(200) << 10)
#define MIN_REST_MS UINT64_C(2)

/* What a CPU holds near. */
#define NEAR_BYTES (UINT64_C(256) << 10)
#define BUSY_REST_MS UINT64_C(5)

/* How long threads that were about to write a record have to do so, when they are told to stop. */
#define CLOSING_NS (2 * GT_NS_PER_MS)

struct gt_agent_recorder {
	struct gt_agent_memory memory;
	struct gt_agent_file file;
	struct gt_agent_threads threads;
	struct gt_agent_converter converter;
	struct gt_agent_drain drain;
	uint64_t since_last_ns; /* between the last two drains */
};

int gt_agent_recorder_open(const struct gt_agent_recorder_spec *spec,
			   struct gt_agent_recorder **ret)
{
	_cleanup_(gt_agent_recorder_closep) struct gt_agent_recorder *recorder =
		calloc(1, sizeof(*recorder));
	int r;

	if (!recorder)
		return gt_error_oom();
	recorder->memory.fd = recorder->file.fd = -1;
	recorder->drain = (struct gt_agent_drain){.memory = &recorder->memory,
						  .file = &recorder->file,
						  .threads = &recorder->threads,
						  .converter = &recorder->converter};
	r = gt_agent_memory_open(spec, &recorder->memory);
	if (r < 0)
		return r;
	r = gt_agent_drain_init(&recorder->drain);
	if (r < 0)
		return r;
	r = gt_agent_file_open(&recorder->file, spec->path, spec->keep_ns);
	if (r < 0)
		return r;
	gt_agent_converter_start(&recorder->converter, spec->clock);
	*ret = GT_STEAL(recorder);
	return 0;
}

const char *gt_agent_recorder_address(const struct gt_agent_recorder *recorder)
{
	return recorder->memory.address;
}

static void stop_agents(struct gt_agent_recorder *recorder)
{
	__atomic_store_n(&recorder->memory.shared->closed, 1, __ATOMIC_SEQ_CST);
}

int gt_agent_recorder_drain(struct gt_agent_recorder *recorder)
{
	uint64_t last_ns = recorder->converter.ns;
	int r = gt_agent_drain_run(&recorder->drain, false);

	recorder->since_last_ns = recorder->converter.ns - last_ns;
	if (r == 0)
		r = gt_agent_threads_tend(&recorder->threads, &recorder->file,
					  recorder->converter.ns);
	if (r == 0)
		r = gt_agent_file_tend(&recorder->file, recorder->converter.ns);
	/* It is given up: the program goes on as fast as it can. */
	if (r < 0)
		stop_agents(recorder);
	return r;
}

/*
 * Half of the memory has to be enough until the next drain. A busy thread is drained so often that
 * what it writes to stays near the CPU: with 50 ms a moment would cost it a third more.
 */
uint32_t gt_agent_recorder_rest_ms(const struct gt_agent_recorder *recorder)
{
	uint64_t most_ms = recorder->memory.bytes / 2 / MEMORY_BYTES_PER_MS;
	uint64_t rest_ms = most_ms;

	if (recorder->drain.bytes > recorder->memory.bytes / 4)
		return 0;
	if (recorder->drain.bytes > NEAR_BYTES)
		rest_ms =
			recorder->since_last_ns / GT_NS_PER_MS * NEAR_BYTES / recorder->drain.bytes;
	rest_ms = GT_MIN(GT_MAX(rest_ms, BUSY_REST_MS), GT_MAX(most_ms, MIN_REST_MS));
	return (uint32_t)GT_MIN(rest_ms, UINT32_MAX);
}

static int drain_source(void *object)
{
	return gt_agent_recorder_drain(object);
}

static uint32_t source_rest_ms(const void *object)
{
	return gt_agent_recorder_rest_ms(object);
}

struct gt_session_source gt_agent_recorder_source(struct gt_agent_recorder *recorder)
{
	return (struct gt_session_source){
		.object = recorder, .drain = drain_source, .rest_ms = source_rest_ms};
}

static int put_lost(struct gt_agent_recorder *recorder)
{
	struct gt_agent_lost_block lost = {
		.block = {.type = GT_AGENT_BLOCK_LOST, .bytes = sizeof(lost)},
		.lost = recorder->drain.lost +
			__atomic_load_n(&recorder->memory.shared->lost_without_chunk,
					__ATOMIC_RELAXED),
	};

	return gt_agent_file_put(&recorder->file, &lost.block);
}

int gt_agent_recorder_finish(struct gt_agent_recorder *recorder, struct gt_agent_counts *ret_counts)
{
	struct gt_agent_shared *shared = recorder->memory.shared;
	struct timespec closing = {.tv_nsec = CLOSING_NS};
	uint64_t window_start_ns, first_ns, last_ns;
	int r;

	stop_agents(recorder);
	nanosleep(&closing, NULL);
	gt_agent_threads_find_dead(&recorder->threads, gt_clock_ns(CLOCK_MONOTONIC));
	r = gt_agent_drain_run(&recorder->drain, true);
	if (r < 0)
		return r;
	gt_agent_threads_span(&recorder->threads, &first_ns, &last_ns);
	window_start_ns = gt_agent_file_window_start(&recorder->file, first_ns, last_ns);
	r = gt_agent_threads_finish(&recorder->threads, &recorder->file, window_start_ns);
	if (r < 0)
		return r;
	r = put_lost(recorder);
	if (r < 0)
		return r;
	r = gt_agent_file_finish(&recorder->file, window_start_ns);
	if (r < 0)
		return r;
	*ret_counts = (struct gt_agent_counts){
		.records = recorder->file.records,
		.lost = recorder->file.lost,
		.processes = __atomic_load_n(&shared->processes, __ATOMIC_RELAXED),
		.threads = __atomic_load_n(&shared->threads, __ATOMIC_RELAXED),
	};
	return 0;
}

void gt_agent_recorder_close(struct gt_agent_recorder *recorder)
{
	gt_agent_drain_clear(&recorder->drain);
	gt_agent_threads_clear(&recorder->threads);
	gt_agent_file_close(&recorder->file);
	gt_agent_memory_close(&recorder->memory);
	free(recorder);
}
