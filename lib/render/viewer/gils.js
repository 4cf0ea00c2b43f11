// SPDX-License-Identifier: MIT
/*
 * The GILs that have a lane of their own, and the colours of those who hold them. Of each GIL, how long it
 * was held and waited for is summed up once over equal parts of the trace, so that a view of any length
 * costs as much as it has pixels.
 */

import { KIND_HAS, KIND_WAIT } from './lanes.js';

/* Those of a process that hold its GILs longest have a colour each, all others this one. */
export const OTHERS = 8;
export const HOLDER_COLOURS = OTHERS + 1;
/* Of a thread that never held a GIL. */
export const NO_COLOUR = 255;

/* A part of the trace for so many intervals, but not more parts than this. */
const INTERVALS_PER_PART = 64;
const MOST_PARTS = 1 << 16;
const LEAST_PARTS = 1 << 10;
/* Parts × threads are looked at. */
const MOST_STEPS = 1 << 25;
/* So many events are sorted by hand. */
const FEW_EVENTS = 40;

/**
 * @typedef {object} GilLane
 * @property {number} id in the report's list of GILs
 * @property {import('./report.js').Process} process
 * @property {import('./report.js').Gil} gil
 * @property {import('./lanes.js').Lane[]} lanes of its process
 * @property {boolean} alone no other GIL of the process was held: waits for an unknown one are for this
 * @property {Parts | null} parts null until they have been summed up
 */

/**
 * Sums over equal parts of the trace; [i]: of all parts before i.
 * @typedef {object} Parts
 * @property {number} count
 * @property {number} length of each, in ns
 * @property {Float64Array[]} held by colour of the holder
 * @property {Float64Array} waited of all that waited
 * @property {Uint16Array} most in each part: how many waited at once
 * @property {number} peak the most of all
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Lane[]} lanes
 * @returns {GilLane[]} by process
 */
export function makeGilLanes(report, lanes) {
	/** @type {Map<import('./report.js').Process, import('./lanes.js').Lane[]>} */
	const lanesOf = new Map();
	for (const lane of lanes) {
		const others = lanesOf.get(lane.process) ?? [];
		others.push(lane);
		lanesOf.set(lane.process, others);
	}
	return report.summary.processes.flatMap((process) => {
		const held = process.gils.filter((gil) => gil.held_ns > 0);
		return held.map((gil) => ({
			id: gil.id,
			process,
			gil,
			lanes: lanesOf.get(process) ?? [],
			alone: held.length === 1,
			parts: null,
		}));
	});
}

/**
 * The colour of each lane: how many of its process hold the GIL longer, if those are few.
 * @param {import('./lanes.js').Lane[]} lanes
 */
export function holderColours(lanes) {
	const colours = new Uint8Array(lanes.length).fill(NO_COLOUR);
	/** @param {import('./lanes.js').Lane} lane */
	const held = (lane) => lane.thread.has_gil_ns ?? 0;
	const ranks = new Map();
	for (const lane of lanes.filter((candidate) => held(candidate) > 0).sort((a, b) => held(b) - held(a))) {
		const rank = ranks.get(lane.process) ?? 0;
		ranks.set(lane.process, rank + 1);
		colours[lane.index] = Math.min(rank, OTHERS);
	}
	return colours;
}

/**
 * Whether an interval is about a GIL.
 * @param {GilLane} lane
 * @param {number} gil of the interval
 */
export function isOf(lane, gil) {
	return gil === lane.id + 1 || (gil === 0 && lane.alone);
}

/**
 * Sums up a GIL, part after part; it may be left alone for a while where it yields.
 * @param {GilLane} gilLane
 * @param {import('./lanes.js').Intervals} intervals
 * @param {Uint8Array} colours by lane
 * @param {number} duration of the trace
 * @returns {Generator<void, Parts>}
 */
export function* sumParts(gilLane, intervals, colours, duration) {
	const { lanes } = gilLane;
	const { start, end, kind, gil } = intervals;
	const all = lanes.reduce((sum, lane) => sum + lane.last - lane.first, 0);
	const wanted = Math.min(all / INTERVALS_PER_PART, MOST_PARTS, MOST_STEPS / lanes.length);
	/* Whole nanoseconds: sums are exact. */
	const length = Math.max(1, Math.ceil(duration / Math.max(LEAST_PARTS, wanted)));
	const count = Math.max(1, Math.ceil(duration / length));
	const held = Array.from({ length: HOLDER_COLOURS }, () => new Float64Array(count + 1));
	const waited = new Float64Array(count + 1);
	const most = new Uint16Array(count);
	const next = Uint32Array.from(lanes, (lane) => lane.first);
	/* Most threads do nothing in most parts: when their next interval begins is kept at hand. */
	const nextStart = Float64Array.from(lanes, ({ first, last }) => (first < last ? start[first] : Infinity));
	const own = gilLane.id + 1;
	const unknown = gilLane.alone ? 0 : own;
	let events = new Float64Array(256);
	let waiting = 0;
	let peak = 0;

	for (let part = 0; part < count; part++) {
		const from = part * length;
		const to = part + 1 < count ? from + length : Infinity;
		let eventCount = 0;
		for (let k = 0; k < next.length; k++) {
			if (nextStart[k] >= to)
				continue;
			const { last, index } = lanes[k];
			const sums = held[Math.min(colours[index], OTHERS)];
			let i = next[k];
			for (; i < last && start[i] < to; i++) {
				const a = start[i];
				const z = end[i];
				const ns = (z < to ? z : to) - (a > from ? a : from);
				const isOwn = gil[i] === own || gil[i] === unknown;
				if (isOwn && kind[i] === KIND_HAS) {
					sums[part + 1] += ns;
				} else if (isOwn && kind[i] === KIND_WAIT) {
					waited[part + 1] += ns;
					if (eventCount + 2 > events.length) {
						const larger = new Float64Array(2 * events.length);
						larger.set(events);
						events = larger;
					}
					/* Who ends at a moment comes before who begins. */
					if (a >= from)
						events[eventCount++] = a * 2 + 1;
					if (z <= to)
						events[eventCount++] = z * 2;
				}
				if (z > to)
					break;
			}
			next[k] = i;
			nextStart[k] = i < last ? start[i] : Infinity;
		}
		let highest = waiting;
		sortFew(events, eventCount);
		for (let i = 0; i < eventCount; i++) {
			const half = events[i] / 2;
			waiting += half === Math.floor(half) ? -1 : 1;
			if (waiting > highest)
				highest = waiting;
		}
		most[part] = highest;
		peak = Math.max(peak, highest);
		for (const sums of held)
			sums[part + 1] += sums[part];
		waited[part + 1] += waited[part];
		if (part % 64 === 63)
			yield;
	}
	return { count, length, held, waited, most, peak };
}

/**
 * @param {Float64Array} values
 * @param {number} count sorted from the start on
 */
function sortFew(values, count) {
	if (count > FEW_EVENTS) {
		values.subarray(0, count).sort();
		return;
	}
	for (let i = 1; i < count; i++) {
		const value = values[i];
		let place = i;
		for (; place > 0 && values[place - 1] > value; place--)
			values[place] = values[place - 1];
		values[place] = value;
	}
}

/**
 * The sum before a moment, as if each part were even.
 * @param {Parts} parts
 * @param {Float64Array} sums of them
 * @param {number} time
 */
export function sumBefore(parts, sums, time) {
	const place = Math.min(parts.count, Math.max(0, time / parts.length));
	const part = Math.min(parts.count - 1, Math.floor(place));
	return sums[part] + (sums[part + 1] - sums[part]) * (place - part);
}
