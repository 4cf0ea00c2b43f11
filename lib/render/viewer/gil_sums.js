// SPDX-License-Identifier: MIT
/* Sums up the GILs behind the first drawing: at once where that is quick, else in slices. */

import { tellChange } from './changes.js';
import { sumParts } from './gils.js';
import { forgetLabels } from './labels.js';
import { askFrame } from './timeline.js';

/* So many intervals are summed up before a frame would be missed. */
const QUICK = 200000;
const SUM_SLICE_MS = 8;

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./lanes.js').Intervals} intervals
 */
export function sumGils(timeline, intervals) {
	const { gilLanes, colours, report } = timeline;
	const slice = intervals.start.length <= QUICK ? Infinity : SUM_SLICE_MS;
	let at = 0;
	/** @type {ReturnType<typeof sumParts> | null} */
	let sums = null;
	const go = () => {
		const stop = performance.now() + slice;
		while (at < gilLanes.length) {
			sums ??= sumParts(gilLanes[at], intervals, colours, report.duration_ns);
			const step = sums.next();
			if (step.done) {
				gilLanes[at++].parts = step.value;
				sums = null;
			} else if (performance.now() > stop) {
				setTimeout(go, 0);
				return;
			}
		}
		forgetLabels(timeline, 'gil');
		tellChange(timeline, 'rows');
		askFrame(timeline);
	};
	go();
}
