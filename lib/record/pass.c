/* SPDX-License-Identifier: MIT */
#include "record/pass.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "record/counters.h"
#include "record/event_attr.h"
#include "record/event_set.h"
#include "record/followed_threads.h"
#include "record/mapped_files.h"
#include "record/pass_output.h"
#include "record/pass_rings.h"
#include "record/perfdata_features.h"
#include "record/tracing_data.h"
#include "record/wakeups.h"

/*
 * What a CPU may write to its ring in a millisecond while it is left alone: 200 context switches,
 * or half as many that copy their stacks. More wake-ups than this would show in what is measured.
 */
#define RING_BYTES_PER_MS (UINT64_C(8) << 10)
#define STACKS_PER_MS UINT64_C(100)
/* Of such a sample, beside the stack: registers, the kernel's part, raw data. */
#define OTHER_SAMPLE_BYTES UINT64_C(512)
#define MIN_REST_MS UINT64_C(5)

#define STACK_RING_BYTES (UINT64_C(32) << 20)
#define MIN_STACK_RING_BYTES (UINT64_C(1) << 20)
#define MAX_STACK_RINGS_BYTES (UINT64_C(512) << 20)
#define MAX_STACK_RINGS_PART 16 /* of the memory */

struct gt_pass {
	struct gt_event_set set;
	struct gt_pass_rings rings;
	struct gt_wakeups wakeups;
	struct gt_counters counters;
	struct gt_followed_threads followed;
	struct gt_mapped_files mapped;
	struct gt_pass_output output;
	struct gt_writer_event *events; /* of all sets */
	uint32_t event_count;
	char *const *command;
	char *kept_files; /* where to; NULL: files are not kept */
	uint64_t ring_bytes_per_ms;
	bool has_wakeups;
	bool follows_threads; /* something depends on which they are */
	bool is_behind;
	bool tells_tasks_only;
};

uint64_t gt_pass_stack_ring_bytes(uint32_t cpu_count)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t all = GT_MIN(MAX_STACK_RINGS_BYTES, memory / MAX_STACK_RINGS_PART);
	uint64_t bytes = STACK_RING_BYTES;

	while (bytes > MIN_STACK_RING_BYTES && bytes * cpu_count > all)
		bytes /= 2;
	return bytes;
}

static void describe_set(struct gt_pass *pass, const struct gt_event_set *set)
{
	gt_array_for_each (&set->events, event)
		pass->events[pass->event_count++] =
			(struct gt_writer_event){.name = event->name,
						 .attr = event->attr,
						 .ids = event->ids,
						 .id_count = set->ring_count};
}

/* What the file's header says of the events. */
static int describe_events(struct gt_pass *pass)
{
	pass->events = calloc(pass->set.events.count + pass->counters.count +
				      pass->wakeups.set.events.count,
			      sizeof(*pass->events));
	if (!pass->events)
		return gt_error_oom();
	describe_set(pass, &pass->set);
	for (uint32_t i = 0; i < pass->counters.count; i++)
		describe_set(pass, &pass->counters.items[i].set);
	describe_set(pass, &pass->wakeups.set);
	return 0;
}

/* The formats of the tracepoints, of wake-ups too. */
static int read_tracing_data(const struct gt_pass_spec *spec, char **ret, size_t *ret_size)
{
	uint32_t count = spec->tracepoint_count;
	struct gt_pass_spec all = *spec;
	_cleanup_free_ struct gt_pass_tracepoint *tracepoints =
		calloc(count + 1, sizeof(*tracepoints));

	if (!tracepoints)
		return gt_error_oom();
	if (count > 0)
		memcpy(tracepoints, spec->tracepoints, count * sizeof(*tracepoints));
	if (spec->wakeups)
		tracepoints[count++] = gt_wakeups_tracepoint;
	if (count == 0)
		return 0;
	all.tracepoints = tracepoints;
	all.tracepoint_count = count;
	return gt_tracing_data_read(&all, ret, ret_size);
}

