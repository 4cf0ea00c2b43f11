/* SPDX-License-Identifier: MIT */
#include "trace/perf_source.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "trace/perf_states.h"

static const struct {
	const char *name;
	const char *field;
	enum gt_event_type type;
} gil_events[] = {
	{"take", "caller", GT_EVENT_TAKE},
	{"acquired", "lock", GT_EVENT_ACQUIRED},
	{"release", "lock", GT_EVENT_RELEASE},
	{"switched", "lock", GT_EVENT_SWITCHED},
};

/* What an event of the file means. */
struct meaning {
	bool is_gil_event;
	bool has_field; /* a take can do without its caller */
	enum gt_event_type type;
	struct gt_perf_field field;
};

struct gt_perf_source {
	struct gt_perfdata *perfdata;
	const char *path;
	unsigned int wants;
	struct meaning *meanings; /* one for each event of the file */
	uint32_t count;
	struct gt_perf_states states;
	uint64_t last_ns;
	GT_ARRAY(uint64_t) ring_last_ns;
	struct gt_event pending; /* a loss of GIL events, behind the same one of switches */
	bool has_pending;
	bool has_told_end, has_told_cut; /* of states, and of the GIL's events */
	uint64_t lost_told;		 /* by records in the stream, at their place */
	uint64_t lost_counted; /* by perf at the end of the file, the same ones included */
	uint64_t wakeups_lost_told, wakeups_lost_counted; /* likewise, in rings of their own */
};

/* Without these a moment belongs to nobody, or nowhere. */
static bool has_time_and_thread(const struct gt_perf_event *event)
{
	uint64_t needed = PERF_SAMPLE_TIME | PERF_SAMPLE_TID;

	return (event->attr->sample_type & needed) == needed;
}

static int find_event(struct gt_perf_source *source, size_t which, bool *ret_found)
{
	*ret_found = false;
	for (uint32_t i = 0; i < source->count; i++) {
		const struct gt_perf_event *event = gt_perfdata_event(source->perfdata, i);
		struct meaning *meaning = &source->meanings[i];
		int r;

		if (!event->name || strcmp(event->name, gil_events[which].name) != 0)
			continue;
		r = gt_perfdata_find_field(source->perfdata, i, gil_events[which].field,
					   &meaning->field);
		if (r == -ENOMEM)
			return r;
		meaning->has_field = r >= 0 && meaning->field.size == sizeof(uint64_t);
		if (!meaning->has_field && gil_events[which].type != GT_EVENT_TAKE)
			continue;
		if (!has_time_and_thread(event)) {
			gt_error("the events of %s have no times or no threads\n"
				 "  record them with: perf record -T -k CLOCK_MONOTONIC",
				 source->path);
			return -ENODATA;
		}
		meaning->is_gil_event = true;
		meaning->type = gil_events[which].type;
		/* One is enough: the same moment recorded twice would be two. */
		*ret_found = true;
		return 0;
	}
	return 0;
}

static void warn_if_not_inherited(const struct gt_perf_source *source)
{
	for (uint32_t i = 0; i < source->count; i++) {
		if (!source->meanings[i].is_gil_event ||
		    gt_perfdata_event(source->perfdata, i)->attr->inherit)
			continue;
		gt_warning("%s was recorded without following new threads: theirs are missing",
			   source->path);
		return;
	}
}

static int find_gil_events(struct gt_perf_source *source)
{
	for (size_t i = 0; i < ARRAY_SIZE(gil_events); i++) {
		bool found;
		int r = find_event(source, i, &found);

		if (r == -ENOMEM)
			return gt_error_oom();
		if (r < 0)
			return r;
		if (found)
			continue;
		if (gil_events[i].type != GT_EVENT_SWITCHED) {
			gt_error(
				"%s has no event named '%s' with a 64-bit field '%s'\n"
				"  giltrace reports files with its own GIL events: take, acquired, "
				"release and switched",
				source->path, gil_events[i].name, gil_events[i].field);
			return -ENODATA;
		}
		gt_warning(
			"%s has no event named 'switched': waits after a requested drop are not in "
			"the figures",
			source->path);
	}
	warn_if_not_inherited(source);
	return 0;
}

