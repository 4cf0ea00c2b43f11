// SPDX-License-Identifier: MIT
/*
 * What each thread did with the GIL, in arrays that can be asked in logarithmic time: which interval
 * is at a moment, and how much of a range was held, waited for or unknown, whatever its length.
 */

import { readColumn } from './columns.js';

export const KIND_WAIT = 1;
export const KIND_HAS = 2;
export const KIND_UNKNOWN = 3;

/* Sums are kept at every 32nd interval: the rest is added when asked. */
const BLOCK_SHIFT = 5;
const BLOCK_MASK = (1 << BLOCK_SHIFT) - 1;

/**
 * @typedef {object} Lane
 * @property {import('./report.js').Thread} thread
 * @property {import('./report.js').Process} process
 * @property {number} index
 * @property {number} start of its life
 * @property {number} end
 * @property {number} first its first interval
 * @property {number} last behind its last interval
 */

/** @typedef {{has: number, wait: number, unknown: number}} Sums */

/**
 * @typedef {object} Intervals
 * @property {Float64Array} start
 * @property {Float64Array} end
 * @property {Uint8Array} kind
 * @property {Uint32Array | Uint16Array} gil number of the GIL + 1; 0 when it is not known
 * @property {Float64Array[]} sums by kind: time in the intervals before each block
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @returns {Lane[]}
 */
export function makeLanes(report) {
	let first = 0;
	return report.lanes.map((meta, index) => {
		const process = report.summary.processes[meta.process];
		const lane = {
			thread: process.threads[meta.thread],
			process,
			index,
			start: meta.start_ns,
			end: meta.end_ns,
			first,
			last: first + meta.intervals,
		};
		first = lane.last;
		return lane;
	});
}

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {Lane[]} lanes
 * @returns {Promise<Intervals>}
 */
export async function readIntervals(report, lanes) {
	const count = report.intervals;
	const start = new Float64Array(count);
	const end = new Float64Array(count);
	const kind = new Uint8Array(count);
	const gil = report.gils.length < 0xffff ? new Uint16Array(count) : new Uint32Array(count);

	await readColumn('kind', kind);
	await readColumn('gil', gil);
	await readColumn('gap', start);
	await readColumn('length', end);
	for (const lane of lanes) {
		let time = 0;
		for (let i = lane.first; i < lane.last; i++) {
			time = start[i] += time;
			time = end[i] += time;
		}
	}
	return makeIntervals(start, end, kind, gil);
}

/**
 * @param {Float64Array} start
 * @param {Float64Array} end
 * @param {Uint8Array} kind
 * @param {Uint32Array | Uint16Array} gil
 * @returns {Intervals}
 */
export function makeIntervals(start, end, kind, gil) {
	const blocks = (start.length >> BLOCK_SHIFT) + 1;
	const sums = [0, 1, 2, 3].map((index) => new Float64Array(index === 0 ? 0 : blocks));
	const total = [0, 0, 0, 0];
	for (let i = 0; i < start.length; i++) {
		if ((i & BLOCK_MASK) === 0)
			for (let k = KIND_WAIT; k <= KIND_UNKNOWN; k++)
				sums[k][i >> BLOCK_SHIFT] = total[k];
		total[kind[i] & 3] += end[i] - start[i];
	}
	if ((start.length & BLOCK_MASK) === 0)
		for (let k = KIND_WAIT; k <= KIND_UNKNOWN; k++)
			sums[k][blocks - 1] = total[k];
	return { start, end, kind, gil, sums };
}

/**
 * The first interval in [from, last) that ends after TIME; LAST when there is none. Cheap when the
 * answer is near FROM.
 * @param {Intervals} intervals
 * @param {number} from
 * @param {number} last
 * @param {number} time
 */