static int open_writer(struct gt_pass *pass, const struct gt_pass_spec *spec)
{
	_cleanup_free_ char *tracing_data = NULL;
	struct gt_writer_start start = {.events = pass->events, .event_count = pass->event_count};
	int r = read_tracing_data(spec, &tracing_data, &start.tracing_data_size);

	if (r < 0)
		return r;
	start.tracing_data = tracing_data;
	return gt_perfdata_writer_open(spec->path, &start, &pass->output.writer);
}

static uint64_t measure_ms(const struct gt_pass_spec *spec)
{
	uint64_t bytes = RING_BYTES_PER_MS, stack_bytes = OTHER_SAMPLE_BYTES;

	if (spec->call_graph == GT_CALL_GRAPH_DWARF)
		stack_bytes += spec->stack_bytes;
	for (uint32_t i = 0; i < spec->tracepoint_count; i++)
		if (spec->tracepoints[i].has_stack)
			bytes = GT_MAX(bytes, STACKS_PER_MS * stack_bytes);
	return bytes;
}

static int configure(struct gt_pass *pass, const struct gt_pass_spec *spec)
{
	pass->command = spec->command;
	pass->has_wakeups = spec->wakeups;
	pass->follows_threads = spec->wakeups || spec->counter_count > 0;
	pass->tells_tasks_only =
		spec->tracepoint_count == 0 && !spec->context_switches && !spec->wakeups;
	pass->ring_bytes_per_ms = measure_ms(spec);
	if (!spec->kept_files)
		return 0;
	pass->kept_files = strdup(spec->kept_files);
	return pass->kept_files ? 0 : gt_error_oom();
}

static int open_events(struct gt_pass *pass, const struct gt_pass_spec *spec, pid_t pid)
{
	int r = gt_event_set_open(&pass->set, spec, pid);

	if (r < 0)
		return r;
	pass->output.ids_offset = gt_event_attr_ids_offset(&pass->set.events.items[0].attr);
	r = gt_pass_rings_init(&pass->rings, &pass->set);
	if (r < 0)
		return r;
	r = gt_counters_open(&pass->counters, spec, pass->set.ring_bytes, pid);
	if (r < 0)
		return r;
	return spec->wakeups ? gt_wakeups_open(&pass->wakeups, spec) : 0;
}

int gt_pass_open(const struct gt_pass_spec *spec, pid_t pid, struct gt_pass **ret)
{
	_cleanup_(gt_pass_closep) struct gt_pass *pass = calloc(1, sizeof(*pass));
	int r;

	if (!pass)
		return gt_error_oom();
	r = configure(pass, spec);
	if (r < 0)
		return r;
	r = open_events(pass, spec, pid);
	if (r < 0)
		return r;
	r = describe_events(pass);
	if (r < 0)
		return r;
	r = open_writer(pass, spec);
	if (r < 0)
		return r;
	*ret = GT_STEAL(pass);
	return 0;
}

/* Learns from a record what is done with others. */
static int note_record(struct gt_pass *pass, struct gt_pass_ring *ring,
		       const struct gt_ring_record *record)
{
	gt_pass_ring_note(ring, record);
	if (record->header.type == PERF_RECORD_MMAP2 && pass->kept_files)
		gt_mapped_files_note(&pass->mapped, record);
	return pass->follows_threads
		       ? gt_followed_threads_note(&pass->followed, record, pass->output.ids_offset)
		       : 0;
}

static int drain_ring(struct gt_pass *pass, uint32_t index)
{
	struct gt_pass_ring *ring = &pass->rings.rings[index];
	struct gt_ring_record record;
	int r = 0;

	if (!gt_ring_begin(&ring->ring))
		return 0;
	pass->is_behind |= gt_pass_ring_is_behind(ring);
	while (r == 0 && gt_ring_next(&ring->ring, &record)) {
		r = note_record(pass, ring, &record);
		if (r == 0)
			r = gt_pass_output_copy(&pass->output, &record);
	}
	return r < 0 ? r : gt_pass_rings_end(&pass->rings, index, 0, &pass->output);
}

