// SPDX-License-Identifier: MIT
/* Who kept whom waiting: verdict, matrix, filter, histograms; what is printed of it. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { filterKey, filterTitle, findWaits, longestWaits, parseFilterKey } from '../../lib/render/viewer/filter.js';
import { addCounts, lengthsOf, quantile } from '../../lib/render/viewer/histogram.js';
import { KIND_WAIT, sumRange } from '../../lib/render/viewer/lanes.js';
import { matrixOf, shortDuration } from '../../lib/render/viewer/matrix.js';
import { parseReport } from '../../lib/render/viewer/report.js';
import { roundly, verdict } from '../../lib/render/viewer/verdict.js';
import { missing } from './chromium.mjs';
import { cannotRecord, elementText, makePage, page, readPage, temporary } from './pages.mjs';
import { suiteTabs } from './tabs.mjs';

const reason = makePage ? await missing() : 'make_page is not built (meson compile, or set GILTRACE_MAKE_PAGE)';
const skip = makePage ? false : reason ?? false;
/** @typedef {import('../../lib/render/viewer/report.js').Summary} Summary */
/** @typedef {import('../../lib/render/viewer/report.js').Thread} Thread */

/** The page of a real run, and its summary. @type {{path: string, summary: Summary} | null} */
let real = null;

function realRun() {
	if (real)
		return real;
	const path = temporary('blame-real.html');
	const json = temporary('blame-real.json');
	const script = fileURLToPath(new URL('../workloads/busy_threads.py', import.meta.url));
	const run = spawnSync(
		String(process.env.GILTRACE),
		['-q', '-o', path, '--summary-json', json, script, temporary('facts'), '1', '3'],
		{ encoding: 'utf8' },
	);
	assert.equal(run.status, 0, run.stderr);
	real = { path, summary: JSON.parse(readFileSync(json, 'utf8')) };
	return real;
}

/**
 * @param {Pick<import('../../lib/render/viewer/timeline.js').WaitFilter, 'intervals' | 'spans'>} found
 */
function sumOf({ intervals, spans }) {
	return spans.reduce(
		(sum, span) => sum + (span ? sumRange(intervals, span, span.start, span.end).sums[KIND_WAIT] : 0),
		0,
	);
}

/**
 * Compares the waits that a page finds with what its summary blames whom for.
 * @param {string} html
 * @param {Summary} summary
 * @param {number} most entries of each kind
 */
async function compareWaits(html, summary, most) {
	const { lanes, intervals } = await readPage(html);
	/** @param {import('../../lib/render/viewer/filter.js').WaitChoice} choice */
	const found = (choice) => findWaits(intervals, lanes, choice);
	assert.ok(summary.blame.length > 2);
	const step = Math.max(1, Math.floor(summary.blame.length / most));
	for (let i = 0; i < summary.blame.length; i += step) {
		const { pid, waiter, holder, ns } = summary.blame[i];
		assert.equal(sumOf(found({ pid, waiter, holder: holder ?? 'none' })), ns, `${pid} ${waiter} ${holder}`);
	}
	for (const { pid, threads } of summary.processes) {
		const blame = summary.blame.filter((entry) => entry.pid === pid);
		/** @param {(entry: import('../../lib/render/viewer/report.js').Blame) => boolean} which */
		const blamed = (which) => blame.reduce((sum, entry) => sum + (which(entry) ? entry.ns : 0), 0);
		assert.equal(sumOf(found({ pid, waiter: '*', holder: 'none' })), blamed(({ holder }) => holder === null));
		assert.equal(sumOf(found({ pid, waiter: '*', holder: '*' })), blamed(() => true));
		for (const { tid, gil_wait_ns } of threads.slice(0, most)) {
			assert.equal(sumOf(found({ pid, waiter: '*', holder: tid })), blamed(({ holder }) => holder === tid));
			const whole = found({ pid, waiter: tid, holder: '*' });
			assert.equal(sumOf(whole), gil_wait_ns);
			assert.equal(sumOf(whole), blamed(({ waiter }) => waiter === tid));
		}
	}
	/* Pieces are in order, inside of the wait that they are of. */
	const { intervals: pieces, spans, waits } = found({ pid: summary.blame[0].pid, waiter: '*', holder: 'none' });
	for (const [lane, span] of spans.entries())
		for (let i = span?.first ?? 0; i < (span?.last ?? 0); i++) {
			assert.ok(waits[i] >= lanes[lane].first && waits[i] < lanes[lane].last);
			assert.ok(pieces.start[i] >= intervals.start[waits[i]] && pieces.end[i] <= intervals.end[waits[i]]);
			assert.ok(i === span?.first || pieces.start[i] >= pieces.end[i - 1]);
			assert.ok(pieces.end[i] > pieces.start[i]);
		}
}

