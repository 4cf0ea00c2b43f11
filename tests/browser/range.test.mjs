// SPDX-License-Identifier: MIT
/* Tables that are sorted, filtered, and about a range; how threads and moments are found again. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { KIND_HAS, KIND_UNKNOWN, KIND_WAIT, makeIntervals } from '../../lib/render/viewer/lanes.js';
import { countRange, rangeFigures } from '../../lib/render/viewer/range_figures.js';
import { nextOrder, orderText, readOrder, sorted } from '../../lib/render/viewer/sort.js';
import { missing } from './chromium.mjs';
import { cannotRecord, makePage, page, readPage, temporary } from './pages.mjs';
import { addressWritten, suiteTabs } from './tabs.mjs';

const noPages = makePage ? false : 'make_page is not built (meson compile, or set GILTRACE_MAKE_PAGE)';
const noBrowser = noPages || (await missing()) || false;
/** @typedef {import('../../lib/render/viewer/range_figures.js').Data} Data */
/** @typedef {import('../../lib/render/viewer/thread_columns.js').Figures} Figures */
/** @typedef {import('../../lib/render/viewer/report.js').Thread} Thread */
/** @typedef {import('playwright-core').Page} Tab */

/** @type {(keyof Thread & keyof Figures)[]} */
const KEYS = [
	'total_ns',
	'has_gil_ns',
	'gil_wait_ns',
	'no_gil_ns',
	'unknown_ns',
	'acquired',
	'contended',
	'wait_p50_ns',
	'wait_p99_ns',
	'wait_max_ns',
];
/** @type {(keyof import('../../lib/render/viewer/report.js').State)[]} */
const STATE_KEYS = ['running_ns', 'runnable_ns', 'sleep_ns', 'sleep_gil_ns', 'disk_ns', 'unknown_ns'];

/**
 * @param {Data} data
 * @param {number} from
 * @param {number} to
 * @returns {Figures[]} by lane
 */
function figuresIn(data, from, to) {
	const counting = countRange(data, { from, to });
	let step = counting.next();
	while (!step.done)
		step = counting.next();
	const counts = step.value;
	return data.lanes.map((lane) => rangeFigures(data, lane, { from, to }, counts[lane.index]));
}

/**
 * Of the whole trace, the figures are the summary's.
 * @param {Data} data
 * @param {boolean} isWhole whether all events are there: contended cannot be told again where some are not
 */
function checkWhole(data, isWhole) {
	figuresIn(data, 0, data.report.duration_ns).forEach((figures, index) => {
		const { thread } = data.lanes[index];
		for (const key of KEYS)
			if (isWhole || key !== 'contended')
				assert.equal(figures[key], thread[key], `${key} of ${thread.tid}`);
		for (const key of STATE_KEYS)
			assert.equal(figures.state?.[key], thread.state?.[key], `${key} of ${thread.tid}`);
		assert.equal(figures.rough !== undefined, !isWhole);
		const reasons = data.report.lanes[index].reasons ?? [];
		const byName = (/** @type {[string, number]} */ a, /** @type {[string, number]} */ b) =>
			a[0] < b[0] ? -1 : 1;
		assert.deepEqual([...figures.reasons].sort(byName), [...reasons].sort(byName));
	});
}

/**
 * What acquisitions of a lane in a range have waited, and how many were contended, one by one and slowly.
 * @param {Data} data
 * @param {import('../../lib/render/viewer/lanes.js').Lane} lane
 * @param {number} from
 * @param {number} to
 */
function waitsSlowly({ lanes, intervals }, lane, from, to) {
	const { start, end, kind, gil } = intervals;
	/** @type {number[]} */
	const waits = [];
	let pending = 0;
	let contended = 0;
	for (let i = lane.first; i < lane.last; i++) {
		const isNext = i > lane.first && end[i - 1] === start[i];
		const last = isNext ? kind[i - 1] : 0;
		if (kind[i] === KIND_HAS && start[i] >= from && start[i] < to) {
			if (last !== KIND_HAS && last !== KIND_UNKNOWN && start[i] > lane.start)
				waits.push(pending);
			let want = i;
			while (want > lane.first && kind[want - 1] === KIND_WAIT && end[want - 1] === start[want])
				want--;
			contended += Number(
				want < i &&
					lanes.some((other) => {
						for (let j = other.first; other !== lane && j < other.last; j++)
							if (kind[j] === KIND_HAS && gil[j] === gil[i] && end[j] > start[want] && start[j] < start[i])
								return true;
						return false;
					}),
			);
		}
		pending = kind[i] === KIND_WAIT ? pending + end[i] - start[i] : 0;
	}
	if (kind[lane.last - 1] === KIND_WAIT && end[lane.last - 1] === lane.end && lane.end > from && lane.end <= to)
		waits.push(pending);
	return { waits: waits.sort((a, b) => a - b), contended };
}

