// SPDX-License-Identifier: MIT
/* The longest waits, of all or of those that alone are shown: what one looks for first. */

import { chooseInterval, chooseLane } from './choose.js';
import { onChange } from './changes.js';
import { byId, make } from './dom.js';
import { besideWait, longestWaits, parseFilterKey } from './filter.js';
import { formatDuration, formatMoment } from './format.js';
import { holdersDuring } from './lanes.js';
import { nameElement, threadNames } from './thread_names.js';
import { showRange } from './timeline.js';

const MOST_LONGEST = 10;
/* Where one wait is looked at, so many times its length is seen. */
const AROUND = 3;

/**
 * Marks a wait in the timeline, closely enough to be seen.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./filter.js').FilteredWait} wait
 * @param {boolean} near whether it shall be as wide as can be looked at
 */
function goToWait(timeline, wait, near) {
	const { intervals, view } = timeline;
	if (!intervals)
		return;
	const start = intervals.start[wait.wait];
	const end = intervals.end[wait.wait];
	const length = (end - start) * AROUND;
	if (near || view.to - view.from < length / AROUND) {
		const middle = (start + end) / 2;
		showRange(timeline, middle - length / 2, middle + length / 2);
	}
	chooseLane(timeline, wait.lane.index);
	chooseInterval(timeline, wait.wait);
}

/**
 * What keys do here: to the wait before and after of those that alone are shown.
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {Record<string, () => void>}
 */
export function waitKeys(timeline) {
	/** @param {number} direction */
	const step = (direction) => {
		const wait = besideWait(timeline, direction);
		if (wait)
			goToWait(timeline, wait, false);
	};
	return { n: () => step(1), p: () => step(-1) };
}

/**
 * The intervals must have been read.
 * @param {import('./timeline.js').Timeline} timeline
 */
export function showLongest(timeline) {
	const { report, intervals, lanes } = timeline;
	const nameOf = threadNames(report.summary.processes, true);

	const fill = () => {
		const list = byId('longest-list');
		const waits = longestWaits(timeline, MOST_LONGEST);
		/* Of a wait, the filter shows what was for one holder: that is told, and not who held it longest. */
		const part = parseFilterKey(timeline.filter?.key ?? '')?.holder ?? '*';
		list.replaceChildren();
		byId('longest-title').textContent = part === '*' ? 'Longest waits' : 'Longest parts of waits';
		byId('longest').hidden = waits.length === 0;
		for (const wait of waits) {
			if (!intervals)
				return;
			const { lane } = wait;
			const [most] = holdersDuring(intervals, lanes, lane, wait.wait);
			const holder = part === '*' ? (most?.lane?.thread.tid ?? null) : part === 'none' ? null : part;
			const start = intervals.start[wait.wait];
			const { pid } = lane.process;
			const button = make(
				'button',
				'',
				make('span', 'time', formatDuration(wait.ns)),
				make('span', 'moment', ` at ${formatMoment(start, 1e5)}`),
				make(
					'span',
					'who',
					nameElement(nameOf(pid, lane.thread.tid)),
					make('span', '', 'for'),
					nameElement(nameOf(pid, holder)),
				),
			);
			button.type = 'button';
			button.dataset.value = String(wait.ns);
			button.addEventListener('click', () => {
				goToWait(timeline, wait, true);
				byId('timeline').scrollIntoView({ block: 'nearest' });
			});
			list.append(make('li', '', button));
		}
	};
	onChange(timeline, ['filter'], fill);
	fill();
}
