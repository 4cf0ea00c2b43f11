// SPDX-License-Identifier: MIT
/*
 * What each thread did with the GIL, and what the scheduler did with it, in arrays that can be asked in
 * logarithmic time: which interval is at a moment, and how much of a range was of each kind, whatever
 * its length.
 */

import { readColumn } from './columns.js';

export const KIND_WAIT = 1;
export const KIND_HAS = 2;
export const KIND_UNKNOWN = 3;

/* Numbers that kinds have; 0 is what is not in the list. Of states, see the report's state_kinds. */
const GIL_KINDS = 4;

/* Sums are kept at every 16th interval: the rest is added when asked. */
const BLOCK_SHIFT = 4;
const BLOCK_MASK = (1 << BLOCK_SHIFT) - 1;
/* So many are as well added one by one. */
const FEW = 1 << BLOCK_SHIFT;

/**
 * A part of a list of intervals: that of one thread.
 * @typedef {object} Span
 * @property {number} start of the thread's life
 * @property {number} end
 * @property {number} first its first interval
 * @property {number} last behind its last interval
 */

/**
 * @typedef {object} LaneOnly
 * @property {import('./report.js').Thread} thread
 * @property {import('./report.js').Process} process
 * @property {number} index
 * @property {Span | null} states its part of the states, when they were recorded
 */

/** A thread, and its part of the intervals of the GIL. @typedef {Span & LaneOnly} Lane */

/** Times by kind. @typedef {Float64Array | number[]} Sums */

/**
 * @typedef {object} Intervals
 * @property {Float64Array} start
 * @property {Float64Array} end
 * @property {Uint8Array} kind
 * @property {Uint32Array | Uint16Array} gil number of the GIL + 1; 0 when it is not known; of states none
 * @property {Uint32Array} stack of states, where stacks were recorded; 0 when it is not known
 * @property {number} kinds numbers that kinds have, with 0
 * @property {Float64Array} sums of each block, for the kinds from 1 on: time in the intervals before it. They
 *   lie beside each other: what is asked for together is in one place of the memory.
 * @property {{end: Float64Array}} blocks those that are whole: the end of the last interval of each
 */

/**
 * Room to sum up one part of a list after the other.
 * @typedef {object} Tally
 * @property {Float64Array} sums of the part that was summed up last, by kind
 * @property {number} at behind that part
 * @property {Float64Array} before of all intervals before AT
 * @property {Float64Array} behind
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @returns {Lane[]}
 */
