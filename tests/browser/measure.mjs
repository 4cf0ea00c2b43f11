// SPDX-License-Identifier: MIT
/*
 * scripts/page-measure: how large pages are, how soon their head and table are painted, how soon all is
 * there, how long frames take while one zooms and pans, and how much memory the browser needs for a page; in
 * headless Chromium. Each page is opened three times, each time by a new browser that has shown the empty page
 * before: the first page of all has to wait for the browser itself. The figure in the middle counts. Fails when a number
 * that must hold does not. On a machine that does other things meanwhile, times tell more of those.
 */

import { readFileSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';

import { missing, openPage, startBrowser } from './chromium.mjs';
import { largePage, makePage, page } from './pages.mjs';

const ROUNDS = 3;
const FRAMES = 120;
/* What must hold. */
const EMPTY_BYTES = 150e3;
const EVENTS_BYTES = 6e6;
const EVENTS = 1.2e6;
const INTERVALS = 10e6;
const OPEN_MS = 3000;
const MEMORY_BYTES = 700e6;
const FRAME_MS = 16;
const PAINT_MS = 300;
/* Times what the page does in each frame, and notes the first one that has a table to paint. */
const WATCH = `{
	const ask = window.requestAnimationFrame.bind(window);
	window.frameTimes = [];
	window.requestAnimationFrame = (draw) => ask((time) => {
		const start = performance.now();
		draw(time);
		window.frameTimes.push(performance.now() - start);
	});
	const look = () => {
		if (document.querySelector('#head h1') && document.querySelector('#threads tbody tr + tr'))
			window.tableTime = performance.now();
		else
			ask(look);
	};
	ask(look);
}`;

const reason = makePage ? await missing() : 'make_page is not built';
if (reason) {
	console.error(`page-measure: ${reason}`);
	process.exit(2);
}

/** @param {number[]} values @param {number} part */
const percentile = (values, part) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)];

/**
 * The most memory that any process that shows pages had at once: all that it has mapped and touched, of
 * the browser's own code too.
 * @param {import('playwright-core').Browser} browser
 */
async function mostMemory(browser) {
	const session = await browser.newBrowserCDPSession();
	const { processInfo } = await session.send('SystemInfo.getProcessInfo');
	await session.detach();
	return Math.max(
		...processInfo
			.filter(({ type }) => type === 'renderer')
			.map(({ id }) => {
				const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, 'utf8')) ?? [];
				return Number(kilobytes) * 1024;
			}),
	);
}

/** @param {string} path */
async function openOnce(path) {
	const browser = await startBrowser();
	const warm = await openPage(browser, page('empty').path);
	await warm.close();
	const { page: tab, requests, close } = await openPage(browser, path, {
		width: 1600,
		height: 1000,
		script: WATCH,
	});
	const [painted, complete] = /** @type {number[]} */ (
		await tab.evaluate(`[
			Math.max(window.tableTime, performance.getEntriesByName('first-contentful-paint')[0].startTime),
			Number(document.documentElement.dataset.ready),
		]`)
	);
	const pane = /** @type {{x: number, y: number, width: number, height: number}} */ (
		await tab.locator('#window').boundingBox()
	);
	await tab.mouse.move(pane.x + pane.width * 0.4, pane.y + pane.height / 2);
	await tab.evaluate('window.frameTimes.length = 0');
	for (let i = 0; i < FRAMES; i++) {
		/* In by a factor of a million, panning on the way, and out again. */
		await tab.mouse.wheel(i % 5 === 4 ? 120 : 0, i % 5 === 4 ? 0 : i < FRAMES / 2 ? -150 : 150);
		await tab.evaluate('new Promise((done) => requestAnimationFrame(done))');
	}
	const times = /** @type {number[]} */ (await tab.evaluate('window.frameTimes'));
	const frame = percentile(times.filter((time) => time > 0.05), 0.95);
	const memory = await mostMemory(browser);
	await close();
	await browser.close();
	/* The page itself is the one that it may ask for. */
	return { painted, complete, frame, memory, requests: requests.filter((url) => !url.startsWith('data:')).length - 1 };
}