int gt_perf_source_new(struct gt_perfdata *perfdata, const struct gt_perf_source_spec *spec,
		       struct gt_perf_source **ret)
{
	_cleanup_(gt_perf_source_freep) struct gt_perf_source *source = calloc(1, sizeof(*source));
	int r;

	if (!source)
		return gt_error_oom();
	source->perfdata = perfdata;
	source->path = spec->path;
	source->wants = spec->wants;
	source->count = gt_perfdata_event_count(perfdata);
	source->meanings = calloc(source->count + 1, sizeof(*source->meanings));
	if (!source->meanings)
		return gt_error_oom();
	r = spec->wants & GT_PERF_WANTS_GIL ? find_gil_events(source) : 0;
	if (r < 0)
		return r;
	if ((spec->wants & GT_PERF_WANTS_SWITCHES) &&
	    gt_perf_states_find(perfdata, &source->states) < 0)
		return gt_error_oom();
	*ret = GT_STEAL(source);
	return 0;
}

void gt_perf_source_free(struct gt_perf_source *source)
{
	if (!source)
		return;
	free(source->meanings);
	gt_perf_states_clear(&source->states);
	gt_array_clear(&source->ring_last_ns);
	free(source);
}

/* False for a record that the model has no use for. */
static bool convert_sample(struct gt_perf_source *source, const struct gt_perf_record *record,
			   struct gt_event *ret)
{
	const struct meaning *meaning;
	uint64_t value = 0;

	if (record->event >= source->count)
		return false;
	meaning = &source->meanings[record->event];
	if (!meaning->is_gil_event)
		return gt_perf_states_convert(&source->states, record, ret);
	/* A sample without its field is a moment all the same, but nothing says of which GIL. */
	if (meaning->has_field && !gt_perf_field_read(record, &meaning->field, &value) &&
	    meaning->type != GT_EVENT_TAKE)
		return false;
	ret->type = meaning->type;
	if (meaning->type == GT_EVENT_TAKE)
		ret->caller = value;
	else
		ret->lock = value;
	return true;
}

/* A context switch of a task that is being followed: its own, as seen by itself. */
static bool convert_switch(const struct gt_perf_source *source, const struct gt_perf_record *record,
			   struct gt_event *ret)
{
	/* Without a time it is nowhere; and while it is being reaped, a task has no number (-1). */
	if (record->time_ns == 0 || record->tid == 0 || record->tid == UINT32_MAX)
		return false;
	/* A ring is one of a CPU, unless it is one of a thread: that is not followed then. */
	ret->on_off.cpu =
		record->event < source->count &&
				gt_perfdata_event(source->perfdata, record->event)->attr->inherit
			? record->ring
			: GT_EVENT_NO_RING;
	if (record->misc & PERF_RECORD_MISC_SWITCH_OUT) {
		ret->type = GT_EVENT_SWITCH_OUT;
		ret->on_off.preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	} else {
		ret->type = GT_EVENT_SWITCH_IN;
	}
	return true;
}

static bool convert_loss(struct gt_perf_source *source, const struct gt_perf_record *record,
			 struct gt_event *ret)
{
	bool are_wakeups = gt_perf_states_has_own_rings(&source->states, record->event);
	uint64_t *told = are_wakeups ? &source->wakeups_lost_told : &source->lost_told;
	uint64_t *counted = are_wakeups ? &source->wakeups_lost_counted : &source->lost_counted;

	if (record->type == PERF_RECORD_LOST_SAMPLES) {
		*counted += record->lost.count;
		return false;
	}
	*told += record->lost.count;
	if (are_wakeups) {
		ret->type = GT_EVENT_WAKEUPS_LOST;
		ret->gap.count = record->lost.count;
	} else {
		ret->type = GT_EVENT_LOST;
		ret->lost = record->lost.count;
	}
	return true;
}