export function firstEndingAfter(intervals, from, last, time) {
	const { end } = intervals;
	let step = 1;
	let low = from;
	while (low + step <= last && end[low + step - 1] <= time) {
		low += step;
		step *= 2;
	}
	let high = Math.min(last, low + step - 1);
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (end[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/**
 * Adds to SUMS the time of each kind in the whole intervals [from, last).
 * @param {Intervals} intervals
 * @param {number} from
 * @param {number} last
 * @param {Sums} sums
 */
export function addSums(intervals, from, last, sums) {
	const { start, end, kind } = intervals;
	if (last - from > 2 << BLOCK_SHIFT) {
		const low = (from + BLOCK_MASK) >> BLOCK_SHIFT;
		const high = last >> BLOCK_SHIFT;
		const { sums: blocks } = intervals;
		sums.wait += blocks[KIND_WAIT][high] - blocks[KIND_WAIT][low];
		sums.has += blocks[KIND_HAS][high] - blocks[KIND_HAS][low];
		sums.unknown += blocks[KIND_UNKNOWN][high] - blocks[KIND_UNKNOWN][low];
		addSums(intervals, from, low << BLOCK_SHIFT, sums);
		addSums(intervals, high << BLOCK_SHIFT, last, sums);
		return;
	}
	for (let i = from; i < last; i++)
		addPart(sums, kind[i], end[i] - start[i]);
}

/**
 * @param {Sums} sums
 * @param {number} kind
 * @param {number} ns
 */
export function addPart(sums, kind, ns) {
	if (kind === KIND_HAS)
		sums.has += ns;
	else if (kind === KIND_WAIT)
		sums.wait += ns;
	else
		sums.unknown += ns;
}

/**
 * The time of each kind between two moments of a lane, and how many intervals it touches.
 * @param {Intervals} intervals
 * @param {Lane} lane
 * @param {number} from
 * @param {number} to
 */
export function sumRange(intervals, lane, from, to) {
	const sums = { has: 0, wait: 0, unknown: 0 };
	const { start, end, kind } = intervals;
	const first = firstEndingAfter(intervals, lane.first, lane.last, from);
	const behind = firstEndingAfter(intervals, first, lane.last, to);
	addSums(intervals, first, behind, sums);
	if (first < behind && start[first] < from)
		addPart(sums, kind[first], start[first] - from);
	let count = behind - first;
	if (behind < lane.last && start[behind] < to) {
		addPart(sums, kind[behind], Math.min(end[behind], to) - Math.max(start[behind], from));
		count++;
	}
	return { ...sums, count };
}

/**
 * The interval of LANE at TIME; -1 when it neither has nor wants the GIL then.
 * @param {Intervals} intervals
 * @param {Lane} lane
 * @param {number} time
 */
export function intervalAt(intervals, lane, time) {
	const i = firstEndingAfter(intervals, lane.first, lane.last, time);
	return i < lane.last && intervals.start[i] <= time ? i : -1;
}

/**
 * Who held the GIL that INTERVAL waits for meanwhile, most first; lane null: nobody.
 * @param {Intervals} intervals
 * @param {Lane[]} lanes
 * @param {Lane} waiter
 * @param {number} interval
 * @returns {{lane: Lane | null, ns: number}[]}
 */
export function holdersDuring(intervals, lanes, waiter, interval) {
	const { start, end, kind, gil } = intervals;
	const from = start[interval];
	const to = end[interval];
	/** @type {{lane: Lane | null, ns: number}[]} */
	const holders = [];
	let nobody = to - from;
	for (const lane of lanes) {
		if (lane.process !== waiter.process || lane === waiter)
			continue;
		let ns = 0;
		let i = firstEndingAfter(intervals, lane.first, lane.last, from);
		for (; i < lane.last && start[i] < to; i++)
			if (kind[i] === KIND_HAS && (gil[i] === gil[interval] || gil[interval] === 0))
				ns += Math.min(end[i], to) - Math.max(start[i], from);
		if (ns > 0)
			holders.push({ lane, ns });
		nobody -= ns;
	}
	if (nobody > 0)
		holders.push({ lane: null, ns: nobody });
	return holders.sort((a, b) => b.ns - a.ns);
}
