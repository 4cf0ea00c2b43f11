// SPDX-License-Identifier: MIT
/* What is said about a place of a GIL's lane: who holds it there, and who waits. */

import { laneName, line, mergedHint } from './details.js';
import { make } from './dom.js';
import { formatCount, formatDuration, formatMoment, formatShare } from './format.js';
import { isOf } from './gils.js';
import { KIND_HAS, KIND_WAIT, firstEndingAfter, sumRange } from './lanes.js';

const MOST_THREADS = 6;
/* So many intervals in a pixel are looked at one by one. */
const FEW_INTERVALS = 5000;

/**
 * @typedef {object} Holding what happens to a GIL in a range
 * @property {{lane: import('./lanes.js').Lane, ns: number}[]} holders most first
 * @property {number} intervals that lie in it
 * @property {number} holds of these; NaN when they are too many to count
 * @property {number} hold if there is but one
 * @property {number} waited of all that waited, in ns
 */

/**
 * @param {import('./gils.js').GilLane} gilLane
 * @param {import('./lanes.js').Intervals} intervals
 * @param {number} from
 * @param {number} to
 * @returns {Holding}
 */
export function holdingIn(gilLane, intervals, from, to) {
	const { start, end, kind, gil } = intervals;
	/** @type {Holding} */
	const holding = { holders: [], intervals: 0, holds: 0, hold: -1, waited: 0 };
	for (const lane of gilLane.lanes) {
		let i = firstEndingAfter(intervals, lane.first, lane.last, from);
		const sum = sumRange(intervals, lane, from, to);
		holding.intervals += sum.count;
		let ns = 0;
		if (sum.count > FEW_INTERVALS && gilLane.alone) {
			ns = sum.sums[KIND_HAS];
			holding.waited += sum.sums[KIND_WAIT];
			holding.holds = NaN;
		} else {
			for (; i < lane.last && start[i] < to; i++) {
				const part = Math.min(end[i], to) - Math.max(start[i], from);
				if (!isOf(gilLane, gil[i]))
					continue;
				if (kind[i] === KIND_WAIT)
					holding.waited += part;
				if (kind[i] !== KIND_HAS)
					continue;
				ns += part;
				holding.holds++;
				holding.hold = i;
			}
		}
		if (ns > 0)
			holding.holders.push({ lane, ns });
	}
	holding.holders.sort((a, b) => b.ns - a.ns);
	return holding;
}

/**
 * The threads that wait at a moment.
 * @param {import('./gils.js').GilLane} gilLane
 * @param {import('./lanes.js').Intervals} intervals
 * @param {number} time
 */
function waitersAt(gilLane, intervals, time) {
	const { start, kind, gil } = intervals;
	return gilLane.lanes.filter((lane) => {
		const i = firstEndingAfter(intervals, lane.first, lane.last, time);
		return i < lane.last && start[i] <= time && kind[i] === KIND_WAIT && isOf(gilLane, gil[i]);
	});
}

/**
 * When nobody holds the GIL at TIME: since when, and until when.
 * @param {import('./gils.js').GilLane} gilLane
 * @param {import('./lanes.js').Intervals} intervals
 * @param {number} time
 * @param {number} duration of the trace
 */
function freeAround(gilLane, intervals, time, duration) {
	const { start, end, kind, gil } = intervals;
	let from = 0;
	let to = duration;
	/** @param {number} i */
	const isHold = (i) => kind[i] === KIND_HAS && isOf(gilLane, gil[i]);
	for (const lane of gilLane.lanes) {
		const at = firstEndingAfter(intervals, lane.first, lane.last, time);
		let before = at - 1;
		while (before >= lane.first && end[before] > from && !isHold(before))
			before--;
		if (before >= lane.first)
			from = Math.max(from, isHold(before) ? end[before] : from);
		let behind = at;
		while (behind < lane.last && start[behind] < to && !isHold(behind))
			behind++;
		if (behind < lane.last && isHold(behind))
			to = Math.min(to, start[behind]);
	}
	return { from, to };
}

/**
 * @param {import('./gils.js').GilLane} gilLane
 * @param {import('./lanes.js').Intervals} intervals
 * @param {number} time
 */
function describeWaiters(gilLane, intervals, time) {
	const waiters = waitersAt(gilLane, intervals, time);
	if (waiters.length === 0)
		return [make('div', 'subject', 'Nobody waits.')];
	const nodes = [make('div', 'subject', `${formatCount(waiters.length)} wait${waiters.length === 1 ? 's' : ''}`)];
	for (const waiter of waiters.slice(0, MOST_THREADS))
		nodes.push(line(laneName(waiter), ''));
	if (waiters.length > MOST_THREADS)
		nodes.push(line(`${waiters.length - MOST_THREADS} more`, ''));
	return nodes;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./gils.js').GilLane} gilLane
 * @param {number} from of the pixel under the pointer
 * @param {number} to
 * @returns {{nodes: Node[]} | null}
 */
export function describeGil(timeline, gilLane, from, to) {
	const { intervals, report, colours } = timeline;
	if (!intervals)
		return null;
	const { holders, holds, hold, waited, intervals: count } = holdingIn(gilLane, intervals, from, to);
	const middle = (from + to) / 2;
	const { address } = gilLane.gil;
	/** @param {import('./lanes.js').Lane} lane */
	const swatch = (lane) => make('span', `swatch holder-${colours[lane.index]}`);

	if (holds === 0) {
		const free = freeAround(gilLane, intervals, middle, report.duration_ns);
		return {
			nodes: [
				make('div', 'what', make('span', 'swatch no'), 'Nobody holds the GIL'),
				line('lasts', formatDuration(free.to - free.from)),
				line('since', formatMoment(free.from, (free.to - free.from) / 100)),
				line('GIL', address),
				...describeWaiters(gilLane, intervals, middle),
				...mergedHint(report, free.to - free.from),
			],
		};
	}
	if (holds === 1) {
		const { lane } = holders[0];
		const length = intervals.end[hold] - intervals.start[hold];
		return {
			nodes: [
				make('div', 'what', swatch(lane), `Held by ${laneName(lane)}`),
				line('lasts', formatDuration(length)),
				line('since', formatMoment(intervals.start[hold], length / 100)),
				line('GIL', address),
				...describeWaiters(gilLane, intervals, middle),
				...mergedHint(report, length),
			],
		};
	}
	const length = to - from;
	const nodes = [
		make(
			'div',
			'what',
			Number.isNaN(holds) ? `${formatCount(count)} intervals in one pixel` : `Held ${formatCount(holds)} times in one pixel`,
		),
		line('GIL', address),
		line('around', formatMoment(from, length)),
		line('pixel', formatDuration(length)),
		line('wait, on average', (waited / length).toFixed(2)),
		make('div', 'subject', 'Held by'),
	];
	/** @param {number} ns */
	const share = (ns) => `${formatShare(ns, length)} · ${formatDuration(ns)}`;
	for (const { lane, ns } of holders.slice(0, MOST_THREADS)) {
		const pair = line(laneName(lane), share(ns));
		pair.firstElementChild?.prepend(swatch(lane));
		nodes.push(pair);
	}
	/** @param {{ns: number}[]} list */
	const sum = (list) => list.reduce((total, { ns }) => total + ns, 0);
	if (holders.length > MOST_THREADS)
		nodes.push(line(`${holders.length - MOST_THREADS} more`, share(sum(holders.slice(MOST_THREADS)))));
	if (length - sum(holders) >= 1)
		nodes.push(line('nobody', share(length - sum(holders))));
	return { nodes: [...nodes, ...mergedHint(report, length)] };
}