describe('figures of a range', { skip: noPages }, () => {
	const scenarios = ['two', 'service', 'many', 'processes', 'hostile', 'states', 'stacks', 'empty', 'unwatched', 'unwatched-stacks'];
	for (const scenario of scenarios)
		test(`${scenario}: of the whole trace they are the summary's`, async () => {
			checkWhole(await readPage(page(scenario).html), true);
		});

	for (const scenario of ['lossy', 'lossy-states', 'lossy-stacks'])
		test(`${scenario}: likewise, and counts are marked`, async () => {
			checkWhole(await readPage(page(scenario).html), false);
		});

	test('of parts they add up', async () => {
		for (const scenario of ['processes', 'stacks', 'lossy']) {
			const data = await readPage(page(scenario).html);
			const { duration_ns: duration } = data.report;
			/* Some of the cuts are where something begins. */
			const cuts = [0.1, 0.31, 0.5, 0.77].map((part) => Math.round(part * duration));
			cuts.push(data.intervals.start[700], data.intervals.end[500], 0, duration);
			cuts.sort((a, b) => a - b);
			const parts = cuts.slice(1).map((to, index) => figuresIn(data, cuts[index], to));
			for (const lane of data.lanes) {
				const { thread } = lane;
				const whole = figuresIn(data, 0, duration)[lane.index];
				/** @param {(figures: Figures) => number | null} get */
				const sum = (get) => parts.reduce((total, figures) => total + (get(figures[lane.index]) ?? 0), 0);
				for (const key of KEYS.slice(0, 7))
					assert.equal(sum((figures) => Number(figures[key])), whole[key], `${key} of ${thread.tid}`);
				for (const key of thread.state ? STATE_KEYS : [])
					assert.equal(sum(({ state }) => state?.[key] ?? null), whole.state?.[key], `${key} of ${thread.tid}`);
				const longest = parts.map((figures) => figures[lane.index].wait_max_ns ?? 0);
				assert.equal(Math.max(...longest), whole.wait_max_ns);
			}
		}
	});

	test('waits and contention are those that one finds one by one', async () => {
		for (const scenario of ['two', 'processes', 'lossy']) {
			const data = await readPage(page(scenario).html);
			const { duration_ns: duration } = data.report;
			for (const [a, b] of [[0, 1], [0.2, 0.6], [0.45, 0.451], [0.9, 1]]) {
				const from = Math.round(a * duration);
				const to = Math.round(b * duration);
				const all = figuresIn(data, from, to);
				for (const lane of data.lanes) {
					const figures = all[lane.index];
					const { waits, contended } = waitsSlowly(data, lane, from, to);
					/** @param {number} percent */
					const rank = (percent) => waits[Math.ceil((waits.length * percent) / 100) - 1] ?? null;
					assert.equal(figures.wait_p50_ns, rank(50));
					assert.equal(figures.wait_p99_ns, rank(99));
					assert.equal(figures.wait_max_ns, rank(100));
					assert.equal(figures.contended, contended, `${lane.thread.tid} in ${from} to ${to}`);
				}
			}
		}
	});

	test('corners: a fork, two GILs, a gap, a wait without an end', () => {
		/** @type {[number, number, number, number, number][]} lane, kind, from, to, gil */
		const list = [
			/* Born with the GIL; it wants it again, and another one, before the others have let go. */
			[0, KIND_HAS, 0, 10, 1],
			[0, KIND_WAIT, 20, 30, 1],
			[0, KIND_HAS, 30, 40, 1],
			[0, KIND_WAIT, 50, 60, 2],
			[0, KIND_HAS, 60, 70, 2],
			/* A wait of two parts, with a pause between; then a gap, behind which nobody knows what it waited. */
			[1, KIND_WAIT, 2, 5, 1],
			[1, KIND_WAIT, 8, 12, 1],
			[1, KIND_HAS, 12, 28, 1],
			[1, KIND_UNKNOWN, 28, 45, 0],
			[1, KIND_HAS, 45, 65, 1],
			[1, KIND_WAIT, 80, 100, 1],
		];
		/** @param {(item: [number, number, number, number, number]) => number} get */
		const column = (get) => list.map(get);
		/** @param {number} tid */
		const thread = (tid) => /** @type {Thread} */ (/** @type {unknown} */ ({ tid, has_gil_ns: 0, unknown_ns: 17, state: null }));
		const process = { threads: [thread(1), thread(2)] };
		const spans = [{ first: 0, last: 5 }, { first: 5, last: 11 }];
		const lanes = spans.map((span, index) => ({
			...span,
			start: 0,
			end: 100,
			index,
			process,
			thread: process.threads[index],
			states: null,
		}));
		const data = /** @type {Data} */ (
			/** @type {unknown} */ ({
				report: { summary: { inferred: 0, probe: 'uprobe' } },
				lanes,
				intervals: makeIntervals(
					Float64Array.from(column((item) => item[2])),
					Float64Array.from(column((item) => item[3])),
					Uint8Array.from(column((item) => item[1])),
					Uint16Array.from(column((item) => item[4])),
					4,
				),
				states: null,
			})
		);
		/** @param {number} from @param {number} to */
		const told = (from, to) =>
			figuresIn(data, from, to).map((figures) => [
				figures.acquired,
				figures.contended,
				figures.wait_p50_ns,
				figures.wait_max_ns,
				figures.has_gil_ns,
				figures.unknown_ns,
			]);
		assert.deepEqual(told(0, 100), [
			[2, 1, 10, 10, 30, 0],
			[2, 1, 7, 20, 36, 17],
		]);
		/* What it is born with is no acquisition, which would have waited for nothing. */
		assert.deepEqual(told(0, 35)[0], [1, 1, 10, 10, 15, 0]);
		/* The first wait of the other began before, and counts as a whole. */
		assert.deepEqual(told(9, 29), [
			[0, 0, null, null, 1, 0],
			[1, 1, 7, 7, 16, 1],
		]);
		assert.deepEqual(told(30, 61), [
			[2, 1, 10, 10, 11, 0],
			[1, 0, null, null, 16, 15],
		]);
		assert.deepEqual(told(99, 100), [
			[0, 0, null, null, 0, 0],
			[0, 0, 20, 20, 0, 0],
		]);
	});

	test('order of rows', () => {
		const waits = { key: 'waits' };
		const name = { key: 'thread', isText: true };
		assert.deepEqual(
			[null, 'waits', 'waits-up', 'has'].map((text) => orderText(nextOrder(readOrder(text), waits))),
			['waits', 'waits-up', null, 'waits'],
		);
		assert.deepEqual(
			[null, 'thread-up', 'thread'].map((text) => orderText(nextOrder(readOrder(text), name))),
			['thread-up', 'thread', null],
		);
		const items = [['a', 2], ['b', null], ['c', 3], ['d', 2]];
		/** @param {boolean} isUp */
		const order = (isUp) => sorted(items, (item) => item[1], isUp).map((item) => item[0]).join('');
		assert.equal(order(false), 'cadb');
		assert.equal(order(true), 'adcb');
	});
});