static bool convert(struct gt_perf_source *source, const struct gt_perf_record *record,
		    struct gt_event *ret)
{
	ret->time_ns = record->time_ns;
	ret->pid = record->pid;
	ret->tid = record->tid;
	ret->ring = record->ring;
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		return convert_sample(source, record, ret);
	case PERF_RECORD_FORK:
		ret->type = GT_EVENT_FORK;
		ret->fork.ppid = record->task.ppid;
		ret->fork.ptid = record->task.ptid;
		return true;
	case PERF_RECORD_EXIT:
		ret->type = GT_EVENT_EXIT;
		return true;
	case PERF_RECORD_SWITCH:
		return convert_switch(source, record, ret);
	case PERF_RECORD_READ:
		return gt_perf_states_convert(&source->states, record, ret);
	case PERF_RECORD_COMM:
		ret->type = GT_EVENT_COMM;
		ret->comm.name = record->comm.name;
		ret->comm.exec = record->comm.exec;
		return true;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		/* perf tells of the kernel's own code as mapped by process -1. */
		if (!record->mmap.executable || record->pid == UINT32_MAX)
			return false;
		ret->type = GT_EVENT_MAP;
		ret->map.start = record->mmap.start;
		ret->map.length = record->mmap.length;
		ret->map.file_offset = record->mmap.file_offset;
		ret->map.path = record->mmap.path;
		ret->map.build_id = record->mmap.build_id;
		ret->map.build_id_size = record->mmap.build_id_size;
		ret->map.by_agent = false;
		return true;
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_LOST:
		return convert_loss(source, record, ret);
	default:
		return false;
	}
}

/*
 * Where context switches may be lost: behind the last record of the ring, or without one, of the
 * ring that fell silent first, to be safe.
 */
static uint64_t find_gap_start(const struct gt_perf_source *source, uint32_t ring)
{
	uint64_t start_ns = source->last_ns;

	if (ring != GT_EVENT_NO_RING)
		return ring < source->ring_last_ns.count ? source->ring_last_ns.items[ring] : 0;
	gt_array_for_each (&source->ring_last_ns, last_ns)
		start_ns = GT_MIN(start_ns, *last_ns);
	return start_ns;
}

/*
 * Rings of wake-ups alone have the same numbers, and no context switches to lose. So it may be with
 * those that counters are told in.
 */
static int note_ring(struct gt_perf_source *source, const struct gt_perf_record *record)
{
	uint64_t *last_ns;

	if (!(source->wants & GT_PERF_WANTS_SWITCHES) || record->ring == GT_PERF_NO_INDEX ||
	    record->type == PERF_RECORD_READ ||
	    gt_perf_states_has_own_rings(&source->states, record->event))
		return 0;
	while (record->ring >= source->ring_last_ns.count)
		if (!gt_array_push(&source->ring_last_ns))
			return gt_error_oom();
	last_ns = &source->ring_last_ns.items[record->ring];
	*last_ns = GT_MAX(*last_ns, record->time_ns);
	return 0;
}

/*
 * Rings hold whatever the file was recorded for: what was lost may be GIL events, context switches,
 * or both. LOST tells of the first, and is to be turned into what tells of the others.
 */
static void tell_loss(struct gt_perf_source *source, struct gt_event *event)
{
	struct gt_event lost = *event;

	if (!(source->wants & GT_PERF_WANTS_SWITCHES))
		return;
	if (source->wants & GT_PERF_WANTS_GIL) {
		source->pending = lost;
		source->has_pending = true;
	}
	event->type = GT_EVENT_SWITCHES_LOST;
	event->gap.since_ns = find_gap_start(source, lost.ring);
	event->gap.count = lost.lost;
}