/**
 * A process in which threads spent given parts of a second with the GIL and waiting for it.
 * @param {{name: string, has?: number, wait?: number, unknown?: number, half?: number, longest?: number}[]} list
 * @param {[number, number | null, number][]} blame waiter and holder by place, ns
 */
function madeUp(list, blame) {
	const pid = 100;
	const threads = list.map(({ name, has = 0, wait = 0, unknown = 0, longest = 0 }, place) => ({
		tid: pid + place,
		name,
		main: place === 0,
		start_ns: 0,
		end_ns: 1e9,
		total_ns: 1e9,
		has_gil_ns: has,
		gil_wait_ns: wait,
		unknown_ns: unknown,
		no_gil_ns: 1e9 - has - wait - unknown,
		acquired: 1,
		contended: 1,
		switched: 0,
		wait_max_ns: longest,
		wait_p50_ns: 0,
		wait_p99_ns: longest,
		state: null,
	}));
	const process = { pid, ppid: 1, command: 'python3', python: null, gils: [], threads };
	const summary = /** @type {Summary} */ (
		/** @type {unknown} */ ({
			probe: 'uprobe',
			events: 1000,
			processes: [process],
			blame: blame.map(([waiter, holder, ns]) => ({
				pid,
				waiter: pid + waiter,
				holder: holder === null ? null : pid + holder,
				ns,
			})),
		})
	);
	/** @type {import('../../lib/render/viewer/verdict.js').HoldsOf} */
	const holdsOf = (_, thread) => ({
		holds: [],
		waits: [],
		hold_p50_ns: 0,
		hold_max_ns: 0,
		hold_half_ns: list[thread.tid - pid].half ?? 0,
	});
	return { summary, holdsOf, sentences: () => verdict(summary, summary.processes, holdsOf).join(' ').replaceAll('\u202f', ' ') };
}

describe('blame: data', { skip }, () => {
	for (const scenario of ['two', 'service', 'processes', 'many', 'lossy', 'hostile'])
		test(`${scenario}: filtered waits add up to the blame`, async () => {
			const { html, summary } = page(scenario);
			await compareWaits(html, summary, scenario === 'many' ? 150 : Infinity);
		});

	test('a real run: filtered waits add up to the blame', { skip: cannotRecord }, async () => {
		const { path, summary } = realRun();
		await compareWaits(readFileSync(path, 'utf8'), summary, Infinity);
	});

	test('keys of filters', async () => {
		for (const choice of /** @type {const} */ ([
			{ pid: 4200, waiter: 4201, holder: 4203 },
			{ pid: 4200, waiter: '*', holder: 'none' },
			{ pid: 1, waiter: 7, holder: '*' },
		]))
			assert.deepEqual(parseFilterKey(filterKey(choice)), choice);
		assert.equal(filterKey({ pid: 4200, waiter: 4201, holder: 4203 }), '4200.4201-4203');
		for (const key of ['', '4200', '4200.1', '4200.none-1', '1.2-3x', ' 1.2-3', '1.-2', '1.2-3-4', '9'.repeat(40) + '.1-2', '<b>.1-2', '1.2-3\n'])
			assert.equal(parseFilterKey(key), null, key);
		const { report } = await readPage(page('service').html);
		assert.equal(
			filterTitle(report, { pid: 4200, waiter: 4203, holder: 4201 }).replace(/[\u2068\u2069]/g, ''),
			'waits of reader for worker-1',
		);
		assert.equal(filterTitle(report, { pid: 4200, waiter: '*', holder: 'none' }), 'waits while nobody held it');
	});

	test('the longest waits are the longest', async () => {
		const { lanes, intervals, report } = await readPage(page('service').html);
		const timeline = /** @type {import('../../lib/render/viewer/timeline.js').Timeline} */ (
			/** @type {unknown} */ ({ report, lanes, intervals, filter: null })
		);
		const lengths = [];
		for (let i = 0; i < intervals.start.length; i++)
			if (intervals.kind[i] === KIND_WAIT)
				lengths.push(intervals.end[i] - intervals.start[i]);
		lengths.sort((a, b) => b - a);
		assert.deepEqual(longestWaits(timeline, 10).map(({ ns }) => ns), lengths.slice(0, 10));
		for (const { lane, wait, ns } of longestWaits(timeline, 10)) {
			assert.ok(wait >= lane.first && wait < lane.last);
			assert.equal(intervals.end[wait] - intervals.start[wait], ns);
		}
	});

	test('a matrix keeps every nanosecond, however it is folded', () => {
		const { summary } = page('many');
		const all = summary.blame.reduce((sum, { ns }) => sum + ns, 0);
		for (const [rows, columns] of [[12, 10], [1, 1], [500, 500], [3, 198]]) {
			const matrix = matrixOf(summary.blame, rows, columns);
			/** @param {number[]} list */
			const sum = (list) => list.reduce((total, ns) => total + ns, 0);
			assert.equal(matrix.total, all);
			assert.equal(matrix.rows.length + matrix.foldedRows, 200);
			assert.equal(sum(matrix.cells.flat()) + sum(matrix.others) + sum(matrix.rest), all);
			assert.equal(sum(matrix.columns.map(({ ns }) => ns)) + matrix.othersTotal, all);
			for (const [row, { ns }] of matrix.rows.entries())
				assert.equal(sum(matrix.cells[row]) + matrix.others[row], ns);
			for (let row = 1; row < matrix.rows.length; row++)
				assert.ok(matrix.rows[row - 1].ns >= matrix.rows[row].ns);
			assert.equal(matrix.columns[matrix.columns.length - 1].holder, null);
		}
		/* One more than fits is not folded: its place would be taken by "1 other". */
		assert.equal(matrixOf(page('service').summary.blame, 5, 5).foldedRows, 0);
	});

	test('short times have three digits', () => {
		/** @type {[number, string][]} */
		const cases = [[7, '7 ns'], [999, '999 ns'], [1000, '1.00 µs'], [9999, '10.0 µs'], [99990, '100 µs'], [999960, '1.00 ms'], [41234567, '41.2 ms'], [12e9, '12.0 s'], [1234e9, '1234 s']];
		for (const [ns, text] of cases)
			assert.equal(shortDuration(ns).replace('\u202f', ' '), text);
		assert.equal(roundly(40.4e6), '40\u202fms');
		assert.equal(roundly(5.24e6), '5.2\u202fms');
		assert.equal(roundly(1.0e9), '1\u202fs');
	});

	test('histograms count what the table counts', async () => {
		const { html, summary } = page('service');
		const { report, lanes, intervals } = await readPage(html);
		for (const index of lanes.keys()) {
			const { waits, holds } = lengthsOf(report, index);
			/** @param {number[]} list */
			const sum = (list) => list.reduce((total, count) => total + count, 0);
			const { thread } = lanes[index];
			assert.equal(sum(waits.counts), thread.acquired);
			let holdCount = 0;
			for (let i = lanes[index].first; i < lanes[index].last; i++)
				if (intervals.kind[i] !== KIND_WAIT)
					holdCount++;
			assert.equal(sum(holds.counts), holdCount);
			/* A bin is an octave: so far off may an estimate be. */
			for (const [part, exact] of /** @type {const} */ ([[0.5, thread.wait_p50_ns], [0.99, thread.wait_p99_ns]]))
				if (exact)
					assert.ok(Math.abs(Math.log2(quantile(waits.counts, part) / exact)) <= 1.01);
		}
		const all = lengthsOf(report, -1).waits.counts.reduce((total, count) => total + count, 0);
		assert.equal(all, summary.processes[0].threads.reduce((total, { acquired }) => total + (acquired ?? 0), 0));
		assert.deepEqual(addCounts([[1, 2], [], [3, 0, 5]]), [4, 2, 5]);
		assert.equal(quantile([], 0.5), 0);
		assert.equal(quantile([0, 0, 4], 0.5), 2 ** 2.5);
	});
});

