// SPDX-License-Identifier: MIT
/* The sums behind a GIL's lane, without a browser. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { columnsOfIntervals, columnsOfParts, hasFew, makeColumns } from '../../lib/render/viewer/gil_columns.js';
import { OTHERS, holderColours, makeGilLanes, sumBefore, sumParts } from '../../lib/render/viewer/gils.js';
import { holdingIn } from '../../lib/render/viewer/gil_details.js';
import { KIND_HAS, KIND_WAIT, holdersDuring, makeIntervals, sumRange } from '../../lib/render/viewer/lanes.js';
import { heldDuring } from '../../lib/render/viewer/arrow.js';
import { makePage, page, readPage } from './pages.mjs';

/**
 * @param {import('../../lib/render/viewer/gils.js').GilLane} gilLane
 * @param {import('../../lib/render/viewer/lanes.js').Intervals} intervals
 * @param {Uint8Array} colours
 * @param {number} duration
 */
function sumAll(gilLane, intervals, colours, duration) {
	const sums = sumParts(gilLane, intervals, colours, duration);
	for (;;) {
		const step = sums.next();
		if (step.done)
			return step.value;
	}
}

/** @param {Iterable<number>} values */
function total(values) {
	let sum = 0;
	for (const value of values)
		sum += value;
	return sum;
}

/** @param {number} a @param {number} b @param {number} share that they may differ by */
function near(a, b, share, text = '') {
	assert.ok(Math.abs(a - b) <= share * Math.max(1, Math.abs(b)), `${text}: ${a} is not ${b}`);
}