/* Rings are those of the GIL's events: losses are looked for in them. */
static bool is_wanted(struct gt_perf_source *source, struct gt_event *event)
{
	if (event->type == GT_EVENT_LOST)
		tell_loss(source, event);
	if (!(source->wants & GT_PERF_WANTS_GIL) || event->type == GT_EVENT_WAKEUP ||
	    event->type == GT_EVENT_WAKEUPS_LOST)
		event->ring = GT_EVENT_NO_RING;
	switch (event->type) {
	case GT_EVENT_FORK:
	case GT_EVENT_EXIT:
	case GT_EVENT_COMM:
	case GT_EVENT_MAP:
		return source->wants & GT_PERF_WANTS_TASKS;
	case GT_EVENT_SWITCH_IN:
	case GT_EVENT_SWITCH_OUT:
	case GT_EVENT_SWITCHES_LOST:
	case GT_EVENT_LEAVE:
	case GT_EVENT_WAKEUP:
	case GT_EVENT_WAKEUPS_LOST:
	case GT_EVENT_COUNT:
	case GT_EVENT_MEMORY:
		return source->wants & GT_PERF_WANTS_SWITCHES;
	default:
		return source->wants & GT_PERF_WANTS_GIL;
	}
}

/* Where a file was not finished, threads live on, and nothing is known of them any more. */
static bool tell_cut(struct gt_perf_source *source, struct gt_event *ret)
{
	uint64_t complete_ns = gt_perfdata_complete_ns(source->perfdata);

	if (!gt_perfdata_info(source->perfdata)->is_unfinished)
		return false;
	if (!source->has_told_end && (source->wants & GT_PERF_WANTS_SWITCHES)) {
		source->has_told_end = true;
		*ret = (struct gt_event){.type = GT_EVENT_SWITCHES_LOST,
					 .time_ns = source->last_ns,
					 .ring = GT_EVENT_NO_RING,
					 .gap = {.since_ns = complete_ns}};
		return true;
	}
	if (!source->has_told_cut && (source->wants & GT_PERF_WANTS_GIL)) {
		source->has_told_cut = true;
		*ret = (struct gt_event){
			.type = GT_EVENT_CUT, .time_ns = complete_ns, .ring = GT_EVENT_NO_RING};
		return true;
	}
	return false;
}

/* What was lost behind the last record of a ring has no record of its own: some are left to tell.
 */
static int tell_rest(struct gt_perf_source *source, struct gt_event *ret)
{
	if (tell_cut(source, ret))
		return 1;
	if (source->wakeups_lost_counted > source->wakeups_lost_told) {
		*ret = (struct gt_event){.type = GT_EVENT_WAKEUPS_LOST,
					 .time_ns = source->last_ns,
					 .ring = GT_EVENT_NO_RING};
		ret->gap.count = source->wakeups_lost_counted - source->wakeups_lost_told;
		source->wakeups_lost_told = source->wakeups_lost_counted;
		return 1;
	}
	if (source->lost_counted <= source->lost_told)
		return 0;
	*ret = (struct gt_event){.type = GT_EVENT_LOST,
				 .time_ns = source->last_ns,
				 .ring = GT_EVENT_NO_RING,
				 .lost = source->lost_counted - source->lost_told};
	source->lost_told = source->lost_counted;
	return is_wanted(source, ret);
}

int gt_perf_source_next(struct gt_perf_source *source, struct gt_event *ret)
{
	struct gt_perf_record record;
	bool is_one;

	if (source->has_pending) {
		source->has_pending = false;
		*ret = source->pending;
		return 1;
	}
	for (;;) {
		int r = gt_perfdata_next(source->perfdata, &record);

		if (r < 0)
			return r;
		if (r == 0)
			return tell_rest(source, ret);
		source->last_ns = GT_MAX(source->last_ns, record.time_ns);
		is_one = convert(source, &record, ret) && is_wanted(source, ret);
		r = note_ring(source, &record);
		if (r < 0 || is_one)
			return r < 0 ? r : 1;
	}
}

uint64_t gt_perf_source_lost(const struct gt_perf_source *source)
{
	return source->wants & (GT_PERF_WANTS_GIL | GT_PERF_WANTS_SWITCHES)
		       ? 0
		       : GT_MAX(source->lost_told, source->lost_counted);
}
