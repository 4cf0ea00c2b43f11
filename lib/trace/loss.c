/* SPDX-License-Identifier: MIT */
/*
 * Lost events. A ring that was full says so behind the gap: whatever was lost lies between the
 * event before it in that ring and this word. A thread that ran on that CPU may have done anything
 * meanwhile, and any may have run there; so in that time nothing is known of any thread. Behind it,
 * the next event of each thread tells how it came out of the gap.
 *
 * Where each thread has a buffer of its own (the agent), what is lost is one thread's: the others
 * are known all the time, and nothing is known of that one up to its next event.
 */
#include <errno.h>

#include "trace/machine.h"

/*
 * The last event before the gap. Without a ring, it is a loss at the end of the recording, behind
 * the last event of one of the rings: of the one that fell silent first, to be safe.
 */
static uint64_t find_loss_start(const struct gt_machine *machine, const struct gt_event *event)
{
	uint64_t start_ns = event->time_ns;

	if (event->ring != GT_EVENT_NO_RING)
		return event->ring < machine->ring_last_ns.count
			       ? machine->ring_last_ns.items[event->ring]
			       : 0;
	gt_array_for_each (&machine->ring_last_ns, last_ns)
		start_ns = GT_MIN(start_ns, *last_ns);
	return start_ns;
}

int gt_loss_event(struct gt_trace *trace, const struct gt_event *event)
{
	struct gt_machine *machine = trace->machine;
	/* A ring that was silent until then has lost events since the start. */
	uint64_t start_ns = GT_MAX(find_loss_start(machine, event), trace->start_ns);

	trace->lost += event->lost;
	/* Of threads that have never had a buffer, while all is known of those that had one. */
	if (trace->takes_are_waits) {
		machine->lost_threads = true;
		return 0;
	}
	/* The record itself may be late. */
	if (start_ns < event->time_ns) {
		struct gt_loss *loss = gt_array_push(&machine->losses);

		if (!loss)
			return -ENOMEM;
		loss->start_ns = start_ns;
		loss->end_ns = event->time_ns;
	}

	for (uint32_t i = 0; i < trace->threads.count; i++) {
		int r;

		if (!machine->threads.items[i].alive)
			continue;
		r = gt_gil_end_phase(trace, i, event->time_ns, GT_PHASE_UNKNOWN);
		if (r < 0)
			return r;
	}
	return 0;
}

int gt_loss_of_rest(struct gt_trace *trace, const struct gt_event *event)
{
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		int r;

		if (!trace->machine->threads.items[i].alive)
			continue;
		r = gt_gil_end_phase(trace, i, event->time_ns, GT_PHASE_UNKNOWN);
		if (r < 0)
			return r;
	}
	trace->is_cut = true;
	return 0;
}

int gt_loss_of_thread(struct gt_trace *trace, uint32_t thread, const struct gt_event *event)
{
	trace->lost += event->lost;
	if (!trace->machine->threads.items[thread].alive)
		return 0;
	return gt_gil_lose(trace, thread, event->time_ns);
}

static int by_start(const void *left, const void *right)
{
	const struct gt_loss *a = left, *b = right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Sorts the losses, and joins those that overlap. */
static void join_losses(struct gt_machine *machine)
{
	uint32_t kept = 0;

	qsort(machine->losses.items, machine->losses.count, sizeof(*machine->losses.items),
	      by_start);
	for (uint32_t i = 1; i < machine->losses.count; i++) {
		struct gt_loss *last = &machine->losses.items[kept];
		const struct gt_loss *next = &machine->losses.items[i];

		if (next->start_ns <= last->end_ns)
			last->end_ns = GT_MAX(last->end_ns, next->end_ns);
		else
			machine->losses.items[++kept] = *next;
	}
	machine->losses.count = kept + 1;
}

/* The first loss that ends after TIME_NS. */
static uint32_t find_loss(const struct gt_machine *machine, uint64_t time_ns)
{
	uint32_t low = 0, high = machine->losses.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (machine->losses.items[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of a thread of an interpreter that has shown no event, nobody can say whether it had any. */
static void forget_silent_threads(struct gt_trace *trace)
{
	gt_array_for_each (&trace->intervals, interval) {
		const struct gt_thread *thread = &trace->threads.items[interval->thread];

		if (thread->takes + thread->acquired + thread->releases + thread->switched == 0 &&
		    trace->processes.items[thread->process].python != GT_NONE)
			interval->kind = GT_INTERVAL_UNKNOWN;
	}
}

/* Makes unknown what the losses cover, which is known only after the fact. */
int gt_loss_apply(struct gt_trace *trace)
{
	struct gt_machine *machine = trace->machine;
	__typeof__(trace->intervals) cut = {0};

	if (machine->lost_threads || trace->is_cut)
		forget_silent_threads(trace);
	if (machine->losses.count == 0)
		return 0;
	join_losses(machine);
	gt_array_for_each (&trace->intervals, whole) {
		struct gt_interval rest = *whole;

		for (uint32_t i = find_loss(machine, rest.start_ns); rest.start_ns < rest.end_ns;) {
			const struct gt_loss *loss =
				i < machine->losses.count ? &machine->losses.items[i] : NULL;
			bool inside = loss && loss->start_ns <= rest.start_ns;
			struct gt_interval *piece = gt_array_push(&cut);

			if (!piece) {
				gt_array_clear(&cut);
				return -ENOMEM;
			}
			*piece = rest;
			if (inside) {
				piece->kind = GT_INTERVAL_UNKNOWN;
				piece->end_ns = GT_MIN(rest.end_ns, loss->end_ns);
				i++;
			} else if (loss) {
				piece->end_ns = GT_MIN(rest.end_ns, loss->start_ns);
			}
			rest.start_ns = piece->end_ns;
		}
	}
	gt_array_clear(&trace->intervals);
	trace->intervals.items = cut.items;
	trace->intervals.count = cut.count;
	trace->intervals.capacity = cut.capacity;
	return 0;
}
