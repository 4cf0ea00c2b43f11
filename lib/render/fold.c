/* SPDX-License-Identifier: MIT */
#include "render/fold.h"

#include "base/time.h"

/*
 * They lie behind one another, within a time that is at least as long as they are together: nothing
 * that comes behind them is touched.
 */
static void emit_quantum(struct gt_fold *fold)
{
	uint64_t time_ns = fold->start_ns;

	for (uint32_t i = 0; i < fold->count; i++) {
		struct gt_bar *bar = &fold->bars[i];
		uint64_t length_ns = bar->end_ns - bar->start_ns;

		bar->start_ns = time_ns;
		bar->end_ns = time_ns += length_ns;
		if (fold->merged_into[i] > 1) {
			fold->merged += fold->merged_into[i];
			bar->stack = 0;
		}
		fold->emit(bar, fold->context);
	}
	fold->count = 0;
}

static bool merge(struct gt_fold *fold, const struct gt_bar *bar)
{
	for (uint32_t i = 0; i < fold->count; i++) {
		struct gt_bar *other = &fold->bars[i];

		if (other->kind != bar->kind || other->gil != bar->gil)
			continue;
		other->end_ns += bar->end_ns - bar->start_ns;
		fold->merged_into[i]++;
		return true;
	}
	return false;
}

void gt_fold_add(struct gt_fold *fold, const struct gt_bar *bar)
{
	uint64_t quantum, last;

	if (fold->quantum_ns == 0) {
		fold->emit(bar, fold->context);
		return;
	}
	quantum = gt_ns_since(bar->start_ns, fold->origin_ns) / fold->quantum_ns;
	last = gt_ns_since(bar->end_ns - 1, fold->origin_ns) / fold->quantum_ns;
	if (fold->count > 0 &&
	    (quantum != fold->quantum || last != quantum || bar->thread != fold->bars[0].thread))
		emit_quantum(fold);
	/* It goes on into the next one, or is as long as one: it is seen as it is. */
	if (last != quantum || bar->end_ns - bar->start_ns >= fold->quantum_ns) {
		emit_quantum(fold);
		fold->emit(bar, fold->context);
		return;
	}
	if (merge(fold, bar))
		return;
	if (fold->count == GT_FOLD_KINDS)
		emit_quantum(fold);
	if (fold->count == 0) {
		fold->quantum = quantum;
		fold->start_ns = bar->start_ns;
	}
	fold->bars[fold->count] = *bar;
	fold->merged_into[fold->count++] = 1;
}

void gt_fold_end(struct gt_fold *fold)
{
	emit_quantum(fold);
}
