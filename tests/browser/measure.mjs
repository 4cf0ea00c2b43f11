// SPDX-License-Identifier: MIT
/*
 * scripts/page-measure [INTERVALS…]: how large a page is, how soon it is painted and complete, and how
 * long a frame takes while it is zoomed and panned, in headless Chromium.
 */

import { statSync } from 'node:fs';

import { missing, openPage, startBrowser } from './chromium.mjs';
import { makePage, page } from './pages.mjs';

const FRAMES = 120;
/* Times what the page does in each frame. */
const WATCH = `{
	const ask = window.requestAnimationFrame.bind(window);
	window.frameTimes = [];
	window.requestAnimationFrame = (draw) => ask((time) => {
		const start = performance.now();
		draw(time);
		window.frameTimes.push(performance.now() - start);
	});
}`;

const reason = makePage ? await missing() : 'make_page is not built';
if (reason) {
	console.error(`page-measure: ${reason}`);
	process.exit(2);
}

/** @param {number[]} times @param {number} part */
const percentile = (times, part) => [...times].sort((a, b) => a - b)[Math.floor((times.length - 1) * part)];

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1e6];
const browser = await startBrowser();
console.log('scenario   intervals    page, MB   painted, ms   complete, ms   frame p50, ms   p95, ms   heap, MB');
for (const [scenario, count] of [
	...counts.map((n) => /** @type {const} */ (['million', n])),
	...counts.map((n) => /** @type {const} */ (['million-stacks', n])),
	...counts.map((n) => /** @type {const} */ (['many', n])),
]) {
	const { path } = page(scenario, count);
	const { page: tab, close } = await openPage(browser, path, { width: 1600, height: 1000, script: WATCH });
	const [painted, complete] = /** @type {number[]} */ (
		await tab.evaluate(`[
			performance.getEntriesByType('paint').at(-1)?.startTime ?? NaN,
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
	const heap = /** @type {number} */ (await tab.evaluate('performance.memory.usedJSHeapSize'));
	const figures = [
		scenario.padEnd(8),
		String(count).padStart(11),
		(statSync(path).size / 1e6).toFixed(2).padStart(11),
		painted.toFixed(0).padStart(13),
		complete.toFixed(0).padStart(14),
		percentile(times.filter((time) => time > 0.05), 0.5).toFixed(1).padStart(15),
		percentile(times.filter((time) => time > 0.05), 0.95).toFixed(1).padStart(9),
		(heap / 1e6).toFixed(0).padStart(10),
	];
	console.log(figures.join(' '));
	await close();
}
await browser.close();