/** When the empty page is painted by a browser that has shown it before. */
async function paintOfEmpty() {
	const browser = await startBrowser();
	const { path } = page('empty');
	await (await openPage(browser, path)).close();
	const { page: tab } = await openPage(browser, path, { width: 1600, height: 1000 });
	const painted = await tab.evaluate(
		() => performance.getEntriesByName('first-contentful-paint')[0].startTime,
	);
	await browser.close();
	return painted;
}

/** @typedef {Awaited<ReturnType<typeof openOnce>>} Figures */

let failures = 0;
/**
 * @param {string} what
 * @param {number} value
 * @param {number} limit
 * @param {(value: number) => string} format
 */
function check(what, value, limit, format) {
	const holds = value < limit;
	failures += holds ? 0 : 1;
	console.log(`${holds ? 'PASS' : 'FAIL'}  ${what}: ${format(value)} (must be below ${format(limit)})`);
}

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
/** @param {number} ms */
const milliseconds = (ms) => `${ms.toFixed(ms < 100 ? 1 : 0)} ms`;

/**
 * How many intervals a trace has to have for so many in the page, or for so many events.
 * @param {string} scenario
 * @param {'intervals' | 'events'} what
 * @param {number} count
 */
function intervalsFor(scenario, what, count) {
	const small = 200000;
	const { html, summary } = page(scenario, small);
	const made = what === 'events' ? summary.events : Number(/"intervals": ?(\d+),"summary"/.exec(html)?.[1]);
	return Math.ceil((count / made) * small);
}

check('empty report', statSync(page('empty').path).size, EMPTY_BYTES, megabytes);
const events = page('million', intervalsFor('million', 'events', EVENTS));
check(
	`${events.summary.events} GIL events`,
	(statSync(events.path).size * EVENTS) / events.summary.events,
	EVENTS_BYTES,
	megabytes,
);

/** @type {[string, string, number][]} text, scenario, intervals of the trace */
const pages = [
	['6 threads, 1 M', 'million', intervalsFor('million', 'intervals', 1e6)],
	['6 threads, 10 M', 'million', intervalsFor('million', 'intervals', INTERVALS)],
	['200 threads, 10 M', 'many', intervalsFor('many', 'intervals', INTERVALS)],
	['2000 threads, 0.5 M', 'crowd', 1e6],
	['6 threads, states and stacks', 'million-stacks', 10e6],
];
/* What a page can be at best: one with nothing in it. */
const floors = [];
for (let i = 0; i < ROUNDS; i++)
	floors.push(await paintOfEmpty());
console.log(`      empty report: painted after ${milliseconds(percentile(floors, 0.5))}`);

const rows = [];
for (const [text, scenario, intervals] of pages) {
	const path = largePage(scenario, intervals);
	/** @type {Figures[]} */
	const rounds = [];
	for (let i = 0; i < ROUNDS; i++)
		rounds.push(await openOnce(path));
	/** @param {keyof Figures} key */
	const middle = (key) => percentile(rounds.map((figures) => figures[key]), 0.5);
	check(`${text}: head and table painted`, middle('painted'), PAINT_MS, milliseconds);
	check(`${text}: opened`, middle('complete'), OPEN_MS, milliseconds);
	check(`${text}: memory`, middle('memory'), MEMORY_BYTES, megabytes);
	check(`${text}: frame, p95`, middle('frame'), FRAME_MS, milliseconds);
	check(`${text}: requests`, Math.max(...rounds.map(({ requests }) => requests)), 1, String);
	rows.push([
		text,
		megabytes(statSync(path).size),
		...[middle('painted'), middle('complete'), middle('frame')].map(milliseconds),
		megabytes(middle('memory')),
	]);
}

console.log('\n| page | size | head and table | complete | frame, p95 | memory |');
console.log('|---|---|---|---|---|---|');
for (const row of rows)
	console.log(`| ${row.join(' | ')} |`);
console.log(`\nEach the middle of ${ROUNDS} rounds; load of this machine at the end: ${loadavg()[0].toFixed(1)}.`);
process.exit(failures > 0 ? 1 : 0);
