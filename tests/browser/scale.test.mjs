// SPDX-License-Identifier: MIT
/* Pages that are large: what is painted first, and what is merged where there is too much for one page. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';

import { KIND_HAS, KIND_UNKNOWN, KIND_WAIT, addSums, isMerged } from '../../lib/render/viewer/lanes.js';
import { parseReport } from '../../lib/render/viewer/report.js';
import { missing, openPage, startBrowser } from './chromium.mjs';
import { elementText, largePage, makePage, page, readPage } from './pages.mjs';

const reason = makePage ? await missing() : 'make_page is not built (meson compile, or set GILTRACE_MAKE_PAGE)';

/* Notes when there first was a table to be painted, and when the first column was taken to be decoded. */
const WATCH = `{
	window.firsts = {};
	const look = () => {
		const rows = document.querySelectorAll('#threads tbody tr').length;
		if (rows < 2 || !document.querySelector('#head .verdict'))
			return requestAnimationFrame(look);
		firsts.table = performance.now();
		firsts.rows = rows;
		firsts.labels = document.querySelectorAll('#labels .lane').length;
	};
	requestAnimationFrame(look);
	new MutationObserver((changes) => {
		for (const change of changes)
			for (const node of change.removedNodes)
				if (String(node.id).startsWith('column-'))
					firsts.column ??= performance.now();
	}).observe(document, { childList: true, subtree: true });
}`;

describe('holds', { skip: makePage ? false : 'make_page is not built' }, () => {
	test('holds and waits are counted by their lengths', async () => {
		for (const scenario of ['two', 'service', 'many']) {
			const { report, lanes, intervals } = await readPage(page(scenario).html);
			for (const lane of lanes) {
				const { holds } = report.lanes[lane.index];
				assert.ok(holds);
				/** @type {number[]} */
				const lengths = [];
				for (let i = lane.first; i < lane.last; i++)
					if (intervals.kind[i] === KIND_HAS)
						lengths.push(intervals.end[i] - intervals.start[i]);
				assert.equal(
					holds.waits.reduce((sum, count) => sum + count, 0),
					lane.thread.acquired,
				);
				const counts = new Array(holds.holds.length).fill(0);
				for (const length of lengths)
					counts[Math.floor(Math.log2(length))]++;
				assert.deepEqual(holds.holds, counts);
				lengths.sort((a, b) => b - a);
				assert.equal(holds.hold_max_ns, lengths[0] ?? 0);
				const held = lane.thread.has_gil_ns ?? 0;
				let sum = 0;
				assert.equal(holds.hold_half_ns, lengths.find((length) => (sum += length) >= held / 2) ?? 0);
			}
		}
	});

	test('nobody knows of holds that nobody watched', async () => {
		const { report } = await readPage(page('unwatched').html);
		assert.ok(report.lanes.every(({ holds }) => holds === undefined));
	});
});