export function makeLanes(report) {
	let first = 0;
	let firstState = 0;
	return report.lanes.map((meta, index) => {
		const process = report.summary.processes[meta.process];
		const { start_ns: start, end_ns: end } = meta;
		const states =
			meta.states === undefined
				? null
				: { start, end, first: firstState, last: firstState + meta.states };
		const lane = {
			thread: process.threads[meta.thread],
			process,
			index,
			start,
			end,
			first,
			last: first + meta.intervals,
			states,
		};
		first = lane.last;
		firstState += meta.states ?? 0;
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
	addUp(start, end, lanes);
	return makeIntervals(start, end, kind, gil, GIL_KINDS);
}

/**
 * The states of all threads; null when none were recorded.
 * @param {import('./report.js').ReportMeta} report
 * @param {Lane[]} lanes
 * @returns {Promise<Intervals | null>}
 */
export async function readStates(report, lanes) {
	const count = report.states;
	if (count === undefined)
		return null;
	const start = new Float64Array(count);
	const end = new Float64Array(count);
	const kind = new Uint8Array(count);

	const kinds = report.state_kinds ?? [];
	const stack = new Uint32Array(report.stacks ? count : 0);

	await readColumn('state-kind', kind);
	await readColumn('state-gap', start);
	await readColumn('state-length', end);
	if (report.stacks)
		await readColumn('state-stack', stack);
	/* As they stand in the list of kinds, from 1 on. */
	const places = new Uint8Array(256);
	kinds.forEach(({ number }, place) => (places[number] = place + 1));
	for (let i = 0; i < count; i++)
		kind[i] = places[kind[i]];
	addUp(
		start,
		end,
		lanes.flatMap((lane) => lane.states ?? []),
	);
	return makeIntervals(start, end, kind, new Uint16Array(0), kinds.length + 1, stack);
}

/**
 * Makes moments of gaps and lengths.
 * @param {Float64Array} start
 * @param {Float64Array} end
 * @param {Span[]} spans
 */
function addUp(start, end, spans) {
	for (const span of spans) {
		let time = 0;
		for (let i = span.first; i < span.last; i++) {
			time = start[i] += time;
			time = end[i] += time;
		}
	}
}

/**
 * @param {Float64Array} start
 * @param {Float64Array} end
 * @param {Uint8Array} kind
 * @param {Uint32Array | Uint16Array} gil
 * @param {number} kinds
 * @param {Uint32Array} [stack]
 * @returns {Intervals}
 */
export function makeIntervals(start, end, kind, gil, kinds, stack = new Uint32Array(0)) {
	const blocks = (start.length >> BLOCK_SHIFT) + 1;
	const sums = new Float64Array(blocks * (kinds - 1));
	const ends = new Float64Array(start.length >> BLOCK_SHIFT);
	for (let block = 0; block < ends.length; block++)
		ends[block] = end[(block << BLOCK_SHIFT) | BLOCK_MASK];
	const total = noSums(kinds);
	let next = 0;
	for (let i = 0; i < start.length; i++) {
		if (kind[i] === 0 || kind[i] >= kinds)
			throw new Error('an interval is of no known kind');
		if ((i & BLOCK_MASK) === 0)
			for (let k = 1; k < kinds; k++)
				sums[next++] = total[k];
		total[kind[i]] += end[i] - start[i];
	}
	if ((start.length & BLOCK_MASK) === 0)
		for (let k = 1; k < kinds; k++)
			sums[next++] = total[k];
	return { start, end, kind, gil, stack, kinds, sums, blocks: { end: ends } };
}

/**
 * @param {number} kinds
 * @returns {Sums}
 */
export function noSums(kinds) {
	return new Float64Array(kinds);
}

/**
 * The first interval in [from, last) that ends after TIME; LAST when there is none. Cheap when the
 * answer is near FROM.
 * @param {{end: Float64Array}} intervals
 * @param {number} from
 * @param {number} last
 * @param {number} time
 * @param {number} [step] how far to look first
 */
export function firstEndingAfter(intervals, from, last, time, step = 1) {
	const { end } = intervals;
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
 * The same where the answer is about ABOUT intervals away, and these are many: they are looked for by blocks.
 * @param {Intervals} intervals
 * @param {number} from
 * @param {number} last
 * @param {number} time
 * @param {number} about
 */
export function firstEndingFar(intervals, from, last, time, about) {
	/* Of whole blocks: a block at the edge may be another span's as well. */
	const low = (from + BLOCK_MASK) >> BLOCK_SHIFT;
	const high = last >> BLOCK_SHIFT;
	if (low >= high)
		return firstEndingAfter(intervals, from, last, time);
	const block = firstEndingAfter(intervals.blocks, low, high, time, 1 + (about >> BLOCK_SHIFT));
	const start = block > low ? block << BLOCK_SHIFT : from;
	const stop = block < high ? (block << BLOCK_SHIFT) + BLOCK_MASK : last;
	return firstEndingAfter(intervals, start, stop, time, (BLOCK_MASK + 1) >> 1);
}

/**
 * Adds to SUMS the time of each kind in the whole intervals [from, last).
 * @param {Intervals} intervals
 * @param {number} from
 * @param {number} last
 * @param {Sums} sums
 */
export function addSums(intervals, from, last, sums) {
	const { start, end, kind, kinds, sums: blocks } = intervals;
	if (last - from > FEW) {
		/* The parts of blocks at both ends are short. */
		const low = (from + BLOCK_MASK) >> BLOCK_SHIFT;
		const high = last >> BLOCK_SHIFT;
		for (let k = 1, a = low * (kinds - 1), z = high * (kinds - 1); k < kinds; k++)
			sums[k] += blocks[z++] - blocks[a++];
		addSums(intervals, from, low << BLOCK_SHIFT, sums);
		addSums(intervals, high << BLOCK_SHIFT, last, sums);
		return;
	}
	for (let i = from; i < last; i++)
		sums[kind[i]] += end[i] - start[i];
}

/**
 * @param {number} kinds
 * @returns {Tally}
 */
export function makeTally(kinds) {
	return { sums: new Float64Array(kinds), at: -1, before: new Float64Array(kinds), behind: new Float64Array(kinds) };
}

/**
 * Time of each kind in all intervals before one.
 * @param {Intervals} intervals
 * @param {number} at
 * @param {Float64Array} sums filled
 */
function sumAllBefore(intervals, at, sums) {
	const { start, end, kind, kinds, sums: blocks } = intervals;
	const block = at >> BLOCK_SHIFT;
	for (let k = 1, z = block * (kinds - 1); k < kinds; k++)
		sums[k] = blocks[z++];
	for (let i = block << BLOCK_SHIFT; i < at; i++)
		sums[kind[i]] += end[i] - start[i];
}

/**
 * Fills the sums of TALLY with the time of each kind in the whole intervals [from, last). Cheap when FROM is
 * where the part before ended.
 * @param {Intervals} intervals
 * @param {Tally} tally
 * @param {number} from
 * @param {number} last
 */
export function tallyPart(intervals, tally, from, last) {
	const { sums, before, behind } = tally;
	if (last - from <= FEW) {
		/* To call fill() takes longer than a few numbers. */
		for (let k = 0; k < sums.length; k++)
			sums[k] = 0;
		addSums(intervals, from, last, sums);
		return;
	}
	if (tally.at !== from)
		sumAllBefore(intervals, from, before);
	sumAllBefore(intervals, last, behind);
	for (let k = 1; k < sums.length; k++)
		sums[k] = behind[k] - before[k];
	tally.at = last;
	tally.before = behind;
	tally.behind = before;
}

/**
 * The time of each kind between two moments of a span, and how many intervals it touches.
 * @param {Intervals} intervals
 * @param {Span} span
 * @param {number} from
 * @param {number} to
 */
export function sumRange(intervals, span, from, to) {
	const sums = noSums(intervals.kinds);
	const { start, end, kind } = intervals;
	const first = firstEndingAfter(intervals, span.first, span.last, from);
	const behind = firstEndingAfter(intervals, first, span.last, to);
	addSums(intervals, first, behind, sums);
	if (first < behind && start[first] < from)
		sums[kind[first]] += start[first] - from;
	let count = behind - first;
	if (behind < span.last && start[behind] < to) {
		sums[kind[behind]] += Math.min(end[behind], to) - Math.max(start[behind], from);
		count++;
	}
	return { sums, count };
}

/**
 * The interval of SPAN at TIME; -1 when there is none.
 * @param {Intervals} intervals
 * @param {Span} span
 * @param {number} time
 */
export function intervalAt(intervals, span, time) {
	const i = firstEndingAfter(intervals, span.first, span.last, time);
	return i < span.last && intervals.start[i] <= time ? i : -1;
}

/**
 * Whether what is so long may stand for many that were merged. Whatever is shorter than a quantum has lost
 * its place in it, even if it was alone.
 * @param {import('./report.js').ReportMeta} report
 * @param {number} length
 */
export function isMerged(report, length) {
	return report.folded !== undefined && length <= report.folded.quantum_ns;
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