describe('blame: verdict', { skip }, () => {
	/** @param {string} scenario */
	const sentences = (scenario) => verdict(page(scenario).summary, page(scenario).summary.processes).join(' ');

	test('of made-up traces', () => {
		assert.match(sentences('two'), /^“count-1” and “count-2” spent (4|5)\d.% of their lives waiting for the GIL\. They took turns/);
		assert.match(sentences('service'), /For \d\d.% of that time “worker-1” held it\. Three others waited less, up to \d\d.%\.$/);
		assert.match(sentences('many'), /^200 threads spent 9\d.% .* For 8\d.% of that time 3\d threads held it, in turns: no single one/);
		/* Most of its pairs are not in the page. */
		const { summary } = parseReport(elementText(page('crowd').html, 'report'));
		assert.match(
			verdict(summary, summary.processes).join(' '),
			/^2000 threads spent 9\d.% [^.]*\. \d{3} threads took turns: no single one/,
		);
		assert.match(sentences('processes'), / of process \d+ spent .*It is the one of three processes whose threads waited most\.$/);
		assert.match(sentences('lossy'), /Events were lost: of \d\.\d.% of the threads' time nothing is known\.$/);
		assert.match(sentences('empty'), /^No thread took the GIL/);
		assert.equal(sentences('unwatched'), 'The GIL was not watched in this run.');
		assert.match(sentences('unwatched-stacks'), /not watched in this run\. By their stacks, its threads slept \d+\.\d+.s in all while they waited for it\.$/);
	});

	test('one to blame, and its bursts', () => {
		const workers = ['a', 'b', 'c', 'd'].map((name) => ({ name, wait: 9e8, longest: 44e6 }));
		const { sentences: say } = madeUp(
			[{ name: 'python3' }, { name: 'hog', has: 9e8, half: 40.3e6 }, ...workers],
			[2, 3, 4, 5].flatMap((waiter) => [[waiter, 1, 873e6], [waiter, 0, 27e6]]),
		);
		assert.equal(
			say(),
			'“a”, “b”, “c” and “d” spent 90 % of their lives waiting for the GIL. ' +
				'For 97 % of that time “hog” held it, mostly in bursts of about 40 ms. ' +
				'Python code lets go after 5 ms when asked to: longer holds are C code that does not, or had no CPU meanwhile.',
		);
	});

	test('holds that are longer than any wait are not what one waited for', () => {
		const { sentences: say } = madeUp(
			[{ name: 'python3', has: 9e8, half: 8e8 }, { name: 'other', wait: 3e8, longest: 5e6 }],
			[[1, 0, 3e8]],
		);
		assert.equal(say(), '“other” spent 30 % of its life waiting for the GIL. All that time the main thread held it.');
	});

	test('waiters of very different shares', () => {
		const { sentences: say } = madeUp(
			[
				{ name: 'python3', wait: 3e7 },
				{ name: 'x', wait: 23e7, longest: 3e6 },
				{ name: 'hog', half: 2e6 },
			],
			[[0, 2, 3e7], [1, 2, 23e7]],
		);
		assert.equal(
			say(),
			'“x” spent 23 % of its life waiting for the GIL. All that time “hog” held it, mostly in bursts of about 2 ms. One other waited less, 3 %.',
		);
	});

	test('a convoy', () => {
		const names = ['python3', 'a', 'b', 'c', 'd', 'e'];
		const { sentences: say } = madeUp(
			names.map((name, place) => ({ name, has: place ? 2e8 : 0, wait: place ? 8e8 : 0, half: 5.1e6, longest: 25e6 })),
			[1, 2, 3, 4, 5].flatMap((waiter) =>
				[1, 2, 3, 4, 5].filter((holder) => holder !== waiter).map((holder) => /** @type {[number, number, number]} */ ([waiter, holder, 2e8])),
			),
		);
		assert.equal(
			say(),
			"Five threads spent 80 % of their lives waiting for the GIL. They took turns of about 5.1 ms, Python's switch interval: no single one of them is to blame.",
		);
	});

	test('many that hold it for long, and more that hardly do', () => {
		const state = { running_ns: 1e8, runnable_ns: 3e8, sleep_ns: 6e8, sleep_gil_ns: 6e8, disk_ns: 0, unknown_ns: 0 };
		const { sentences: say, summary, holdsOf } = madeUp(
			Array.from({ length: 31 }, (_, place) => ({
				name: `w${place}`,
				wait: place > 10 ? 4e8 : 0,
				/* Of few holds, some may be very long. */
				half: place <= 3 ? 9e7 : place <= 10 ? 12e6 : 1e4,
				longest: 1e8,
			})),
			Array.from({ length: 20 }, (_, place) => place + 11).flatMap((waiter) => [
				...Array.from({ length: 10 }, (_, place) => /** @type {[number, number, number]} */ ([waiter, place + 1, 25e6])),
				/** @type {[number, number, number]} */ ([waiter, 11 + ((waiter - 10) % 20), 1e7]),
				/** @type {[number, number | null, number]} */ ([waiter, null, 14e7]),
			]),
		);
		const held =
			'20 threads spent 40 % of their lives waiting for the GIL. For 56 % of that time nine threads held it, ' +
			'in turns of about 12 ms: no single one of them is to blame. ' +
			'For 35 % nobody held it: it was being handed over. ';
		assert.equal(
			say(),
			held + 'Python code lets go after 5 ms when asked to: longer holds are C code that does not, or had no CPU meanwhile.',
		);
		for (const thread of summary.processes[0].threads)
			thread.state = state;
		assert.equal(
			verdict(summary, summary.processes, holdsOf).join(' ').replaceAll('\u202f', ' '),
			held + 'For 75 % of the time in which they could have run, they had no CPU.',
		);
	});

	test('so many that no call has room for them', () => {
		const count = 200000;
		const { summary, holdsOf } = madeUp(
			Array.from({ length: count }, (_, place) => ({ name: `w${place}`, wait: place ? 5e8 : 0, half: 1e6, longest: 5e6 })),
			[[1, 0, 5e8]],
		);
		const [first] = verdict(summary, summary.processes, holdsOf);
		assert.equal(first.replaceAll('\u202f', ' '), `${count - 1} threads spent 50 % of their lives waiting for the GIL.`);
	});

	test('few of many', () => {
		const { sentences: say } = madeUp(
			['python3', 'a', 'b', 'c', 'w'].map((name) => ({ name, wait: name === 'w' ? 5e8 : 0, half: 1.2e6, longest: 4e6 })),
			[[4, 1, 22e7], [4, 2, 20e7], [4, 3, 3e7], [4, null, 5e7]],
		);
		assert.equal(
			say(),
			'“w” spent 50 % of its life waiting for the GIL. For 84 % of that time “a” and “b” held it, in turns of about 1.2 ms.',
		);
	});

	test('one that held it for a part, and nobody for the rest', () => {
		const { sentences: say } = madeUp(
			[{ name: 'python3', half: 1e6, longest: 2e6 }, { name: 'w', wait: 5e8, longest: 2e6 }],
			[[1, 0, 25e7], [1, null, 25e7]],
		);
		assert.equal(
			say(),
			'“w” spent 50 % of its life waiting for the GIL. For 50 % of that time the main thread held it. ' +
				'For 50 % nobody held it: it was being handed over.',
		);
	});

	test('handing over, nothing, and no GIL', () => {
		assert.match(
			madeUp([{ name: 'python3', has: 5e8, wait: 1e8 }], [[0, null, 1e8]]).sentences(),
			/^The main thread spent 10 % of its life waiting for the GIL\. All that time nobody held it: it was being handed over/,
		);
		assert.equal(
			madeUp([{ name: 'python3', has: 5e8, wait: 1e6, longest: 1e6 }], [[0, null, 1e6]]).sentences(),
			'Nobody had to wait for the GIL to speak of: the longest wait was 1.000 ms.',
		);
		assert.match(madeUp([{ name: 'python3' }], []).sentences(), /No thread ever held the GIL: it is off .*free-threaded/);
	});

	test('threads without names', () => {
		const { sentences: say } = madeUp(
			['python3', 'python3', 'python3', 'python3'].map((name, place) => ({ name, wait: place > 1 ? 4e8 + place : 0 })),
			[[2, 1, 4e8 + 2], [3, 1, 4e8 + 3]],
		);
		assert.equal(say(), 'Threads 102 and 103 spent 40 % of their lives waiting for the GIL. All that time thread 101 held it.');
	});

	test('names in sentences', () => {
		const { sentences: say } = madeUp(
			[
				{ name: 'python3', has: 5e8 },
				{ name: '\u202egnp.exe\u2066', wait: 5e8 },
				{ name: '\u05d0\u05d1', wait: 5e8 },
				{ name: 'same', wait: 5e8 },
				{ name: 'same', wait: 5e8 },
			],
			[[1, 0, 5e8]],
		);
		assert.match(say(), /^“\\u202egnp\.exe\\u2066”, “\u2068\u05d0\u05d1\u2069”, “same” \(103\) and “same” \(104\) spent/);
	});
});

describe('blame: page', { skip: reason ?? false }, () => {
	const withPage = suiteTabs();

	/** @param {import('playwright-core').Page} tab */
	const pressed = (tab) =>
		tab.$$eval('.matrix [aria-pressed=true]', (buttons) =>
			buttons.map((button) => /** @type {HTMLElement} */ (button).dataset.key),
		);

	/**
	 * Compares each cell, and each sum, with the summary.
	 * @param {import('playwright-core').Page} tab
	 * @param {Summary} summary
	 */
	async function compareMatrix(tab, summary) {
		const cells = await tab.$$eval('.matrix td button', (buttons) =>
			buttons.map((button) => [
				/** @type {HTMLElement} */ (button).dataset.key ?? '',
				Number(/** @type {HTMLElement} */ (button.parentElement).dataset.value),
			]),
		);
		const expected = summary.blame.map(({ pid, waiter, holder, ns }) => [`${pid}.${waiter}-${holder ?? 'none'}`, ns]);
		/** @param {unknown[][]} list */
		const sorted = (list) => list.map(String).sort();
		assert.deepEqual(sorted(cells), sorted(expected));
		const rows = await tab.$$eval('.matrix tbody tr', (elements) =>
			elements.map((row) => [
				row.querySelector('th button')?.getAttribute('data-key'),
				Number(row.querySelector('.sum')?.getAttribute('data-value')),
			]),
		);
		for (const { pid, threads } of summary.processes)
			for (const { tid, gil_wait_ns } of threads) {
				const row = rows.find(([key]) => key === `${pid}.${tid}-*`);
				assert.equal(row?.[1] ?? 0, gil_wait_ns);
			}
	}

	for (const scenario of ['two', 'service', 'processes', 'lossy', 'hostile'])
		test(`${scenario}: the matrix has the summary's values`, async () => {
			const { path, summary } = page(scenario);
			await withPage(path, {}, async (tab) => {
				await compareMatrix(tab, summary);
				const tables = await tab.locator('.matrix').count();
				assert.equal(tables, scenario === 'processes' ? 3 : 1);
				/* The darkest is the greatest, and is of the most. */
				const heat = await tab.$$eval('.matrix td button', (buttons) =>
					buttons.map((button) => [
						Number(/** @type {HTMLElement} */ (button.parentElement).dataset.value),
						parseFloat(/** @type {HTMLElement} */ (button.parentElement).style.getPropertyValue('--heat-part')),
					]),
				);
				const most = Math.max(...heat.map(([ns]) => ns));
				assert.equal(heat.find(([ns]) => ns === most)?.[1], 100);
				assert.equal(await tab.locator('.matrix th:not([scope])').count(), 0);
				assert.equal(await tab.locator('img').count(), 0);
				assert.doesNotMatch(await tab.title(), /^owned$/);
			});
		});

	test('a real run: matrix, verdict, filter', { skip: cannotRecord }, async () => {
		const { path, summary } = realRun();
		await withPage(path, {}, async (tab) => {
			await compareMatrix(tab, summary);
			assert.match((await tab.locator('.verdict').textContent()) ?? '', /waiting for the GIL/);
			const cell = tab.locator('.matrix td button').first();
			await cell.click();
			assert.deepEqual(await pressed(tab), [await cell.getAttribute('data-key')]);
			assert.ok((await tab.locator('#longest-list li').count()) > 0);
		});
	});

	test('a click shows only those waits, another one all', async () => {
		const { path, summary } = page('service');
		await withPage(path, {}, async (tab) => {
			const chip = tab.locator('#filter-chip');
			const chosen = tab.locator('[data-key="4200.4203-4201"]');
			const ns = summary.blame.find(({ waiter, holder }) => waiter === 4203 && holder === 4201)?.ns ?? 0;
			assert.equal(await chip.isVisible(), false);
			await chosen.click();
			assert.deepEqual(await pressed(tab), ['4200.4203-4201']);
			assert.match((await chip.textContent()) ?? '', /^Only waits of .?reader.? for .?worker-1.?\d+ waits, /);
			assert.ok((await chip.textContent())?.includes(`${(ns / 1e9).toFixed(3)}\u202fs`));
			const longest = await tab.$$eval('#longest-list button', (buttons) =>
				buttons.map((button) => Number(/** @type {HTMLElement} */ (button).dataset.value)),
			);
			assert.equal(longest.length, 10);
			assert.deepEqual([...longest].sort((a, b) => b - a), longest);
			assert.equal(await tab.locator('#longest-list .who').filter({ hasText: /readerfor/ }).count(), 10);

			await chosen.click();
			assert.deepEqual(await pressed(tab), []);
			assert.equal(await chip.isVisible(), false);
			await tab.locator('[data-key="4200.*-4201"]').click();
			assert.deepEqual(await pressed(tab), ['4200.*-4201']);
			await tab.locator('[data-key="4200.4203-*"]').click();
			assert.deepEqual(await pressed(tab), ['4200.4203-*']);
			await chip.click();
			assert.deepEqual(await pressed(tab), []);
			await chosen.click();
			await tab.keyboard.press('Escape');
			assert.deepEqual(await pressed(tab), []);
			await chosen.click();
			await tab.locator('#blame-chip').click();
			assert.equal(await tab.locator('#blame-chip').isVisible(), false);
		});
	});

	test('keys go from cell to cell', async () => {
		await withPage(page('service').path, {}, async (tab) => {
			const tabbable = tab.locator('.matrix button[tabindex="0"]');
			const focused = () => tab.evaluate("document.activeElement.dataset.key ?? ''");
			assert.equal(await tabbable.count(), 1);
			await tabbable.focus();
			const first = await focused();
			await tab.keyboard.press('ArrowDown');
			const below = await focused();
			assert.notEqual(below, first);
			assert.match(String(below), /^4200\.\d+-/);
			await tab.keyboard.press('End');
			const end = await focused();
			assert.match(String(end), /-none$/);
			await tab.keyboard.press('Home');
			assert.match(String(await focused()), /-\*$/);
			/* Cells of no time are stepped over, and there is no way out at the edges. */
			for (let i = 0; i < 20; i++)
				await tab.keyboard.press('ArrowRight');
			assert.equal(await focused(), end);
			for (let i = 0; i < 20; i++)
				await tab.keyboard.press('ArrowUp');
			assert.equal(await focused(), '4200.*-none');
			await tab.keyboard.press('Enter');
			assert.deepEqual(await pressed(tab), ['4200.*-none']);
			assert.equal(await tabbable.count(), 1);
			await tab.keyboard.press('Escape');
			assert.deepEqual(await pressed(tab), []);
		});
	});

	test('n and p go through the waits that are shown', async () => {
		const { path, html } = page('service');
		const { lanes, intervals } = await readPage(html);
		const { waits, spans } = findWaits(intervals, lanes, { pid: 4200, waiter: 4203, holder: 4202 });
		const lane = lanes.findIndex(({ thread }) => thread.tid === 4203);
		const starts = [...new Set(waits.slice(spans[lane]?.first, spans[lane]?.last))].map((wait) => intervals.start[wait]);
		await withPage(path, {}, async (tab) => {
			await tab.locator('[data-key="4200.4203-4202"]').click();
			const place = async () => (await tab.locator('#place').textContent()) ?? '';
			/** @param {number} index */
			const moment = (index) => (starts[index] / 1e9).toFixed(3);
			for (const index of [0, 1, 2]) {
				await tab.keyboard.press('n');
				assert.match(await place(), /reader/);
				assert.ok((await place()).includes(moment(index).slice(0, -1)), `${index}: ${moment(index)} in ${await place()}`);
			}
			await tab.keyboard.press('p');
			assert.ok((await place()).includes(moment(1).slice(0, -1)));
		});
	});

	test('a click at a long wait goes there', async () => {
		await withPage(page('service').path, {}, async (tab) => {
			await tab.locator('#longest-list button').first().click();
			assert.equal(await tab.locator('#mark').isVisible(), true);
			const shown = parseFloat((await tab.locator('#range').textContent()) ?? '');
			assert.ok(shown < 100, String(shown));
			const mark = /** @type {{width: number}} */ (await tab.locator('#mark').boundingBox());
			const pane = /** @type {{width: number}} */ (await tab.locator('#window').boundingBox());
			assert.ok(mark.width > 0.2 * pane.width && mark.width < 0.5 * pane.width);
		});
	});

	test('what is out of sight is gone to', async () => {
		const { path, html } = page('two');
		const { lanes, intervals } = await readPage(html);
		const { intervals: pieces } = findWaits(intervals, lanes, { pid: 4200, waiter: 4200, holder: '*' });
		assert.ok(pieces.start.length > 0 && pieces.start[0] > 1e8);
		await withPage(path, {}, async (tab) => {
			const pane = /** @type {{x: number, y: number}} */ (await tab.locator('#window').boundingBox());
			await tab.mouse.move(pane.x + 2, pane.y + 40);
			for (let i = 0; i < 20; i++)
				await tab.mouse.wheel(0, -200);
			const near = await tab.locator('#range').textContent();
			await tab.waitForTimeout(100);
			await tab.locator('[data-key="4200.4200-*"]').click();
			await tab.waitForTimeout(100);
			assert.notEqual(await tab.locator('#range').textContent(), near);
		});
	});

	test('200 threads are folded, and unfolded', async () => {
		const { path, summary } = page('many');
		await withPage(path, { width: 1440 }, async (tab) => {
			assert.equal(await tab.locator('.matrix tbody tr').count(), 13);
			assert.equal(await tab.locator('.matrix thead th').count(), 14);
			assert.match(await tab.locator('.matrix tbody tr').last().innerText(), /^188 others/);
			assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'));
			const all = summary.blame.reduce((sum, { ns }) => sum + ns, 0);
			assert.equal(Number(await tab.locator('.matrix .total').getAttribute('data-value')), all);
			await tab.locator('#blame-tables .more').click();
			await tab.waitForFunction("document.querySelectorAll('.matrix tbody tr').length > 99");
			assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'));
			const sums = await tab.$$eval('.matrix tbody .sum', (cells) =>
				cells.reduce((sum, cell) => sum + Number(/** @type {HTMLElement} */ (cell).dataset.value), 0),
			);
			assert.equal(sums, all);
		});
	});

	test('histograms follow the chosen thread', async () => {
		const { path, summary } = page('service');
		await withPage(path, {}, async (tab) => {
			const caption = async () => (await tab.locator('#lengths-waits .caption').textContent()) ?? '';
			/** @param {string} id */
			const counted = (id) =>
				tab.$$eval(`#${id} tbody tr td:nth-child(2)`, (cells) =>
					cells.reduce((sum, cell) => sum + Number((cell.textContent ?? '').replace(/\D/g, '')), 0),
				);
			const { threads } = summary.processes[0];
			assert.equal(await counted('lengths-waits'), threads.reduce((sum, { acquired }) => sum + (acquired ?? 0), 0));
			await tab.locator('#labels .lane').nth(3).click();
			assert.equal(await counted('lengths-waits'), threads[3].acquired);
			assert.doesNotMatch(await caption(), /≈/);
			await tab.locator('#lengths-thread').selectOption('-1');
			assert.match(await caption(), /≈/);
			/* Until another thread is chosen, it stays so; and without one, all are meant. */
			await tab.focus('#plot');
			await tab.keyboard.press('.');
			assert.match(await caption(), /≈/);
			await tab.keyboard.press('ArrowDown');
			assert.doesNotMatch(await caption(), /≈/);
			await tab.keyboard.press('Escape');
			assert.match(await caption(), /≈/);
			const bar = tab.locator('#lengths-holds .bin').last();
			await bar.hover();
			assert.match(await tab.locator('#hover').innerText(), /^\d[\d\s]* holds? of \d[^,]* to \d[^,]*s, \d/u);
			assert.ok((await tab.locator('#lengths-holds .tick').count()) >= 2);
		});
	});

	test('nothing to blame, and no GIL', async () => {
		await withPage(page('empty').path, {}, async (tab) => {
			assert.equal(await tab.locator('#blame-tables').innerText(), 'Nobody waited.');
			for (const id of ['#lengths', '#longest', '#filter-chip'])
				assert.equal(await tab.locator(id).isVisible(), false, id);
			for (const key of ['n', 'p', 'Escape'])
				await tab.keyboard.press(key);
		});
		await withPage(page('unwatched').path, {}, async (tab) => {
			assert.equal(await tab.locator('#blame').isVisible(), false);
		});
	});

	test('on paper: all rows and columns, in light colours', async () => {
		for (const scenario of ['many', 'stacks', 'hostile', 'processes'])
			await withPage(page(scenario).path, { theme: 'dark' }, async (tab) => {
				await tab.emulateMedia({ media: 'print', colorScheme: 'dark' });
				/* A4 less its margins, at 96 dots an inch. */
				for (const width of [703, 1032]) {
					await tab.setViewportSize({ width, height: 900 });
					const edges = await tab.$$eval('table', (tables) => tables.map((table) => table.getBoundingClientRect().right));
					assert.ok(Math.max(...edges) <= width + 1, `${scenario} ${width}: ${edges}`);
				}
				assert.equal(await tab.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)');
				for (const id of ['#timeline', '#flame'])
					assert.equal(await tab.locator(id).isVisible(), false);
				assert.equal(await tab.locator('.matrix').first().isVisible(), true);
				const scroll = tab.locator('#gil-table .table-scroll');
				assert.ok(await scroll.evaluate((element) => element.scrollHeight <= element.clientHeight + 1));
			});
	});

	test('what the page leaves out of its intervals or its pairs is said', async () => {
		const path = temporary('folded.html');
		const { html } = page('service');
		const extra = '"folded":{"quantum_ns":2000,"intervals":7,"states":0},"blame_left":{"pairs":12345,"ns":1500000},';
		writeFileSync(path, html.replace('"duration_ns":', extra + '"duration_ns":'));
		await withPage(path, {}, async (tab) => {
			assert.match(await tab.locator('#blame').innerText(), /Not in here: 12\u202f345 pairs of threads, 1\.500\u202fms in all\./);
			await tab.locator('.matrix td button').first().click();
			assert.match((await tab.locator('#filter-chip').getAttribute('title')) ?? '', /shorter than 2\.000\u202fµs, this is not exact/);
		});
	});

	test('with colours of the system’s own, bars are still seen', async () => {
		await withPage(page('two').path, {}, async (tab) => {
			await tab.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
			for (const selector of ['#threads .bar .has', '#lengths-holds .fill'])
				assert.equal(
					await tab.locator(selector).first().evaluate((element) => getComputedStyle(element).backgroundColor),
					'rgb(31, 108, 184)',
					selector,
				);
			await tab.locator('.matrix td button').first().click();
			assert.equal((await pressed(tab)).length, 1);
		});
	});

	test('a long command can be read to its end', async () => {
		const { html } = page('two');
		const command = Array.from({ length: 200 }, (_, i) => `--word-${i}`);
		const path = temporary('long.html');
		const text = html.replace('"command":["count.py"]', `"command":${JSON.stringify(command)}`);
		assert.notEqual(text, html);
		writeFileSync(path, text);
		await withPage(path, { width: 1024 }, async (tab) => {
			const heading = tab.locator('h1');
			assert.ok((await heading.innerText()).length < 330);
			await tab.locator('.more-command').click();
			assert.equal(await heading.innerText(), command.join(' '));
			assert.equal(await tab.locator('.more-command').getAttribute('aria-expanded'), 'true');
			assert.ok((await tab.title()).length < 130);
			assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'));
		});
	});

	test('everything has a name, and headings are in order', async () => {
		for (const scenario of ['service', 'stacks', 'empty', 'processes'])
			await withPage(page(scenario).path, {}, async (tab) => {
				const session = await tab.context().newCDPSession(tab);
				const { nodes } = await session.send('Accessibility.getFullAXTree');
				let level = 0;
				for (const { role, name, ignored, properties } of nodes) {
					if (ignored)
						continue;
					if (['button', 'textbox', 'searchbox', 'combobox', 'heading', 'region', 'table', 'application'].includes(role?.value))
						assert.ok(name?.value, `${scenario}: a ${role?.value} without a name`);
					if (role?.value === 'heading') {
						const next = properties?.find((property) => property.name === 'level')?.value.value;
						assert.ok(next <= level + 1, `${scenario}: ${name?.value} is of level ${next} after ${level}`);
						level = next;
					}
				}
				assert.equal(level > 0, true);
				for (const role of ['main', 'heading'])
					assert.ok(nodes.some((node) => node.role?.value === role), role);
			});
	});
});