describe('scale', { skip: reason ?? false }, () => {
	/** @type {import('playwright-core').Browser} */
	let browser;
	before(async () => {
		browser = await startBrowser();
	});
	after(() => browser?.close());

	test('what is merged has the sums that it had', async () => {
		for (const [scenario, slices] of /** @type {[string, number][]} */ ([
			['service', 500],
			['lossy-states', 700],
			['stacks', 900],
		])) {
			const whole = await readPage(page(scenario, 4000).html);
			const { report, lanes, intervals, states } = await readPage(page(scenario, 4000, slices).html);
			assert.equal(whole.report.folded, undefined);
			assert.ok(report.folded && report.folded.intervals > slices);
			assert.ok(report.intervals + (report.states ?? 0) <= slices);
			assert.ok(report.intervals < whole.report.intervals);
			for (const lane of lanes) {
				const sums = [0, 0, 0, 0];
				addSums(intervals, lane.first, lane.last, sums);
				if (lane.thread.has_gil_ns !== null)
					assert.deepEqual(
						[sums[KIND_HAS], sums[KIND_WAIT], sums[KIND_UNKNOWN]],
						[lane.thread.has_gil_ns, lane.thread.gil_wait_ns, lane.thread.unknown_ns],
					);
				for (let i = lane.first; i < lane.last; i++) {
					assert.ok(intervals.start[i] >= (i > lane.first ? intervals.end[i - 1] : lane.start));
					assert.ok(intervals.end[i] <= lane.end);
				}
				if (!lane.states || !states || !whole.states)
					continue;
				const kinds = report.state_kinds?.length ?? 0;
				const ofStates = new Array(kinds + 1).fill(0);
				const unmerged = new Array(kinds + 1).fill(0);
				const span = whole.lanes[lane.index].states;
				addSums(states, lane.states.first, lane.states.last, ofStates);
				if (span)
					addSums(whole.states, span.first, span.last, unmerged);
				assert.deepEqual(ofStates, unmerged);
				for (let i = lane.states.first; i < lane.states.last; i++)
					if (!isMerged(report, states.end[i] - states.start[i]) && report.stacks)
						assert.ok(states.stack[i] < report.stacks.stacks + 1);
			}
		}
	});

	test('a page with merged slices says so', async () => {
		const made = page('service', 4000, 500);
		const { folded } = (await readPage(made.html)).report;
		const { page: tab, complaints, close } = await openPage(browser, made.path);
		const notice = (await tab.locator('.notice').first().textContent()) ?? '';
		assert.equal(Number(/^[\d\u202f]+/.exec(notice)?.[0].replace(/\u202f/g, '')), folded?.intervals);
		assert.match(notice, /shorter than [\d.]+\u202f.?s were merged with their neighbours .* exact figures/);
		/* The first lane is the main thread's, which holds the GIL for short. */
		await tab.locator('#plot').focus();
		/** @type {string[]} */
		const texts = [];
		for (let i = 0; i < 40; i++) {
			await tab.keyboard.press('.');
			texts.push((await tab.locator('#place').textContent()) ?? '');
		}
		assert.ok(texts.some((text) => /Merged slices/.test(text)), texts[0]);
		for (const text of texts.filter((each) => /Merged/.test(each)))
			assert.doesNotMatch(text, /Held meanwhile|lasts/);
		/* So it is with who holds the GIL: merged slices of its threads are not at their places. */
		const box = await tab.locator('#labels .gil-label').first().boundingBox();
		const track = await tab.locator('#track').boundingBox();
		assert.ok(box && track);
		await tab.mouse.move(track.x + 200, box.y + box.height / 4);
		await tab.locator('#hover:visible').waitFor();
		const hover = (await tab.locator('#hover').textContent()) ?? '';
		assert.match(hover, /GIL0x/);
		assert.match(hover, /What is shorter than .* is not told apart/);
		assert.deepEqual(complaints, []);
		await close();
	});

	test('head and table are painted before anything is decoded', async () => {
		for (const path of [page('service').path, page('many', 400000).path, page('stacks').path]) {
			const { page: tab, close } = await openPage(browser, path, { script: WATCH });
			const { table, column } = await tab.evaluate('firsts');
			const painted = await tab.evaluate(
				'performance.getEntriesByName("first-contentful-paint")[0].startTime',
			);
			assert.ok(table < column, `table at ${table}, first column at ${column}`);
			/* Nothing but them was there to be painted. */
			assert.ok(painted < column, `painted at ${painted}, first column at ${column}`);
			await close();
		}
	});

	test('two thousand threads', async () => {
		const path = largePage('crowd', 20000);
		const report = parseReport(elementText(readFileSync(path, 'utf8'), 'report'));
		const { page: tab, complaints, close } = await openPage(browser, path, { script: WATCH });
		const firsts = await tab.evaluate('firsts');

		assert.equal(report.summary.blame.length, 40000);
		assert.equal(
			report.summary.blame.reduce((/** @type {number} */ sum, /** @type {any} */ { ns }) => sum + ns, 0) +
				(report.blame_left?.ns ?? 0),
			report.summary.processes[0].threads.reduce(
				(/** @type {number} */ sum, /** @type {any} */ thread) => sum + thread.gil_wait_ns,
				0,
			),
		);
		assert.ok(firsts.rows > 12 && firsts.rows < 40, `${firsts.rows} rows at first`);
		assert.equal(firsts.labels, 0);
		assert.equal(await tab.locator('#threads tbody').count(), 1);
		const values = await tab
			.locator('#threads tbody tr:not(.group) td:nth-child(2)')
			.evaluateAll((cells) => cells.map((cell) => Number(/** @type {HTMLElement} */ (cell).dataset.value)));
		assert.deepEqual(
			values,
			report.summary.processes[0].threads.map((/** @type {any} */ { tid }) => tid),
		);
		assert.deepEqual(complaints, []);
		await close();
	});
});
