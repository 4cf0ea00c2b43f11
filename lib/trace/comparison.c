/* SPDX-License-Identifier: MIT */
#include "trace/comparison.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

#define NEAR_NS 20000u

/* The clocks of both may differ by as much: less than a thread needs from one moment to the next.
 */
#define SKEW_NS 500u

/* Distances are counted to the nanosecond below this, and together above. */
#define DISTANCES (1u << 20)

typedef GT_ARRAY(uint64_t) times;

struct moments {
	uint32_t pid, tid;
	times times[GT_COMPARED_KINDS][GT_COMPARED_SOURCES];
};

struct gt_comparer {
	struct gt_hash index; /* pid and tid → threads */
	GT_ARRAY(struct moments) threads;
};

struct gt_comparer *gt_comparer_new(void)
{
	return calloc(1, sizeof(struct gt_comparer));
}

void gt_comparer_free(struct gt_comparer *comparer)
{
	gt_array_for_each (&comparer->threads, thread)
		for (uint32_t kind = 0; kind < GT_COMPARED_KINDS; kind++)
			for (uint32_t source = 0; source < GT_COMPARED_SOURCES; source++)
				gt_array_clear(&thread->times[kind][source]);
	gt_array_clear(&comparer->threads);
	gt_hash_clear(&comparer->index);
	free(comparer);
}

static struct moments *find_thread(struct gt_comparer *comparer, uint32_t pid, uint32_t tid)
{
	uint64_t key = (uint64_t)pid << 32 | tid;
	uint32_t i = gt_hash_get(&comparer->index, key);
	struct moments *thread;

	if (i != GT_HASH_NONE)
		return &comparer->threads.items[i];
	thread = gt_array_push(&comparer->threads);
	if (!thread || gt_hash_set(&comparer->index, key, comparer->threads.count - 1) < 0)
		return NULL;
	thread->pid = pid;
	thread->tid = tid;
	return thread;
}

int gt_comparer_add(struct gt_comparer *comparer, enum gt_compared_source source,
		    const struct gt_event *event)
{
	enum gt_compared_kind kind;
	struct moments *thread;
	uint64_t *time_ns;

	switch (event->type) {
	case GT_EVENT_ACQUIRED:
		kind = GT_COMPARED_ACQUIRED;
		break;
	case GT_EVENT_RELEASE:
		kind = GT_COMPARED_RELEASE;
		break;
	case GT_EVENT_SWITCHED:
		kind = GT_COMPARED_SWITCHED;
		break;
	default:
		return 0;
	}
	thread = find_thread(comparer, event->pid, event->tid);
	time_ns = thread ? gt_array_push(&thread->times[kind][source]) : NULL;
	if (!time_ns)
		return -ENOMEM;
	*time_ns = event->time_ns;
	return 0;
}

struct pairing {
	uint64_t paired, within, max_ns;
	uint64_t only[GT_COMPARED_SOURCES];
	uint32_t *distances; /* how many pairs are so far apart; NULL: not counted */
};

static uint64_t distance(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns;
}

static void add_pair(struct pairing *pairing, uint64_t distance_ns)
{
	pairing->paired++;
	pairing->within += distance_ns <= NEAR_NS;
	pairing->max_ns = GT_MAX(pairing->max_ns, distance_ns);
	if (pairing->distances)
		pairing->distances[GT_MIN(distance_ns, (uint64_t)DISTANCES - 1)]++;
}

/*
 * Pairs the moments of one thread and kind. A thread passes the uprobe of a moment first, then the
 * agent. So when a second moment of the uprobes comes before the agent's, the first one has no
 * twin; nor has one of the agent's that comes before that of the uprobes, and farther from it than
 * the agent's next. Not so with IN_STEP: then the k-th is the twin of the k-th.
 */
static void pair(const times *uprobe, const times *agent, bool in_step, struct pairing *pairing)
{
	uint32_t i = 0, j = 0;

	while (i < uprobe->count && j < agent->count) {
		const uint64_t *u = &uprobe->items[i], *a = &agent->items[j];

		if (!in_step && i + 1 < uprobe->count && u[1] <= a[0] + SKEW_NS) {
			pairing->only[GT_COMPARED_UPROBE]++;
			i++;
		} else if (!in_step && a[0] < u[0] && j + 1 < agent->count &&
			   distance(a[1], u[0]) < u[0] - a[0]) {
			pairing->only[GT_COMPARED_AGENT]++;
			j++;
		} else {
			add_pair(pairing, distance(u[0], a[0]));
			i++;
			j++;
		}
	}
	pairing->only[GT_COMPARED_UPROBE] += uprobe->count - i;
	pairing->only[GT_COMPARED_AGENT] += agent->count - j;
}

/* With equal counts nothing need be missing; but each may lack another moment. */
static bool are_in_step(const times *a, const times *b)
{
	struct pairing in_step = {0}, resynchronised = {0};

	if (a->count != b->count)
		return false;
	pair(a, b, true, &in_step);
	if (in_step.within == in_step.paired)
		return true;
	pair(a, b, false, &resynchronised);
	return in_step.within >= resynchronised.within;
}

static uint64_t find_median(const struct pairing *pairing)
{
	uint64_t seen = 0;

	for (uint32_t ns = 0; ns < DISTANCES; ns++) {
		seen += pairing->distances[ns];
		if (2 * seen >= pairing->paired)
			return ns;
	}
	return DISTANCES - 1;
}

int gt_comparer_finish(struct gt_comparer *comparer, struct gt_comparison *ret)
{
	_cleanup_free_ uint32_t *distances = calloc(DISTANCES, sizeof(*distances));
	struct pairing pairing = {.distances = distances};
	struct gt_comparison comparison = {0};

	if (!distances)
		return -ENOMEM;
	gt_array_for_each (&comparer->threads, thread) {
		struct gt_compared_thread *counts = gt_array_push(&comparison.threads);

		if (!counts) {
			gt_comparison_clear(&comparison);
			return -ENOMEM;
		}
		counts->pid = thread->pid;
		counts->tid = thread->tid;
		for (uint32_t kind = 0; kind < GT_COMPARED_KINDS; kind++) {
			const times *a = &thread->times[kind][GT_COMPARED_UPROBE];
			const times *b = &thread->times[kind][GT_COMPARED_AGENT];

			counts->counts[GT_COMPARED_UPROBE][kind] = a->count;
			counts->counts[GT_COMPARED_AGENT][kind] = b->count;
			pair(a, b, are_in_step(a, b), &pairing);
		}
	}
	comparison.paired = pairing.paired;
	comparison.within_20us = pairing.within;
	comparison.max_ns = pairing.max_ns;
	comparison.median_ns = find_median(&pairing);
	for (uint32_t source = 0; source < GT_COMPARED_SOURCES; source++)
		comparison.only[source] = pairing.only[source];
	*ret = comparison;
	return 0;
}

void gt_comparison_clear(struct gt_comparison *comparison)
{
	gt_array_clear(&comparison->threads);
	*comparison = (struct gt_comparison){0};
}
