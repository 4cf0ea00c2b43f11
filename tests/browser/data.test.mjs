// SPDX-License-Identifier: MIT
/* The page's data and how they are drawn, without a browser. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { varintReader } from '../../lib/render/viewer/columns.js';
import { formatCommand, formatDuration, formatShare, visibleText } from '../../lib/render/viewer/format.js';
import {
	KIND_HAS,
	KIND_UNKNOWN,
	KIND_WAIT,
	addSums,
	firstEndingAfter,
	firstEndingFar,
	makeIntervals,
	makeTally,
	sumRange,
	tallyPart,
} from '../../lib/render/viewer/lanes.js';
import { layOut, makeTree, markNames, sumMarked } from '../../lib/render/viewer/flame_tree.js';
import { drawLane, makeRaster } from '../../lib/render/viewer/raster.js';
import { roundStep, tickLabel } from '../../lib/render/viewer/ruler.js';
import { setRange, zoomAt } from '../../lib/render/viewer/view.js';
import { framesOf } from '../../lib/render/viewer/stacks.js';
import { legendOf, stateTexts } from '../../lib/render/viewer/states.js';
import { elementText, makePage, offCpu, page, readPage } from './pages.mjs';

const skip = makePage ? false : 'make_page is not built (meson compile, or set GILTRACE_MAKE_PAGE)';

describe('data', () => {
	for (const scenario of ['two', 'service', 'many', 'processes', 'lossy', 'hostile', 'empty'])
		test(`${scenario}: the lanes add up to the table`, { skip }, async () => {
			const { html, summary } = page(scenario);
			const { report, lanes, intervals } = await readPage(html);

			assert.deepEqual(report.summary, summary);
			assert.equal(
				lanes.length,
				summary.processes.reduce((sum, process) => sum + process.threads.length, 0),
			);
			for (const lane of lanes) {
				const { thread } = lane;
				const { sums } = sumRange(intervals, lane, lane.start, lane.end);
				assert.equal(lane.start, thread.start_ns - summary.start_ns);
				assert.equal(lane.end, thread.end_ns - summary.start_ns);
				assert.equal(sums[KIND_HAS], thread.has_gil_ns);
				assert.equal(sums[KIND_WAIT], thread.gil_wait_ns);
				assert.equal(sums[KIND_UNKNOWN], thread.unknown_ns);
				for (let i = lane.first + 1; i < lane.last; i++)
					assert.ok(intervals.start[i] >= intervals.end[i - 1]);
			}
		});

	for (const scenario of ['states', 'lossy-states', 'stacks', 'lossy-stacks'])
		test(`${scenario}: the bars of states add up to the table`, { skip }, async () => {
			const { html } = page(scenario);
			const { report, lanes, states } = await readPage(html);
			assert.ok(states);
			/**
			 * @param {import('../../lib/render/viewer/lanes.js').Sums} sums
			 * @param {(kind: import('../../lib/render/viewer/report.js').StateKind) => boolean} which
			 */
			const sum = (sums, which) =>
				(report.state_kinds ?? []).reduce(
					(total, kind, place) => total + (which(kind) ? sums[place + 1] : 0),
					0,
				);
			for (const { states: span, thread } of lanes) {
				assert.ok(span && thread.state);
				const { sums } = sumRange(states, span, span.start, span.end);
				const life = span.end - span.start;
				const running = sum(sums, ({ state }) => state === 'running');
				const runnable = sum(sums, ({ state }) => state === 'runnable');
				const unknown = sum(sums, ({ state }) => state === 'unknown');
				const disk = sum(sums, ({ state }) => state === 'uninterruptible');
				const forGil = sum(sums, ({ reason }) => reason === 'GIL');
				assert.equal(running, thread.state.running_ns);
				assert.equal(runnable, thread.state.runnable_ns);
				assert.equal(unknown, thread.state.unknown_ns);
				assert.equal(disk, thread.state.disk_ns ?? disk);
				assert.ok(forGil > 0 && forGil <= thread.state.sleep_ns);
				assert.equal(life - running - runnable - unknown - disk, thread.state.sleep_ns);
			}
		});

	test('stacks lead from a state to the first function', { skip }, async () => {
		const { report, lanes, states, stacks } = await readPage(page('stacks').html);
		assert.ok(states && stacks && report.state_kinds);
		/** @type {Record<string, string>} */
		const innermost = { GIL: 'futex_wait', read: 'pipe_read', poll: 'do_epoll_wait', sleep: 'hrtimer_nanosleep' };
		/** @type {Set<string>} */
		const seen = new Set();
		for (let i = 0; i < states.start.length; i++) {
			/** @type {import('../../lib/render/viewer/report.js').StateKind} */
			const kind = report.state_kinds[states.kind[i] - 1];
			const { reason, state } = kind;
			const frames = framesOf(stacks, states.stack[i]);
			if (state === 'running')
				assert.equal(frames.length, 0);
			if (!reason || !innermost[reason])
				continue;
			seen.add(reason);
			assert.equal(frames[0].name, innermost[reason]);
			assert.equal(frames[0].file, '');
			assert.match(frames[frames.length - 1].name, /^start_thread$|^\[cut\]$/);
		}
		assert.deepEqual([...seen].sort(), Object.keys(innermost).sort());
		/* A lane's reasons are those of its bars. */
		for (const { index, states: span } of lanes)
			for (const [reason, ns] of report.lanes[index].reasons ?? []) {
				let sum = 0;
				for (let i = span?.first ?? 0; i < (span?.last ?? 0); i++) {
					const kind = report.state_kinds[states.kind[i] - 1];
					if (kind.reason === reason && kind.state === 'sleeping')
						sum += states.end[i] - states.start[i];
				}
				assert.equal(sum, ns, reason);
			}
	});

	for (const scenario of ['stacks', 'lossy-stacks', 'hostile-stacks', 'unwatched-stacks'])
		test(`${scenario}: flame graphs add up to the table`, { skip }, async () => {
			const { html, summary } = page(scenario);
			const { flame } = await readPage(html);
			assert.ok(flame);
			const threads = summary.processes.flatMap((process) => process.threads);
			for (const which of /** @type {const} */ (['off_cpu', 'off_gil'])) {
				/** @type {import('../../lib/render/viewer/flame_tree.js').Tree} */
				const tree = flame.trees[which];
				const watched = summary.probe !== 'none';
				/** @param {typeof threads} some */
				const expected = (some) =>
					which === 'off_cpu'
						? offCpu(some)
						: some.reduce((sum, { gil_wait_ns }) => sum + (gil_wait_ns ?? 0), 0);
				if (which === 'off_cpu' || watched)
					assert.equal(tree.total[0], expected(threads));
				assert.ok(tree.total[0] > 0);
				/* Processes are at depth 1, threads at depth 2. */
				const nodes = [...tree.depth.keys()].filter((node) => tree.depth[node] === 2);
				assert.equal(nodes.length, threads.length);
				for (const node of watched || which === 'off_cpu' ? nodes : []) {
					/** @type {number} */
					const tid = Number(/\((\d+)\)$/.exec(flame.names[tree.name[node]])?.[1]);
					assert.equal(tree.total[node], expected(threads.filter((thread) => thread.tid === tid)));
				}
			}
		});

	test('a flame graph is laid out by its times', () => {
		/*      0: 100
		 *   1: 70      2: 30
		 *  3: 60  4: 5        */
		const tree = makeTree(
			Uint32Array.of(0, 0, 0, 1, 1),
			Uint32Array.of(0, 0, 1, 2, 1),
			Float64Array.of(0, 5, 30, 60, 5),
		);
		assert.deepEqual([...tree.total], [100, 70, 30, 60, 5]);
		assert.deepEqual(layOut(tree, 0, 200, 1), [
			[{ node: 0, x: 0, width: 200 }],
			[
				{ node: 1, x: 0, width: 140 },
				{ node: 2, x: 140, width: 60 },
			],
			[
				{ node: 3, x: 0, width: 120 },
				{ node: 4, x: 120, width: 10 },
			],
		]);
		assert.equal(layOut(tree, 0, 200, 11)[2].length, 1);
		assert.deepEqual(
			layOut(tree, 1, 70, 1).map((row) => row.map(({ width }) => width)),
			[[70], [70], [60, 5]],
		);
		const names = ['main', 'Read', 'lock'];
		assert.equal(sumMarked(tree, 0, markNames(names, 'read')), 35);
		assert.equal(sumMarked(tree, 1, markNames(names, 'READ')), 5);
		/* What is below a match is in it already. */
		assert.equal(sumMarked(tree, 0, markNames(names, 'a')), 100);
		assert.equal(sumMarked(tree, 0, markNames(names, '')), 0);
	});

	test('memory follows its process', { skip }, async () => {
		const { report, memory } = await readPage(page('stacks').html);
		assert.equal(memory.length, 2);
		for (const part of memory) {
			assert.equal(part.time.length, 300);
			assert.ok(part.time[299] < report.duration_ns && part.time[299] > 0.9 * report.duration_ns);
			assert.ok(part.most > 100e6 && part.most < 120e6);
			assert.ok(part.bytes[0] < part.most / 2);
		}
		assert.deepEqual((await readPage(page('states').html)).memory, []);
	});

	test('each state has its texts and its legend', () => {
		/** @type {import('../../lib/render/viewer/report.js').StateKind[]} */
		const kinds = [
			{ number: 1, state: 'running', name: null, reason: null },
			{ number: 2, state: 'sleeping', name: 'S(read)', reason: 'read' },
			{ number: 3, state: 'sleeping', name: 'S(poll)', reason: 'poll' },
			{ number: 4, state: 'uninterruptible', name: 'D(disk)', reason: 'disk' },
			{ number: 5, state: 'uninterruptible', name: 'D', reason: null },
			{ number: 6, state: 'sleeping', name: 'S(new)', reason: 'new' },
		];
		assert.deepEqual(
			legendOf(kinds, true).map(({ look, reasons }) => [look.swatch, reasons]),
			[
				['running', []],
				['sleep-io', ['read', 'poll']],
				['sleep-disk', ['disk']],
				['no', ['new']],
			],
		);
		assert.equal(stateTexts(kinds[1])[1], 'Sleeps for input or output: S(read)');
		assert.equal(stateTexts(kinds[4])[1], 'Sleeps, and cannot be interrupted');
		assert.deepEqual(stateTexts({ number: 6, state: 'uninterruptible', name: 'D(wait)', reason: 'wait' }), [
			'sleep-disk',
			'Sleeps, and cannot be interrupted: D(wait)',
			'D(wait)',
		]);
		assert.deepEqual(stateTexts(undefined), ['no', 'Sleeps', 'sleeping']);
		assert.deepEqual(stateTexts({ number: 7, state: 'sleeping', name: 'S', reason: null }), [
			'no',
			'Sleeps',
			'sleeping',
		]);
	});

	test('a page without states has nothing of them', { skip }, async () => {
		const { html, summary } = page('two');
		const { report, states, flame } = await readPage(html);
		assert.equal(states, null);
		assert.equal(flame, null);
		assert.equal(report.states, undefined);
		assert.ok(report.lanes.every((lane) => lane.states === undefined));
		assert.ok(summary.processes.every(({ threads }) => threads.every(({ state }) => state === null)));
		assert.doesNotMatch(html, /id="column-state/);
	});

	test('a page of a GIL that nobody watched has no intervals of it', { skip }, async () => {
		const { report, intervals, states } = await readPage(page('unwatched').html);
		assert.equal(intervals.start.length, 0);
		assert.ok(states && states.start.length > 0);
		assert.ok(report.lanes.every((lane) => lane.intervals === 0));
	});

	test('one holder at a time', { skip }, async () => {
		const { intervals } = await readPage(page('service').html);
		const holds = [...intervals.kind.keys()].filter((i) => intervals.kind[i] === KIND_HAS);
		holds.sort((a, b) => intervals.start[a] - intervals.start[b]);
		for (let k = 1; k < holds.length; k++)
			assert.ok(intervals.start[holds[k]] >= intervals.end[holds[k - 1]]);
	});

	test('an empty page is small, and names no host', { skip }, () => {
		const { html } = page('empty');
		assert.ok(html.length < 150000, `${html.length} bytes`);
		assert.doesNotMatch(html, /https?:\/\//);
	});

	test('hostile text cannot leave its element', { skip }, () => {
		const { html } = page('hostile');
		const stacks = page('hostile-stacks').html;
		assert.doesNotMatch(elementText(html, 'report'), /</);
		assert.doesNotMatch(elementText(stacks, 'names'), /</);
		assert.doesNotMatch(stacks, /<img/);
		assert.equal(stacks.match(/<script\b/g)?.length, page('stacks').html.match(/<script\b/g)?.length);
		assert.equal(html.match(/<script\b/g)?.length, page('two').html.match(/<script\b/g)?.length);
		assert.doesNotMatch(html, /<img/);
	});

	test('varints may be cut anywhere', () => {
		const values = new Float64Array(3);
		const reader = varintReader(values);
		for (const byte of [0x05, 0x80, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])
			reader.read(Uint8Array.of(byte));
		reader.end();
		assert.deepEqual([...values], [5, 128, 2 ** 49 - 1]);
		assert.throws(() => reader.read(Uint8Array.of(1)), /longer/);
		assert.throws(() => varintReader(new Uint8Array(1)).end(), /shorter/);
	});

	test('parts of a list are found and summed up alike by all ways to do it', () => {
		const count = 3000;
		const start = new Float64Array(count);
		const end = new Float64Array(count);
		const kind = new Uint8Array(count);
		for (let i = 0, time = 0; i < count; i++) {
			start[i] = time + (i % 3);
			time = end[i] = start[i] + 1 + ((i * 7919) % (i % 900 < 100 ? 500 : 13));
			kind[i] = 1 + ((i * i) % 5);
		}
		const intervals = makeIntervals(start, end, kind, new Uint16Array(count), 6);
		/* A span that ends in the middle of a block, as those of threads do. */
		const first = 21;
		const last = count - 5;
		for (let from = first; from <= last; from += 61)
			for (const time of [0, end[first], end[from], end[from] - 0.5, end[Math.min(last, from + 300)], Infinity]) {
				const wanted = firstEndingAfter(intervals, from, last, time);
				const plain = end.subarray(from, last).findIndex((value) => value > time);
				assert.equal(wanted, plain < 0 ? last : from + plain);
				for (const about of [0, 1, 17, wanted - from, count])
					assert.equal(firstEndingFar(intervals, from, last, time, about), wanted, `${from} ${time} ${about}`);
			}
		const tally = makeTally(6);
		for (let from = first, length = 1; from + length <= last; from += length, length = (length * 37) % 131) {
			/* Now and then a part begins elsewhere than where the one before ended. */
			from += length % 5 === 0 ? 1 : 0;
			tallyPart(intervals, tally, from, from + length);
			const wanted = new Float64Array(6);
			for (let i = from; i < from + length; i++)
				wanted[kind[i]] += end[i] - start[i];
			assert.deepEqual(tally.sums, wanted);
			const sums = [0, 0, 0, 0, 0, 0];
			addSums(intervals, from, from + length, sums);
			assert.deepEqual(sums, [...wanted]);
		}
	});

	test('columns of pixels are as high as the shares of their time', () => {
		let seed = 1;
		const random = () => (seed = (seed * 48271) % 0x7fffffff) / 0x7fffffff;
		const count = 5000;
		const start = new Float64Array(count);
		const end = new Float64Array(count);
		const kind = new Uint8Array(count);
		let time = 1000;
		for (let i = 0; i < count; i++) {
			/* Bursts of short ones between long ones. */
			const scale = i % 500 < 20 ? 30000 : 40;
			start[i] = time + (random() < 0.4 ? 0 : Math.round(random() * scale));
			time = end[i] = start[i] + 1 + Math.round(random() * scale);
			kind[i] = [KIND_HAS, KIND_WAIT, KIND_WAIT, KIND_UNKNOWN][Math.floor(random() * 4)];
		}
		const intervals = makeIntervals(start, end, kind, new Uint16Array(count), 4);
		/** @type {any} */
		const lane = { first: 0, last: count, start: 0, end: time };
		const palette = {
			...{ background: 0, alive: 0, grid: 0, has: 1, wait: 2, waitStripe: 2, unknown: 3, unknownDot: 3 },
			...{ running: 0, runnable: 0, runnableStripe: 0, sleepGil: 0, sleepGilLine: 0, memory: 0 },
			...{ sleepLock: 0, sleepLockStripe: 0, sleepPause: 0, sleepPauseDash: 0 },
			...{ sleepIo: 0, sleepIoCheck: 0, sleepDisk: 0, sleepDiskGrid: 0 },
		};
		const width = 700;
		const height = 100;
		for (const [from, to] of [
			[0, time],
			[time * 0.3, time * 0.4],
			[start[250] - 100, start[250] + 3000],
			[end[7] - 50, start[9] + 20],
		]) {
			const raster = makeRaster(width, height, 1, palette, new ArrayBuffer(width * height * 4));
			drawLane(raster, raster.gil, intervals, lane, { from, to, width, duration: time }, 0, height);
			for (let x = 0; x < width; x++) {
				const t0 = from + ((to - from) * x) / width;
				const t1 = from + ((to - from) * (x + 1)) / width;
				const { sums, count: touching } = sumRange(intervals, lane, t0, t1);
				const pixels = [0, 0, 0, 0];
				for (let y = 0; y < height; y++)
					pixels[raster.pixels[y * width + x]]++;
				/* A sharp edge gives the column to the greatest part; the least is drawn at all. */
				const slack = touching <= 2 ? 67 : 4;
				for (const [index, ns] of [sums[KIND_HAS], sums[KIND_WAIT], sums[KIND_UNKNOWN]].entries())
					assert.ok(
						Math.abs(pixels[index + 1] - (height * ns) / (t1 - t0)) <= slack,
						`column ${x} of ${from}…${to}: ${pixels} for ${JSON.stringify(sums)}`,
					);
			}
		}
	});

	test('the view stays within the trace', () => {
		const view = { from: 0, to: 1, width: 100, duration: 1e9 };
		setRange(view, -5e8, 5e8);
		assert.deepEqual([view.from, view.to], [0, 1e9]);
		zoomAt(view, 0.1, 2.5e8);
		assert.ok(Math.abs(view.from - 2.25e8) < 1 && Math.abs(view.to - 3.25e8) < 1);
		zoomAt(view, 1e-12, 2.5e8);
		assert.ok(view.to - view.from >= 49 && view.from <= 2.5e8 && view.to >= 2.5e8);
		zoomAt(view, 1e20, 2.5e8);
		assert.deepEqual([view.from, view.to], [0, 1e9]);
	});

	test('numbers as people read them', () => {
		assert.equal(formatDuration(0), '0');
		assert.equal(formatDuration(999), '999\u202fns');
		assert.equal(formatDuration(12345678), '12.35\u202fms');
		assert.equal(formatDuration(null), 'unknown');
		assert.equal(formatShare(1, 1e6), '<0.1\u202f%');
		assert.equal(formatShare(999999, 1e6), '>99.9\u202f%');
		assert.equal(formatShare(null, 10), '–');
		assert.equal(roundStep(3), 5);
		assert.equal(roundStep(11e6), 20e6);
		assert.equal(tickLabel(1.5e9, 5e8, 4e9), '1.5 s');
		assert.equal(tickLabel(2.00025e9, 5e4, 4e9), '+250 µs');
		assert.equal(tickLabel(2e9, 5e4, 4e9), '2.000 s');
		assert.equal(visibleText('a\u202eb\u0000'), 'a\\u202eb\\u0000');
		assert.equal(formatCommand(['x.py', 'a b', "it's"]), "x.py 'a b' 'it'\\''s'");
	});
});
