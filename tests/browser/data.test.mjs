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
	STATE_RUNNABLE,
	STATE_RUNNING,
	STATE_SLEEP_GIL,
	makeIntervals,
	sumRange,
} from '../../lib/render/viewer/lanes.js';
import { drawLane, makeRaster } from '../../lib/render/viewer/raster.js';
import { roundStep, tickLabel } from '../../lib/render/viewer/ruler.js';
import { setRange, zoomAt } from '../../lib/render/viewer/view.js';
import { elementText, makePage, page, readPage } from './pages.mjs';

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

	for (const scenario of ['states', 'lossy-states'])
		test(`${scenario}: the bars of states add up to the table`, { skip }, async () => {
			const { html } = page(scenario);
			const { lanes, states } = await readPage(html);
			assert.ok(states);
			for (const { states: span, thread } of lanes) {
				assert.ok(span && thread.state);
				const { sums } = sumRange(states, span, span.start, span.end);
				const life = span.end - span.start;
				assert.equal(sums[STATE_RUNNING], thread.state.running_ns);
				assert.equal(sums[STATE_RUNNABLE], thread.state.runnable_ns);
				assert.equal(sums[KIND_UNKNOWN], thread.state.unknown_ns);
				assert.ok(sums[STATE_SLEEP_GIL] > 0 && sums[STATE_SLEEP_GIL] <= thread.state.sleep_ns);
				assert.equal(
					life - sums[STATE_RUNNING] - sums[STATE_RUNNABLE] - sums[KIND_UNKNOWN],
					thread.state.sleep_ns,
				);
			}
		});

	test('a page without states has nothing of them', { skip }, async () => {
		const { html, summary } = page('two');
		const { report, states } = await readPage(html);
		assert.equal(states, null);
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
		assert.doesNotMatch(elementText(html, 'report'), /</);
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
			...{ running: 0, runnable: 0, runnableStripe: 0, sleepGil: 0, sleepGilLine: 0 },
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

	test('the verdict follows from the numbers', { skip }, async () => {
		const { verdict } = await import('../../lib/render/viewer/verdict.js');
		/** @param {string} scenario */
		const sentences = (scenario) => verdict(page(scenario).summary, page(scenario).summary.processes).join(' ');

		assert.match(sentences('two'), /^“count-1” \(4201\) and “count-2” \(4202\) each spent (4|5)\d to (4|5)\d.% /);
		assert.match(sentences('two'), /Two threads took turns/);
		assert.match(sentences('service'), /For \d\d\.\d.% of that time “worker-1” \(4201\) held it\.$/);
		assert.match(sentences('empty'), /^No thread took the GIL/);
	});
});
