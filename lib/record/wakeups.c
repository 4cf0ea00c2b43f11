/* SPDX-License-Identifier: MIT */
#include "record/wakeups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/log.h"
#include "record/event_attr.h"
#include "record/followed_threads.h"
#include "record/pass.h"
#include "record/pass_output.h"

/* Some 14,000 wake-ups. */
#define RING_BYTES (UINT64_C(1) << 20)
/* What a CPU that does nothing else writes in a millisecond: 300 wake-ups. */
#define RING_BYTES_PER_MS (UINT64_C(21) << 10)

/* The inode of the first PID namespace: PROC_PID_INIT_INO in include/linux/proc_ns.h. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

const struct gt_pass_tracepoint gt_wakeups_tracepoint = {.system = "sched", .name = "sched_waking"};

bool gt_pass_may_record_wakeups(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PID_NAMESPACE;
}

/* Where samples have the thread that is woken, from their ids on. */
static int find_tid(const struct gt_pass_spec *spec, uint32_t *ret)
{
	_cleanup_free_ char *path =
		gt_format("%s/events/%s/%s/format", spec->tracefs, gt_wakeups_tracepoint.system,
			  gt_wakeups_tracepoint.name);
	_cleanup_free_ char *text = NULL;
	const char *field;
	uint32_t offset;
	int r;

	if (!path)
		return gt_error_oom();
	r = gt_read_file(path, (size_t)64 << 10, &text, NULL);
	if (r < 0)
		return gt_error_errno(r, "cannot record %s: %s cannot be read", spec->what, path);
	field = strstr(text, " pid;");
	if (!field || sscanf(field, " pid; offset:%" SCNu32 "; size:4;", &offset) != 1 ||
	    offset > UINT16_MAX) {
		gt_error("cannot record %s: %s does not say where the field pid is", spec->what,
			 path);
		return -ENODATA;
	}
	/* Behind the ids is the size of the raw data, and the data. */
	*ret = (uint32_t)(sizeof(struct gt_sample_ids) + sizeof(uint32_t)) + offset;
	return 0;
}

int gt_wakeups_open(struct gt_wakeups *wakeups, const struct gt_pass_spec *spec)
{
	int r;

	if (!gt_pass_may_record_wakeups()) {
		gt_error("cannot record wake-ups in a PID namespace: the kernel tells of threads "
			 "by other numbers than they have here\n"
			 "  run outside of the container");
		return -EOPNOTSUPP;
	}
	r = find_tid(spec, &wakeups->tid_offset);
	if (r < 0)
		return r;
	r = gt_event_set_open_all_tasks(&wakeups->set, spec, &gt_wakeups_tracepoint, RING_BYTES);
	if (r < 0)
		return r;
	wakeups->tid_offset += gt_event_attr_ids_offset(&wakeups->set.events.items[0].attr);
	r = gt_pass_rings_init(&wakeups->rings, &wakeups->set);
	if (r < 0)
		return r;
	gt_event_set_enable(&wakeups->set);
	return 0;
}

void gt_wakeups_close(struct gt_wakeups *wakeups)
{
	gt_pass_rings_clear(&wakeups->rings);
	gt_event_set_close(&wakeups->set);
}

void gt_wakeups_begin(struct gt_wakeups *wakeups)
{
	for (uint32_t i = 0; i < wakeups->rings.count; i++)
		gt_ring_begin(&wakeups->rings.rings[i].ring);
}

/* Whether RECORD is about the pass's threads, or a loss. */
static bool is_wanted(const struct gt_wakeups *wakeups, const struct gt_followed_threads *followed,
		      const struct gt_ring_record *record, uint32_t ids_offset)
{
	struct gt_sample_ids sample;
	uint32_t tid;

	if (record->header.type != PERF_RECORD_SAMPLE)
		return record->header.type == PERF_RECORD_LOST;
	return gt_ring_record_copy(record, wakeups->tid_offset, &tid, sizeof(tid)) &&
	       gt_ring_record_copy(record, ids_offset, &sample, sizeof(sample)) &&
	       gt_followed_threads_have(followed, tid, sample.time_ns);
}

int gt_wakeups_drain(struct gt_wakeups *wakeups, const struct gt_followed_threads *followed,
		     struct gt_pass_output *output)
{
	struct gt_ring_record record;
	int r = 0;

	wakeups->is_behind = false;
	for (uint32_t i = 0; r == 0 && i < wakeups->rings.count; i++) {
		struct gt_pass_ring *ring = &wakeups->rings.rings[i];

		wakeups->is_behind |= gt_pass_ring_is_behind(ring);
		while (r == 0 && gt_ring_next(&ring->ring, &record)) {
			gt_pass_ring_note(ring, &record);
			if (is_wanted(wakeups, followed, &record, output->ids_offset))
				r = gt_pass_output_copy(output, &record);
		}
		if (r == 0)
			r = gt_pass_rings_end(&wakeups->rings, i, 0, output);
	}
	return r;
}

uint64_t gt_wakeups_rest_ms(const struct gt_wakeups *wakeups)
{
	return wakeups->set.ring_bytes / RING_BYTES_PER_MS;
}