describe('range, tables and links', { skip: noBrowser }, () => {
	const withPage = suiteTabs();

	/**
	 * The values of a table, by row as they stand: of each column by its heading.
	 * @param {Tab} tab
	 * @param {string} [id]
	 * @returns {Promise<Record<string, number | null>[]>}
	 */
	function rowsOf(tab, id = 'threads') {
		return tab.$$eval(`#${id} tbody tr:not(.group)`, (elements) =>
			elements.map((row) => {
				const headings = [...(row.closest('table')?.querySelectorAll('thead th') ?? [])];
				return Object.fromEntries(
					[...row.children].map((cell, index) => {
						const { value } = /** @type {HTMLElement} */ (cell).dataset;
						return [headings[index].textContent, value === 'null' ? null : Number(value)];
					}),
				);
			}),
		);
	}

	/** @param {Figures | Thread} figures */
	const gilValues = (figures) => ({
		tid: figures.tid,
		has: figures.has_gil_ns,
		waits: figures.gil_wait_ns,
		neither: figures.no_gil_ns,
		total: figures.total_ns,
		acquired: figures.acquired,
		contended: figures.contended,
		'wait p50': figures.wait_p50_ns,
		p99: figures.wait_p99_ns,
		max: figures.wait_max_ns,
	});

	/** @param {Record<string, number | null>[]} rows @param {string[]} keys */
	const pick = (rows, keys) => rows.map((row) => Object.fromEntries(keys.map((key) => [key, row[key]])));

	/**
	 * Lets frames, counts and the address follow.
	 * @param {Tab} tab
	 */
	async function settle(tab) {
		await addressWritten(tab);
		await tab.waitForSelector('#summary:not([aria-busy=true])');
	}

	/** @param {Tab} tab */
	const fragment = (tab) => tab.evaluate('decodeURIComponent(location.hash)');

	/** @param {Tab} tab */
	async function selected(tab) {
		const match = /range=([\d.]+)s-([\d.]+)s/.exec(String(await fragment(tab)));
		return match && { from: Math.round(Number(match[1]) * 1e9), to: Math.round(Number(match[2]) * 1e9) };
	}

	/** @param {Tab} tab */
	const seen = async (tab) => (await tab.locator('#range').textContent())?.split(' of ')[0];

	/** @param {Tab} tab */
	async function windowBox(tab) {
		await tab.locator('#plot').scrollIntoViewIfNeeded();
		return /** @type {{x: number, y: number, width: number, height: number}} */ (
			await tab.locator('#window').boundingBox()
		);
	}

	/**
	 * Drags with the mouse over parts of the lanes' width.
	 * @param {Tab} tab
	 * @param {number} a
	 * @param {number} b
	 * @param {{y?: number, shift?: boolean}} [options] Y below the top of the lanes
	 */
	async function drag(tab, a, b, { y = 50, shift = true } = {}) {
		const box = await windowBox(tab);
		if (shift)
			await tab.keyboard.down('Shift');
		await tab.mouse.move(box.x + box.width * a, box.y + y);
		await tab.mouse.down();
		await tab.mouse.move(box.x + box.width * b, box.y + y + 3, { steps: 5 });
		await tab.mouse.up();
		if (shift)
			await tab.keyboard.up('Shift');
		await settle(tab);
	}

	for (const scenario of ['two', 'many', 'processes', 'lossy', 'stacks'])
		test(`${scenario}: shift and drag make the table about a range`, async () => {
			const { path, html } = page(scenario);
			const data = await readPage(html);
			const whole = data.lanes.map((lane) => lane.thread);
			await withPage(path, {}, async (tab) => {
				const recorded = (await rowsOf(tab)).map(({ tid }) => tid);
				/** @param {(Figures | Thread)[]} list */
				const byRow = (list) =>
					recorded.map((tid) => /** @type {Figures} */ (list.find((figures) => figures.tid === tid)));
				const keys = Object.keys(gilValues(whole[0]));
				const view = await seen(tab);
				await drag(tab, 0.3, 0.6);
				assert.equal(await seen(tab), view, 'the view stays');
				const range = await selected(tab);
				assert.ok(range);
				const { duration_ns: duration } = data.report;
				assert.ok(Math.abs(range.from - 0.3 * duration) < duration / 400, String(range.from));
				assert.ok(Math.abs(range.to - 0.6 * duration) < duration / 400, String(range.to));
				assert.match(
					String(await tab.locator('#range-text').textContent()),
					/^Range \d+\.\d+.s – \d+\.\d+.s \([\d.]+.m?s\): the table is about it$/,
				);
				assert.match(String(await tab.locator('#range-said').textContent()), /^Range .*about it$/);
				const expected = byRow(figuresIn(data, range.from, range.to));
				assert.deepEqual(pick(await rowsOf(tab), keys), expected.map(gilValues));
				if (scenario === 'stacks') {
					const states = await rowsOf(tab, 'states-table');
					assert.deepEqual(
						pick(states, ['tid', 'on CPU', 'could run', 'sleeps', 'for the GIL', 'disk', 'total']),
						expected.map(({ tid, state, total_ns }) => ({
							tid,
							'on CPU': state?.running_ns,
							'could run': state?.runnable_ns,
							sleeps: state?.sleep_ns,
							'for the GIL': state?.sleep_gil_ns,
							disk: state?.disk_ns,
							total: total_ns,
						})),
					);
				}
				/* Counts that are none are marked. */
				const counts = await tab.locator('#threads tbody tr:not(.group) td:has-text("≈")').count();
				assert.equal(counts > 0, scenario === 'lossy');

				await tab.keyboard.press('Escape');
				await settle(tab);
				assert.equal(await selected(tab), null);
				assert.equal(await tab.locator('#range-bar').isVisible(), false);
				assert.deepEqual(pick(await rowsOf(tab), keys), byRow(whole).map(gilValues));
			});
		});

	test('a range by its edges, in the ruler, and by the keyboard', async () => {
		const { path } = page('service');
		await withPage(path, {}, async (tab) => {
			const duration = page('service').summary.end_ns - page('service').summary.start_ns;
			/** @param {number} from @param {number} to */
			const check = async (from, to) => {
				const range = await selected(tab);
				assert.ok(range, `no range, but ${from} to ${to}`);
				assert.ok(Math.abs(range.from / duration - from) < 0.004, `${range.from / duration}, not ${from}`);
				assert.ok(Math.abs(range.to / duration - to) < 0.004, `${range.to / duration}, not ${to}`);
			};
			await drag(tab, 0.6, 0.2);
			await check(0.2, 0.6);
			await drag(tab, 0.2, 0.3, { shift: false });
			await check(0.3, 0.6);
			/* Behind the other edge they change their places. */
			await drag(tab, 0.6, 0.1, { shift: false });
			await check(0.1, 0.3);
			await drag(tab, 0.4, 0.7, { shift: false, y: -14 });
			await check(0.4, 0.7);
			/* Elsewhere a drag moves, and a click does not select. */
			await tab.keyboard.press('w');
			const view = await seen(tab);
			await drag(tab, 0.1, 0.15, { shift: false });
			await check(0.4, 0.7);
			assert.equal(await seen(tab), view);

			await tab.click('#range-zoom');
			await settle(tab);
			assert.match(String(await fragment(tab)), /view=([^&]+)&range=\1/);
			await tab.keyboard.press('Escape');
			await tab.keyboard.press('r');
			await settle(tab);
			assert.match(String(await fragment(tab)), /view=([^&]+)&range=\1/);
			await tab.click('#range-clear');
			await settle(tab);
			assert.equal(await selected(tab), null);

			/* From the view's start, and on to where another view ends. */
			await tab.keyboard.press('[');
			await settle(tab);
			await check(0.4, 0.7);
			await tab.focus('#plot');
			await tab.keyboard.press('End');
			await tab.keyboard.press(']');
			await settle(tab);
			await check(0.4, 1);
			await tab.keyboard.press('[');
			await settle(tab);
			await check(0.7, 1);

			/* Escape ends a drag, and what has been dragged. */
			const box = await windowBox(tab);
			await tab.keyboard.down('Shift');
			await tab.mouse.move(box.x + 100, box.y + 50);
			await tab.mouse.down();
			await tab.mouse.move(box.x + 200, box.y + 50, { steps: 3 });
			await tab.keyboard.press('Escape');
			await tab.mouse.move(box.x + 300, box.y + 50, { steps: 3 });
			await tab.mouse.up();
			await tab.keyboard.up('Shift');
			await settle(tab);
			assert.equal(await selected(tab), null);
		});
	});

	test('f and double click show what is chosen, selected, or all', async () => {
		await withPage(page('stacks').path, { height: 1100 }, async (tab) => {
			const all = await seen(tab);
			await drag(tab, 0.3, 0.5);
			await tab.keyboard.press('f');
			await settle(tab);
			assert.match(String(await fragment(tab)), /view=([^&]+)&range=\1/);
			await tab.keyboard.press('f');
			await settle(tab);
			assert.equal(await seen(tab), all);
			await tab.focus('#plot');
			await tab.keyboard.press('ArrowDown');
			await tab.keyboard.press('k');
			await tab.keyboard.press('f');
			await settle(tab);
			const lasts = /lasts ([\d.]+)/.exec(String(await tab.locator('#place').textContent()).replaceAll(',', ''));
			const shown = parseFloat(String(await seen(tab)));
			assert.notEqual(await seen(tab), all);
			assert.ok(lasts && shown > Number(lasts[1]), 'with something around it');
			await tab.keyboard.press('f');
			await settle(tab);
			assert.match(String(await fragment(tab)), /view=([^&]+)&range=\1/);
			await tab.keyboard.press('f');
			await settle(tab);
			assert.equal(await seen(tab), all);
			await tab.keyboard.press('Escape');
			await tab.keyboard.press('Escape');
			await tab.keyboard.press('w');
			await settle(tab);
			assert.notEqual(await seen(tab), all);
			/* In the heading of the process, where nothing is to be chosen. */
			const box = await windowBox(tab);
			await tab.mouse.dblclick(box.x + 100, box.y + 8);
			await settle(tab);
			assert.equal(await seen(tab), all);
		});
	});

	test('two fingers zoom at their middle', async () => {
		await withPage(page('service').path, {}, async (tab) => {
			const box = await windowBox(tab);
			const session = await tab.context().newCDPSession(tab);
			/** @param {'touchStart' | 'touchMove' | 'touchEnd'} type @param {number[]} places */
			const touch = (type, ...places) =>
				session.send('Input.dispatchTouchEvent', {
					type,
					touchPoints: places.map((x, id) => ({ x: box.x + box.width * x, y: box.y + 60, id })),
				});
			await touch('touchStart', 0.4);
			await touch('touchStart', 0.4, 0.6);
			for (const spread of [0.15, 0.2, 0.25])
				await touch('touchMove', 0.5 - spread, 0.5 + spread);
			await touch('touchEnd');
			await settle(tab);
			const { duration } = { duration: page('service').summary.end_ns - page('service').summary.start_ns };
			const match = /view=([\d.]+)s-([\d.]+)s/.exec(String(await fragment(tab)));
			assert.ok(match);
			/* What was between 0.4 and 0.6 is between 0.25 and 0.75: two fifths of all are seen. */
			assert.ok(Math.abs((Number(match[1]) * 1e9) / duration - 0.3) < 0.005, match[1]);
			assert.ok(Math.abs((Number(match[2]) * 1e9) / duration - 0.7) < 0.005, match[2]);
			/* One finger pans. */
			await touch('touchStart', 0.5);
			for (const x of [0.55, 0.65, 0.75])
				await touch('touchMove', x);
			await touch('touchEnd');
			await settle(tab);
			const moved = /view=([\d.]+)s/.exec(String(await fragment(tab)));
			assert.ok(Math.abs((Number(moved?.[1]) * 1e9) / duration - 0.2) < 0.01, String(moved?.[1]));
		});
	});

	test('tables are sorted by their headings', async () => {
		const { path } = page('processes');
		await withPage(path, {}, async (tab) => {
			/** @param {string} heading */
			const click = (heading) =>
				tab.locator('#threads thead button').filter({ hasText: new RegExp(`^${heading}$`) }).click();
			const recorded = (await rowsOf(tab)).map(({ tid }) => tid);
			/** The pids, and the tids below each, in the order in which they stand. */
			const groups = () =>
				tab.$$eval('#threads tbody', (bodies) =>
					bodies.map((body) => ({
						pid: Number(/pid (\d+)/.exec(body.querySelector('.group .pid')?.textContent ?? '')?.[1]),
						sum: Number(/** @type {HTMLElement} */ (body.querySelector('.group .share.wait')).dataset.value),
						shares: [...body.querySelectorAll('tr:not(.group) .share.wait')].map((cell) =>
							parseFloat(cell.textContent ?? ''),
						),
						tids: [...body.querySelectorAll('tr:not(.group) td:nth-child(2)')].map((cell) =>
							Number(cell.textContent),
						),
					})),
				);
			const unsorted = await groups();
			assert.equal(unsorted.length, 3);
			for (const { pid, sum } of unsorted)
				assert.equal(
					sum,
					page('processes').summary.processes
						.find((process) => process.pid === pid)
						?.threads.reduce((total, thread) => total + (thread.gil_wait_ns ?? 0), 0),
				);
			await click('waits');
			assert.equal(await tab.locator('#threads th[aria-sort=descending]').textContent(), 'waits');
			for (const { pid, shares, tids } of await groups()) {
				assert.deepEqual(shares, [...shares].sort((a, b) => b - a));
				assert.ok(tids.every((tid) => Math.floor(tid / 1000) === Math.floor(pid / 1000)), 'below its process');
			}
			await click('waits');
			assert.equal(await tab.locator('#threads th[aria-sort=ascending]').textContent(), 'waits');
			for (const { shares } of await groups())
				assert.deepEqual(shares, [...shares].sort((a, b) => a - b));
			await click('waits');
			assert.equal(await tab.locator('#threads thead th:not([aria-sort=none])').count(), 0);
			assert.deepEqual(await groups(), unsorted);
			await click('tid');
			await click('tid');
			assert.deepEqual(
				(await rowsOf(tab)).map(({ tid }) => tid),
				[...recorded].sort((a, b) => Number(b) - Number(a)),
			);
			/* All columns can be sorted by, and say so. */
			for (const heading of await tab.locator('#threads thead button').allTextContents()) {
				await click(heading);
				assert.equal(await tab.locator('#threads thead th:not([aria-sort=none])').textContent(), heading);
			}
		});
	});

	test('tables are filtered, and lead to threads by the keyboard', async () => {
		await withPage(page('many').path, { width: 1024 }, async (tab) => {
			const visible = () => tab.locator('#threads tbody tr:not(.group):visible').count();
			assert.equal(await visible(), 200);
			await tab.fill('#thread-filter', 'HEARTBEAT');
			assert.equal(await visible(), 33);
			assert.equal(await tab.locator('#thread-count').textContent(), '33 of 200');
			await tab.fill('#thread-filter', '4217');
			assert.equal(await visible(), 1);
			await tab.fill('#thread-filter', 'no such thing');
			assert.equal(await visible(), 0);
			assert.equal(await tab.locator('#no-thread').isVisible(), true);
			await tab.fill('#thread-filter', 'python3');
			assert.equal(await visible(), 200);
			await tab.fill('#thread-filter', 'wri');
			await tab.keyboard.press('Tab');
			while (!(await tab.evaluate('document.activeElement.classList.contains("name")')))
				await tab.keyboard.press('Tab');
			/* Among those that are left. */
			await tab.keyboard.press('ArrowDown');
			await tab.keyboard.press('ArrowDown');
			await tab.keyboard.press('ArrowUp');
			await tab.keyboard.press('Enter');
			assert.equal(await tab.locator('#labels .chosen').getAttribute('data-lane'), '10');
			assert.equal(await tab.locator('#threads tr.chosen').textContent().then((text) => text?.includes('4210')), true);
			await tab.keyboard.press('End');
			await tab.keyboard.press('Space');
			assert.equal(await tab.locator('#labels .chosen').getAttribute('data-lane'), '196');
			assert.equal(await tab.locator('#threads [tabindex="0"]').count(), 1);
			await tab.focus('#thread-filter');
			await tab.keyboard.press('Escape');
			assert.equal(await visible(), 200);
			assert.equal(await tab.locator('#thread-count').textContent(), '');
			assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'));
			assert.ok((await tab.locator('.keys').first().evaluate((keys) => keys.clientHeight)) < 30, 'one line');
		});
	});

	test('threads are found in the timeline', async () => {
		await withPage(page('many').path, {}, async (tab) => {
			await tab.selectOption('#sort-rows', 'start');
			await tab.keyboard.press('/');
			await tab.keyboard.type('wdasf');
			const view = await seen(tab);
			assert.equal(await tab.locator('#find-count').textContent(), 'no thread');
			await tab.fill('#find', 'heart');
			assert.equal(await tab.locator('#find-count').textContent(), '33 threads');
			/* Every sixth thread; only those near the window have labels. */
			const labels = await tab.$$eval('#labels .lane', (elements) =>
				elements.map((label) => [Number(/** @type {HTMLElement} */ (label).dataset.lane), label.className]),
			);
			assert.ok(labels.length > 10);
			for (const [lane, name] of labels)
				assert.equal(/\bfound\b/.test(String(name)), Number(lane) % 6 === 5, `${lane}: ${name}`);
			/** @type {string[]} */
			const lanes = [];
			for (const key of ['Enter', 'Enter', 'Enter', 'Shift+Enter', 'Shift+Enter', 'Shift+Enter']) {
				await tab.keyboard.press(key);
				lanes.push(
					`${await tab.locator('#labels .chosen').getAttribute('data-lane')}: ${await tab.locator('#find-count').textContent()}`,
				);
			}
			assert.deepEqual(lanes, [
				'5: 1 of 33',
				'11: 2 of 33',
				'17: 3 of 33',
				'11: 2 of 33',
				'5: 1 of 33',
				'197: 33 of 33',
			]);
			assert.ok((await tab.$eval('#scroller', (element) => element.scrollTop)) > 4000);
			await tab.keyboard.press('Escape');
			assert.equal(await tab.evaluate('document.activeElement.id'), 'plot');
			assert.equal(await tab.inputValue('#find'), '');
			assert.equal(await tab.locator('#labels .found').count(), 0);
			assert.equal(await seen(tab), view, 'what is typed is no key');
		});
		await withPage(page('stacks').path, {}, async (tab) => {
			const { report } = await readPage(page('stacks').html);
			const readers = report.lanes.filter((lane) => lane.reasons?.some(([name, ns]) => name === 'poll' && ns > 0));
			assert.ok(readers.length > 0 && readers.length < report.lanes.length);
			await tab.fill('#find', 'poll');
			assert.equal(await tab.locator('#labels .found').count(), readers.length);
		});
	});

	test('links lead to what was seen', async () => {
		const { path } = page('processes');
		await withPage(path, {}, async (tab) => {
			const url = pathToFileURL(path).href;
			assert.equal(await fragment(tab), '');
			await tab.locator('#threads thead button', { hasText: 'waits' }).click();
			await tab.locator('#threads tbody tr', { hasText: '5201' }).click();
			await drag(tab, 0.25, 0.5);
			await tab.keyboard.press('f');
			await settle(tab);
			const link = String(await tab.evaluate('location.href'));
			assert.match(link, /#view=[\d.]+s-[\d.]+s&range=[\d.]+s-[\d.]+s&thread=5200\.5201&sort=waits$/);
			const rows = await rowsOf(tab);
			const view = await seen(tab);

			/** @param {string} target */
			const open = async (target) => {
				await tab.goto('about:blank');
				await tab.goto(target);
				await tab.waitForSelector('html[data-ready]');
				await settle(tab);
			};
			await open(link);
			assert.equal(await tab.evaluate('location.href'), link);
			assert.equal(await seen(tab), view);
			assert.deepEqual(await rowsOf(tab), rows);
			assert.equal(await tab.locator('#labels .chosen').innerText().then((text) => text.includes('5201')), true);
			assert.equal(await tab.locator('#threads th[aria-sort=descending]').textContent(), 'waits');

			/* As does another one while the page is open. */
			await tab.evaluate("location.hash = 'range=0.01s-0.02s'");
			await settle(tab);
			assert.match(String(await tab.locator('#range-text').textContent()), /^Range 0\.0100.s – 0\.0200.s \(10\.00.ms\)/);
			assert.notEqual(await seen(tab), view);
			assert.equal(await tab.locator('#threads th[aria-sort=descending]').count(), 0);
			await tab.keyboard.press('Escape');
			await tab.keyboard.press('f');
			await settle(tab);
			assert.equal(await fragment(tab), '#thread=5200.5201');

			/* What is broken or foreign does nothing. */
			const whole = await seen(tab);
			for (const text of [
				'nonsense',
				'view=1s',
				'view=NaNs-Infinitys',
				'view=2s-1s',
				'view=-1s-2s',
				'view=1e3s-2e3s',
				'view=999999999999999999s-9999999999999999999s&range=5000000s-6000000s',
				'view=0.0000000001s-1s',
				'range=__proto__-constructor&view=toString',
				'thread=__proto__&sort=__proto__&sort-states=constructor',
				'thread=5200.99999999999999999999&sort=hasOwnProperty-up',
				'__proto__=1&constructor=2&%E0%A4%A&&&==&=',
				'sort=-up&thread=.&range=s-s',
			]) {
				await open(`${url}#${text}`);
				assert.equal(await seen(tab), whole, text);
				assert.equal(await tab.locator('#range-bar').isVisible(), false, text);
				assert.equal(await tab.locator('#labels .chosen').count(), 0, text);
				assert.equal(await tab.locator('#threads thead th:not([aria-sort=none])').count(), 0, text);
				await tab.evaluate(`location.hash = 'range=0.01s-0.02s'`);
				await tab.evaluate((hash) => (location.hash = hash), text);
				await tab.waitForTimeout(50);
				assert.equal(await tab.locator('#range-bar').isVisible(), false, text);
			}
		});
	});

	test('all keys are told', async () => {
		await withPage(page('stacks').path, {}, async (tab) => {
			const view = await seen(tab);
			await tab.keyboard.press('?');
			assert.equal(await tab.locator('#keys').isVisible(), true);
			assert.match(await tab.locator('#keys').innerText(), /select what is seen[\s\S]*its state before/);
			await tab.keyboard.press('w');
			await settle(tab);
			assert.equal(await seen(tab), view, 'the timeline is behind it');
			await tab.keyboard.press('Escape');
			assert.equal(await tab.locator('#keys').isVisible(), false);
			await tab.click('#keys-open');
			await tab.click('#keys-close');
			assert.equal(await tab.locator('#keys').isVisible(), false);
		});
		await withPage(page('two').path, {}, async (tab) => {
			await tab.keyboard.press('?');
			assert.equal(await tab.locator('#keys-states').isVisible(), false);
		});
	});

	test('with nothing there, nothing goes wrong', async () => {
		await withPage(page('empty').path, {}, async (tab) => {
			for (const key of ['r', 'f', '[', ']', 'Escape', '/'])
				await tab.keyboard.press(key);
			await tab.keyboard.type('x');
			await tab.keyboard.press('Enter');
			await settle(tab);
		});
		const { path, html } = page('unwatched-stacks');
		const data = await readPage(html);
		await withPage(path, {}, async (tab) => {
			await drag(tab, 0.2, 0.8);
			const range = await selected(tab);
			assert.ok(range);
			const expected = figuresIn(data, range.from, range.to);
			assert.deepEqual(
				pick(await rowsOf(tab, 'states-table'), ['on CPU', 'for the GIL']),
				expected.map(({ state }) => ({ 'on CPU': state?.running_ns, 'for the GIL': state?.sleep_gil_ns })),
			);
			assert.ok(expected.some(({ state }) => state?.sleep_gil_ns));
		});
	});

	test('where there is much to count, sums come first', async () => {
		const { path, html } = page('million', 400000);
		const data = await readPage(html);
		await withPage(path, {}, async (tab) => {
			/** @param {boolean} isPending */
			const count = (isPending) =>
				tab.waitForFunction(
					(wanted) => (document.querySelector('#threads tr:not(.group) td:nth-child(8)')?.textContent === '…') === wanted,
					isPending,
				);
			const box = await windowBox(tab);
			await tab.keyboard.down('Shift');
			await tab.mouse.move(box.x + box.width * 0.1, box.y + 50);
			await tab.mouse.down();
			await tab.mouse.move(box.x + box.width * 0.9, box.y + 50, { steps: 10 });
			await count(true);
			await tab.mouse.up();
			await tab.keyboard.up('Shift');
			await count(false);
			await settle(tab);
			const range = await selected(tab);
			assert.ok(range);
			const rows = await rowsOf(tab);
			const expected = figuresIn(data, range.from, range.to).map(gilValues);
			assert.deepEqual(pick(rows, Object.keys(expected[0])), expected);
		});
	});

	test('a real run', { skip: cannotRecord }, async () => {
		const path = temporary('real-range.html');
		const script = fileURLToPath(new URL('../workloads/pipeline.py', import.meta.url));
		const run = spawnSync(
			String(process.env.GILTRACE),
			['-q', '--state-detect', '-o', path, script, temporary('range-facts')],
			{ encoding: 'utf8' },
		);
		assert.equal(run.status, 0, run.stderr);
		const data = await readPage(readFileSync(path, 'utf8'));
		const { lost, inferred } = data.report.summary;
		checkWhole(data, lost === 0 && inferred === 0);
		await withPage(path, {}, async (tab) => {
			await drag(tab, 0.2, 0.7);
			const range = await selected(tab);
			assert.ok(range);
			const expected = figuresIn(data, range.from, range.to).map(gilValues);
			const rows = pick(await rowsOf(tab), Object.keys(expected[0]));
			assert.deepEqual(
				rows.sort((a, b) => Number(a.tid) - Number(b.tid)),
				expected.sort((a, b) => a.tid - b.tid),
			);
		});
	});
});
