// SPDX-License-Identifier: MIT
/*
 * What a GIL's lane shows in each column of pixels: how long each colour of holders held it, and how many
 * waited. Where few intervals are in the view, they are looked at; else the sums over parts are.
 */

import { HOLDER_COLOURS, OTHERS, isOf, sumBefore } from './gils.js';
import { KIND_HAS, KIND_WAIT, firstEndingAfter } from './lanes.js';

/* More intervals than this are not looked at in a frame. */
const MOST_INTERVALS = 100000;
/* A hold of so many pixels has sharp edges. */
const SHARP_PIXELS = 1.5;

/**
 * By column of pixels; times are parts of the column's time.
 * @typedef {object} Columns
 * @property {number} width
 * @property {Float64Array[]} held by colour
 * @property {Float64Array} waiters mean of how many waited
 * @property {Float64Array} most how many waited at once, if not more
 * @property {Uint8Array} mixed whether holds lie in it that have no width
 * @property {Int32Array} holder lane that held it throughout, + 1
 * @property {Float64Array} whole for counting, as are the others
 * @property {Float64Array} crossing
 */

/**
 * @param {number} width
 * @returns {Columns}
 */
export function makeColumns(width) {
	return {
		width,
		held: Array.from({ length: HOLDER_COLOURS }, () => new Float64Array(width)),
		waiters: new Float64Array(width),
		most: new Float64Array(width),
		mixed: new Uint8Array(width),
		holder: new Int32Array(width),
		whole: new Float64Array(width + 2),
		crossing: new Float64Array(width + 2),
	};
}

/**
 * Whether the view has few enough intervals to look at each.
 * @param {import('./gils.js').GilLane} gilLane
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./view.js').View} view
 * @param {number} lanes of GILs that are drawn besides
 */
export function hasFew(gilLane, intervals, view, lanes) {
	let count = 0;
	for (const { first, last } of gilLane.lanes) {
		const from = firstEndingAfter(intervals, first, last, view.from);
		count += firstEndingAfter(intervals, from, last, view.to) - from;
	}
	return count <= MOST_INTERVALS / Math.max(1, lanes);
}

/**
 * Fills COLUMNS from the intervals themselves.
 * @param {Columns} columns
 * @param {import('./gils.js').GilLane} gilLane
 * @param {import('./lanes.js').Intervals} intervals
 * @param {Uint8Array} colours by lane
 * @param {import('./view.js').View} view
 */
export function columnsOfIntervals(columns, gilLane, intervals, colours, view) {
	const { width, waiters, most, mixed, holder, whole, crossing } = columns;
	const { start, end, kind, gil } = intervals;
	const { from, to } = view;
	const scale = width / (to - from);

	for (const array of [...columns.held, waiters, mixed, holder, whole, crossing])
		array.fill(0);
	for (const lane of gilLane.lanes) {
		const { last, index } = lane;
		const held = columns.held[Math.min(colours[index], OTHERS)];
		let i = firstEndingAfter(intervals, lane.first, last, from);
		for (; i < last && start[i] < to; i++) {
			if (!isOf(gilLane, gil[i]))
				continue;
			const a = Math.max(0, (start[i] - from) * scale);
			const z = Math.min(width, (end[i] - from) * scale);
			const x0 = Math.min(width - 1, Math.floor(a));
			const x1 = Math.min(width - 1, Math.floor(z));
			if (kind[i] === KIND_HAS) {
				if ((end[i] - start[i]) * scale < SHARP_PIXELS)
					mixed[x0] = mixed[x1] = 1;
				if (x0 === x1) {
					held[x0] += z - a;
					continue;
				}
				held[x0] += x0 + 1 - a;
				held[x1] += z - x1;
				for (let x = x0 + 1; x < x1; x++) {
					held[x] += 1;
					holder[x] = index + 1;
				}
			} else if (kind[i] === KIND_WAIT) {
				crossing[Math.ceil(a)]++;
				crossing[Math.ceil(z)]--;
				if (x0 === x1) {
					waiters[x0] += z - a;
					continue;
				}
				waiters[x0] += x0 + 1 - a;
				waiters[x1] += z - x1;
				whole[x0 + 1]++;
				whole[x1]--;
			}
		}
	}
	let through = 0;
	let before = 0;
	for (let x = 0; x < width; x++) {
		through += whole[x];
		waiters[x] += through;
		before += crossing[x];
		most[x] = Math.max(before, before + crossing[x + 1], Math.ceil(waiters[x] - 1e-6));
	}
}

/**
 * Fills COLUMNS from the sums over parts.
 * @param {Columns} columns
 * @param {import('./gils.js').Parts} parts
 * @param {import('./view.js').View} view
 */
export function columnsOfParts(columns, parts, view) {
	const { width, waiters, most, mixed, holder } = columns;
	const ns = (view.to - view.from) / width;
	/** @param {Float64Array} values @param {Float64Array} sums */
	const spread = (values, sums) => {
		let before = sumBefore(parts, sums, view.from);
		for (let x = 0; x < width; x++) {
			const behind = sumBefore(parts, sums, view.from + (x + 1) * ns);
			values[x] = (behind - before) / ns;
			before = behind;
		}
	};
	mixed.fill(1);
	holder.fill(0);
	columns.held.forEach((values, colour) => {
		const sums = parts.held[colour];
		if (sums[parts.count] > 0)
			spread(values, sums);
		else
			values.fill(0);
	});
	spread(waiters, parts.waited);
	for (let x = 0; x < width; x++) {
		const first = Math.floor((view.from + x * ns) / parts.length);
		const last = Math.ceil((view.from + (x + 1) * ns) / parts.length);
		let highest = 0;
		for (let part = Math.max(0, first); part < last && part < parts.count; part++)
			highest = Math.max(highest, parts.most[part]);
		most[x] = highest;
	}
}