describe('lanes of GILs', { skip: makePage ? false : 'make_page is not built' }, () => {
	for (const scenario of ['two', 'service', 'processes', 'many', 'lossy', 'stacks'])
		test(`${scenario}: a GIL's lane has the summary's sums`, async () => {
			const { html, summary } = page(scenario);
			const { report, lanes, intervals } = await readPage(html);
			const colours = holderColours(lanes);
			const gilLanes = makeGilLanes(report, lanes);
			const duration = report.duration_ns;
			assert.deepEqual(
				gilLanes.map(({ id }) => id),
				summary.processes.flatMap(({ gils }) => gils.map(({ id }) => id)),
			);
			for (const gilLane of gilLanes) {
				const { gil, process } = gilLane;
				const waits = total(process.threads.map(({ gil_wait_ns }) => gil_wait_ns ?? NaN));
				const parts = sumAll(gilLane, intervals, colours, duration);
				assert.equal(total(parts.held.map((sums) => sums[parts.count])), gil.held_ns);
				assert.equal(parts.waited[parts.count], gil.waited_ns);
				assert.equal(parts.waited[parts.count], waits);
				/* Each thread that has a colour of its own. */
				for (const lane of gilLane.lanes)
					if (colours[lane.index] < OTHERS)
						assert.equal(parts.held[colours[lane.index]][parts.count], lane.thread.has_gil_ns);

				/* The most that wait at once. */
				/** @type {number[][]} */
				const events = [];
				for (const { first, last } of gilLane.lanes)
					for (let i = first; i < last; i++)
						if (intervals.kind[i] === KIND_WAIT)
							events.push([intervals.start[i], 1], [intervals.end[i], -1]);
				events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
				let waiting = 0;
				let peak = 0;
				for (const [, step] of events)
					peak = Math.max(peak, (waiting += step));
				assert.equal(parts.peak, peak);

				/* Columns of pixels, by both ways, from all of the trace to little of it. */
				const width = 700;
				const columns = makeColumns(width);
				const rough = makeColumns(width);
				for (const zoom of [1, 3, 40, 900]) {
					const from = (duration - duration / zoom) * 0.37;
					const view = { from, to: from + duration / zoom, width, duration };
					const ns = duration / zoom / width;
					columnsOfIntervals(columns, gilLane, intervals, colours, view);
					const sums = gilLane.lanes.map((lane) => sumRange(intervals, lane, view.from, view.to).sums);
					const held = total(sums.map((sum) => sum[KIND_HAS]));
					const waited = total(sums.map((sum) => sum[KIND_WAIT]));
					near(total(columns.held.map(total)) * ns, held, 1e-6, 'held');
					near(total(columns.waiters) * ns, waited, 1e-6, 'waited');
					for (const x of [0, 1, 77, 350, width - 1]) {
						const pixel = gilLane.lanes.map(
							(lane) => sumRange(intervals, lane, view.from + x * ns, view.from + (x + 1) * ns).sums,
						);
						near(total(columns.held.map((one) => one[x])), total(pixel.map((sum) => sum[KIND_HAS])) / ns, 1e-4);
						near(columns.waiters[x], total(pixel.map((sum) => sum[KIND_WAIT])) / ns, 1e-4);
						assert.ok(columns.most[x] >= columns.waiters[x] - 1e-4 && columns.most[x] <= peak);
					}
					columnsOfParts(rough, parts, view);
					near(total(rough.held.map(total)) * ns, held, 0.002 * zoom, 'held, by parts');
					near(total(rough.waiters) * ns, waited, 0.002 * zoom, 'waited, by parts');
				}
				assert.ok(hasFew(gilLane, intervals, { from: 0, to: duration, width, duration }, 1));
				const all = holdingIn(gilLane, intervals, 0, duration);
				assert.equal(total(all.holders.map(({ ns }) => ns)), gil.held_ns);
				assert.equal(all.waited, gil.waited_ns);
			}
		});

	test('arrows have the same shares as the text', async () => {
		const { report, lanes, intervals } = await readPage(page('service').html);
		assert.ok(report.intervals > 1000);
		let seen = 0;
		for (const lane of lanes)
			for (let i = lane.first; i < lane.last; i++) {
				if (intervals.kind[i] !== KIND_WAIT)
					continue;
				const told = holdersDuring(intervals, lanes, lane, i).filter((holder) => holder.lane);
				const drawn = heldDuring(intervals, lanes, lane, i);
				assert.deepEqual(drawn.map(({ lane: holder, ns }) => ({ lane: holder, ns })), told);
				for (const { from, to, ns } of drawn)
					assert.ok(from >= intervals.start[i] && to <= intervals.end[i] && to - from <= ns && to > from);
				seen++;
			}
		assert.ok(seen > 500);
	});

	test('a process with two GILs has two lanes, each with its own', () => {
		/* One thread holds first the one and then the other; another waits for the second. */
		const intervals = makeIntervals(
			Float64Array.of(0, 100, 100, 300),
			Float64Array.of(100, 300, 250, 400),
			Uint8Array.of(KIND_HAS, KIND_HAS, KIND_WAIT, KIND_HAS),
			Uint16Array.of(1, 2, 2, 2),
			4,
		);
		const process = {
			gils: [
				{ id: 0, address: '0x1', held_ns: 100, waited_ns: 0 },
				{ id: 1, address: '0x2', held_ns: 300, waited_ns: 150 },
				{ id: 2, address: '0x3', held_ns: 0, waited_ns: 0 },
			],
			threads: [],
		};
		const lanes = /** @type {import('../../lib/render/viewer/lanes.js').Lane[]} */ (
			/** @type {unknown} */ ([
				{ index: 0, first: 0, last: 2, process, thread: { has_gil_ns: 300 } },
				{ index: 1, first: 2, last: 4, process, thread: { has_gil_ns: 100 } },
			])
		);
		const report = /** @type {import('../../lib/render/viewer/report.js').ReportMeta} */ (
			/** @type {unknown} */ ({ summary: { processes: [process] }, duration_ns: 400 })
		);
		const gilLanes = makeGilLanes(report, lanes);
		assert.deepEqual(gilLanes.map(({ id, alone }) => [id, alone]), [[0, false], [1, false]]);
		const colours = holderColours(lanes);
		assert.deepEqual([...colours], [0, 1]);
		const [one, other] = gilLanes.map((lane) => sumAll(lane, intervals, colours, 400));
		assert.deepEqual(one.held.slice(0, 2).map((sums) => sums[one.count]), [100, 0]);
		assert.deepEqual(other.held.slice(0, 2).map((sums) => sums[other.count]), [200, 100]);
		assert.equal(one.waited[one.count], 0);
		assert.equal(other.waited[other.count], 150);
		assert.equal(sumBefore(other, other.waited, 200), 100);
		const columns = makeColumns(4);
		columnsOfIntervals(columns, gilLanes[1], intervals, colours, { from: 0, to: 400, width: 4, duration: 400 });
		assert.deepEqual([...columns.held[0]], [0, 1, 1, 0]);
		assert.deepEqual([...columns.held[1]], [0, 0, 0, 1]);
		assert.deepEqual([...columns.waiters], [0, 1, 0.5, 0]);
		/* Who begins at an edge is on both sides of it. */
		assert.deepEqual([...columns.most], [1, 1, 1, 0]);
		assert.equal(columns.holder[2], 1);
	});
});