int gt_pass_drain(struct gt_pass *pass)
{
	int r = 0;

	pass->is_behind = false;
	gt_counters_begin(&pass->counters);
	gt_wakeups_begin(&pass->wakeups);
	for (uint32_t i = 0; r == 0 && i < pass->rings.count; i++)
		r = drain_ring(pass, i);
	if (r == 0)
		r = gt_counters_drain(&pass->counters, &pass->output);
	if (r == 0)
		r = gt_wakeups_drain(&pass->wakeups, &pass->followed, &pass->output);
	if (r == 0)
		r = gt_pass_output_end_round(&pass->output);
	return r < 0 ? r : gt_perfdata_writer_tend(pass->output.writer);
}

uint32_t gt_pass_rest_ms(const struct gt_pass *pass)
{
	uint64_t rest_ms = GT_MAX(pass->set.ring_bytes / pass->ring_bytes_per_ms, MIN_REST_MS);

	if (pass->is_behind || pass->counters.is_behind || pass->wakeups.is_behind)
		return 0;
	/* That the rings are small is no reason to wake up for what tasks tell now and then. */
	if (pass->tells_tasks_only)
		return UINT32_MAX;
	if (pass->has_wakeups)
		rest_ms = GT_MIN(rest_ms, gt_wakeups_rest_ms(&pass->wakeups));
	return (uint32_t)GT_MIN(rest_ms, UINT32_MAX);
}

static int drain_source(void *object)
{
	return gt_pass_drain(object);
}

static uint32_t source_rest_ms(const void *object)
{
	return gt_pass_rest_ms(object);
}

struct gt_session_source gt_pass_source(struct gt_pass *pass)
{
	return (struct gt_session_source){
		.object = pass, .drain = drain_source, .rest_ms = source_rest_ms};
}

/* What is only known when all is over. */
static int add_rest(struct gt_pass *pass)
{
	int r = gt_pass_rings_add_untold(&pass->rings, 0, &pass->output);

	if (r == 0)
		r = gt_pass_rings_add_untold(&pass->wakeups.rings, 0, &pass->output);
	if (r == 0)
		r = gt_counters_add_untold(&pass->counters, &pass->output);
	if (r == 0)
		r = gt_counters_add_first(&pass->counters, gt_pass_rings_lost(&pass->rings) > 0,
					  &pass->followed, &pass->output);
	if (r < 0)
		return r;
	/* Also so that the data of a finished file is never empty. */
	pass->output.has_round = true;
	return gt_pass_output_end_round(&pass->output);
}

static int write_features(struct gt_pass *pass)
{
	struct gt_perfdata_features features = {
		.events = pass->events,
		.event_count = pass->event_count,
		.cpu_count = pass->set.ring_count,
		.command = pass->command,
		.first_ns = pass->output.first_ns,
		.last_ns = pass->output.last_ns,
	};

	return gt_perfdata_features_write(pass->output.writer, &features);
}

int gt_pass_finish(struct gt_pass *pass, struct gt_pass_counts *ret_counts)
{
	int r;

	gt_event_set_disable(&pass->set);
	gt_counters_disable(&pass->counters);
	if (pass->has_wakeups)
		gt_event_set_disable(&pass->wakeups.set);
	r = gt_pass_drain(pass);
	if (r < 0)
		return r;
	r = add_rest(pass);
	if (r < 0)
		return r;
	r = write_features(pass);
	if (r < 0)
		return r;
	if (pass->kept_files)
		gt_mapped_files_keep(&pass->mapped, pass->kept_files);
	*ret_counts = (struct gt_pass_counts){
		.samples = pass->output.samples,
		.lost = gt_pass_rings_lost(&pass->rings) + gt_counters_lost(&pass->counters),
		.lost_wakeups = gt_pass_rings_lost(&pass->wakeups.rings),
		.bytes = gt_perfdata_writer_bytes(pass->output.writer),
	};
	return 0;
}

void gt_pass_close(struct gt_pass *pass)
{
	gt_pass_output_close(&pass->output);
	gt_wakeups_close(&pass->wakeups);
	gt_pass_rings_clear(&pass->rings);
	gt_event_set_close(&pass->set);
	gt_counters_close(&pass->counters);
	gt_followed_threads_clear(&pass->followed);
	gt_mapped_files_clear(&pass->mapped);
	free(pass->events);
	free(pass->kept_files);
	free(pass);
}
