// SPDX-License-Identifier: MIT
/* The rows of the timeline in a real Chromium: lanes of GILs, arrows, the map of all, and what moves rows. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { deflateSync, inflateSync } from 'node:zlib';

import { KIND_HAS, KIND_WAIT, holdersDuring, intervalAt } from '../../lib/render/viewer/lanes.js';
import { missing } from './chromium.mjs';
import { cannotRecord, elementText, makePage, page, readPage, temporary } from './pages.mjs';
import { laneTop, rowTop } from './rows.mjs';
import { addressWritten, suiteTabs } from './tabs.mjs';

const reason = makePage ? await missing() : 'make_page is not built (meson compile, or set GILTRACE_MAKE_PAGE)';

/** @typedef {import('playwright-core').Page} Tab */
/** @typedef {{x: number, y: number, width: number, height: number}} Box */

/* In a row: of the chart of those who wait, of the holders, of a thread's bar. */
const CHART = 16;
const HOLDERS = 35;
const BAR = 14;

/** @param {Tab} tab @param {string} selector */
async function boxOf(tab, selector) {
	const box = await tab.locator(selector).first().boundingBox();
	assert.ok(box, selector);
	return /** @type {Box} */ (box);
}

/** Until what was done is drawn. @param {Tab} tab */
async function frame(tab) {
	await tab.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

/** @param {Tab} tab @param {string} keys */
async function press(tab, keys) {
	for (const key of keys.split(' '))
		await tab.keyboard.press(key);
	await frame(tab);
}

/** The part of the trace that is seen. @param {Tab} tab */
async function view(tab) {
	await frame(tab);
	const { from, to } = /** @type {{from: string, to: string}} */ (
		await tab.evaluate('({ ...document.getElementById("minimap-frame").dataset })')
	);
	return { from: Number(from), to: Number(to) };
}

/** The lanes that have rows, from above. @param {Tab} tab */
async function seenLanes(tab) {
	await frame(tab);
	return tab.$$eval('#labels .lane', (labels) =>
		labels
			.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
			.map((label) => Number(/** @type {HTMLElement} */ (label).dataset.lane)),
	);
}

/**
 * The colours, as #rrggbb, of a column of pixels of the lanes, and how many pixels each has.
 * @param {Tab} tab
 * @param {number} x of CSS, in the window
 * @param {number} top on the screen
 * @param {number} height
 * @param {number} [width]
 * @returns {Promise<Record<string, number>>}
 */
async function coloursAt(tab, x, top, height, width = 1) {
	const pane = await boxOf(tab, '#window');
	return tab.evaluate(([left, up, wide, high]) => {
		const shown = /** @type {HTMLCanvasElement} */ (document.getElementById('pixels'));
		const copy = Object.assign(document.createElement('canvas'), { width: wide, height: high });
		const context = /** @type {CanvasRenderingContext2D} */ (copy.getContext('2d'));
		context.drawImage(shown, -left, -up);
		const { data } = context.getImageData(0, 0, wide, high);
		/** @type {Record<string, number>} */
		const counts = {};
		for (let i = 0; i < data.length; i += 4) {
			const colour = '#' + [...data.subarray(i, i + 3)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
			counts[colour] = (counts[colour] ?? 0) + 1;
		}
		return counts;
	}, [Math.round(x), Math.round(top - pane.y), width, height]);
}

/** @param {Tab} tab @param {string} name */
function property(tab, name) {
	return tab.evaluate(
		(key) => getComputedStyle(document.documentElement).getPropertyValue(key).trim(),
		name,
	);
}

/** @param {Tab} tab @param {number} x on the screen @param {number} y */
async function hover(tab, x, y) {
	await tab.mouse.move(x, y);
	return (await tab.locator('#hover').isVisible()) ? ((await tab.locator('#hover').textContent()) ?? '') : '';
}

/** The address's fragment when it has been written. @param {Tab} tab @returns {Promise<string>} */
async function written(tab) {
	await addressWritten(tab);
	return tab.evaluate('decodeURIComponent(location.hash)');
}

/**
 * What the page's arrows tell.
 * @param {Tab} tab
 */
function arrowsOf(tab) {
	return tab.$$eval('#arrows .arrow', (arrows) =>
		arrows
			.map((arrow) => {
				const { lane, ns, seen } = /** @type {SVGElement} */ (arrow).dataset;
				const { left, top, bottom } = /** @type {Element} */ (arrow.querySelector('.shaft')).getBoundingClientRect();
				return { lane: Number(lane), ns: Number(ns), seen: seen === 'true', x: left, top, bottom };
			})
			.sort((a, b) => b.ns - a.ns),
	);
}

describe('lanes', { skip: reason ?? false }, () => {
	const withTab = suiteTabs({ height: 1300 });

	/**
	 * With the focus in the timeline.
	 * @param {string} path
	 * @param {import('./chromium.mjs').Options} options
	 * @param {import('./tabs.mjs').Use} use
	 */
	const withPage = (path, options, use) =>
		withTab(path, options, async (tab) => {
			await tab.focus('#plot');
			await frame(tab);
			await use(tab);
		});

	/** A page whose timeline can be reached: what other parts of the page set in it, a test can set. */
	function openedPage() {
		const { html } = page('service');
		const path = temporary('opened.html');
		const packed = elementText(html, 'viewer');
		const script = inflateSync(Buffer.from(packed, 'base64')).toString();
		const opened = script.replace(
			/return timeline;/,
			'return Object.assign(window, { timeline, makeIntervals }).timeline;',
		);
		assert.notEqual(opened, script);
		const changed = html.replace(packed, deflateSync(opened).toString('base64'));
		writeFileSync(path, changed);
		return path;
	}

	for (const scenario of ['two', 'processes', 'many', 'lossy', 'stacks'])
		test(`${scenario}: each GIL has a lane with holders and waiters`, async () => {
			const { path, html, summary } = page(scenario);
			const { lanes } = await readPage(html);
			const gils = summary.processes.flatMap((process) => process.gils);
			await withPage(path, { width: 1024 }, async (tab) => {
				const labels = await tab.locator('#labels .gil-label').allInnerTexts();
				assert.equal(labels.length, gils.length);
				for (const text of labels)
					assert.match(text, /how many wait\s*max \d+\s*GIL, by holder\s*held \d/);
				for (const { id } of gils) {
					const top = await rowTop(tab, `[data-gil="${id}"]`);
					const pane = await boxOf(tab, '#window');
					const chart = await coloursAt(tab, 0, top + 4, 19, Math.round(pane.width));
					const bar = await coloursAt(tab, 0, top + 25, 20, Math.round(pane.width));
					assert.ok(chart[await property(tab, '--wait-stripe')] > 500);
					for (const holder of [0, 1])
						assert.ok(bar[await property(tab, `--holder-${holder}`)] > 50, `holder ${holder}`);
					/* At this zoom who has more has more pixels. */
					if (scenario === 'lossy')
						assert.ok(bar[await property(tab, '--holder-0')] > 5 * bar[await property(tab, '--holder-1')]);
				}
				/* A thread's row has the colour of its holds. */
				const held = lanes
					.filter(({ process }) => process === lanes[0].process)
					.sort((a, b) => Number(b.thread.has_gil_ns) - Number(a.thread.has_gil_ns));
				for (const [place, lane] of held.slice(0, 10).entries()) {
					const swatch = tab.locator(`#labels [data-lane="${lane.index}"] .swatch`);
					if (await swatch.count())
						assert.match(String(await swatch.getAttribute('class')), new RegExp(`holder-${Math.min(place, 8)}$`));
				}
				assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'));
			});
		});

	test('where nobody watched the GIL, there is none, and the map tells who runs', async () => {
		await withPage(page('unwatched').path, {}, async (tab) => {
			assert.equal(await tab.locator('#labels .gil-label').count(), 0);
			assert.equal(await tab.locator('#labels .swatch').count(), 0);
			assert.equal(await tab.locator('#sort-rows').isVisible(), false);
			const drawn = await tab.$eval('#minimap-pixels', (canvas) => {
				const { width, height } = /** @type {HTMLCanvasElement} */ (canvas);
				const context = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
				return context?.getImageData(0, 0, width, height).data.filter((_, i) => i % 4 === 3).reduce((a, b) => a + Number(b > 0), 0);
			});
			assert.ok(Number(drawn) > 1000);
		});
		await withPage(page('empty').path, {}, async (tab) => {
			assert.equal(await tab.locator('#labels .gil-label').count(), 0);
		});
	});

	test('hover over a GIL tells its holder and who waits, and far away their shares', async () => {
		const { path, html } = page('service');
		const { lanes, intervals } = await readPage(html);
		await withPage(path, {}, async (tab) => {
			const pane = await boxOf(tab, '#window');
			const top = await rowTop(tab, '.gil-label');
			const far = await hover(tab, pane.x + 400, top + HOLDERS);
			assert.match(far, /^(Held by|Nobody|Held \d+ times in one pixel)/);
			let many = 0;
			for (let i = 0; i < 30; i++) {
				const text = await hover(tab, pane.x + 300 + i, top + (i % 2 ? HOLDERS : CHART));
				if (!/times in one pixel/.test(text))
					continue;
				many++;
				const sum = [...text.matchAll(/(\d+\.\d)\u202f% ·/g)].reduce((total, [, share]) => total + Number(share), 0);
				assert.ok(Math.abs(sum - 100) < 0.5, text);
				assert.ok(Number(/wait, on average(\d+\.\d\d)/.exec(text)?.[1]) <= 5, text);
			}
			assert.ok(many > 10);

			await press(tab, 'w w w w w w w w w w w w');
			const { from, to } = await view(tab);
			let single = 0;
			for (let i = 2; i < 60; i++) {
				const x = Math.round((pane.width * i) / 60);
				const text = await hover(tab, pane.x + x, top + HOLDERS);
				const time = from + ((x + 0.5 - (pane.x % 1)) / pane.width) * (to - from);
				const holder = lanes.find((lane) => {
					const at = intervalAt(intervals, lane, time);
					return at >= 0 && intervals.kind[at] === KIND_HAS;
				});
				const told = /^Held by (\S+) \((\d+)\)/.exec(text);
				if (!told || holder?.thread.tid !== Number(told[2]))
					continue;
				single++;
				const waiters = lanes.filter((lane) => {
					const at = intervalAt(intervals, lane, time);
					return at >= 0 && intervals.kind[at] === KIND_WAIT;
				});
				if (waiters.length === 0)
					assert.match(text, /Nobody waits\.$/);
				else
					assert.ok(
						text.endsWith(
							`${waiters.length} wait${waiters.length === 1 ? 's' : ''}` +
								waiters.map(({ thread }) => `${thread.name} (${thread.tid})`).join(''),
						),
						text,
					);
			}
			assert.ok(single > 40, String(single));
		});
	});

	test('a click at a GIL chooses its holder', async () => {
		const { path } = page('service');
		await withPage(path, {}, async (tab) => {
			await press(tab, 'w w w w w w w w w w');
			const pane = await boxOf(tab, '#window');
			const y = (await rowTop(tab, '.gil-label')) + HOLDERS;
			let chosen = 0;
			for (let i = 1; i < 20 && chosen < 3; i++) {
				const x = pane.x + (pane.width * i) / 20;
				const told = /^Held by (\S+ \(\d+\))lasts(.*?)since/.exec(await hover(tab, x, y));
				if (!told)
					continue;
				await tab.mouse.click(x, y);
				await frame(tab);
				const panel = await tab.locator('#panel').innerText();
				assert.ok(panel.startsWith(told[1]), panel);
				assert.match(panel, /Holds the GIL/);
				assert.ok(panel.includes(told[2]), `${told[2]} in ${panel}`);
				const label = await boxOf(tab, '#labels .chosen');
				const mark = await boxOf(tab, '#mark');
				assert.ok(mark.y > label.y && mark.y + mark.height < label.y + label.height + 2);
				assert.ok(mark.x - 2 <= x && mark.x + mark.width + 2 >= x);
				chosen++;
			}
			assert.equal(chosen, 3);
		});
	});

	/**
	 * Chooses a wait with many holders by a click, and checks its arrows against the data.
	 * @param {Tab} tab
	 * @param {string} html
	 * @param {number} most lanes of the first process that are looked at
	 * @returns {Promise<{lane: number, holders: number[]}>}
	 */
	async function chooseWait(tab, html, most) {
		const { lanes, intervals } = await readPage(html);
		const pane = await boxOf(tab, '#window');
		for (let index = 0; index < most; index++) {
			const y = (await laneTop(tab, index)) + BAR;
			for (let i = 1; i < 12; i++) {
				const x = pane.x + (pane.width * i) / 12;
				if (!/^Waits for the GIL/.test(await hover(tab, x, y)))
					continue;
				await tab.mouse.click(x, y);
				await frame(tab);
				const { from, to } = await view(tab);
				const time = from + ((x - pane.x + 0.5) / pane.width) * (to - from);
				const wait = intervalAt(intervals, lanes[index], time);
				const holders = holdersDuring(intervals, lanes, lanes[index], wait).filter(({ lane }) => lane);
				const arrows = await arrowsOf(tab);
				if (arrows.length < 2)
					continue;
				assert.deepEqual(
					arrows.map(({ ns }) => ns),
					holders.slice(0, 6).map(({ ns }) => ns),
				);
				const mark = await boxOf(tab, '#mark');
				for (const arrow of arrows) {
					assert.ok(holders.some(({ lane, ns }) => lane?.index === arrow.lane && ns === arrow.ns));
					assert.ok(arrow.x >= mark.x - 1 && arrow.x <= mark.x + mark.width + 1, 'it starts at the wait');
				}
				return { lane: index, holders: arrows.map(({ lane }) => lane) };
			}
		}
		throw new Error('there is no wait with two holders');
	}

	test('arrows lead from a wait to its holders, and follow', async () => {
		const { path, html } = page('service');
		await withPage(path, {}, async (tab) => {
			await press(tab, 'w w w w w w w');
			const { lane, holders } = await chooseWait(tab, html, 6);
			assert.equal(await tab.locator('#panel').isVisible(), true);
			assert.match(await tab.locator('#panel').innerText(), /Held meanwhile by/);
			for (const arrow of await arrowsOf(tab)) {
				assert.equal(arrow.seen, true);
				const own = await laneTop(tab, lane);
				const other = await laneTop(tab, arrow.lane);
				/* From the one bar to the other, but for the head. */
				const [upper, lower] = own < other ? [own, other] : [other, own];
				assert.ok(Math.abs(arrow.top - (upper + BAR)) <= 6, `${arrow.top} at ${upper}`);
				assert.ok(Math.abs(arrow.bottom - (lower + BAR)) <= 6, `${arrow.bottom} at ${lower}`);
			}
			const texts = await tab.locator('#arrows text').allTextContents();
			assert.equal(texts.length, holders.length);
			for (const text of texts)
				assert.match(text, /^\S+ · [<\d]/);
			assert.equal(await tab.locator('#arrows .longest .shaft').count(), 1);

			/* It moves with what it points at. */
			const [first] = await arrowsOf(tab);
			const pane = await boxOf(tab, '#window');
			const [away, back] = first.x < pane.x + pane.width / 2 ? ['a', 'd'] : ['d', 'a'];
			await press(tab, away);
			const [second] = await arrowsOf(tab);
			assert.ok(Math.abs(Math.abs(first.x - second.x) - 0.15 * pane.width) < 2);
			await press(tab, back);

			/* A holder that is hidden is pointed at in the GIL's lane. */
			const hidden = holders[0];
			await tab.hover(`#labels [data-lane="${hidden}"]`);
			await tab.click(`#labels [data-lane="${hidden}"] .hide`);
			await frame(tab);
			const [moved] = await arrowsOf(tab);
			assert.equal(moved.lane, hidden);
			assert.equal(moved.seen, false);
			const gil = await rowTop(tab, '.gil-label');
			assert.ok(Math.abs(moved.top - (gil + HOLDERS)) <= 6);
			await tab.click('#labels .show-hidden');

			/* Away, and by the keyboard again. */
			await tab.focus('#plot');
			await press(tab, 'Escape');
			assert.equal((await arrowsOf(tab)).length, 0);
			assert.equal(await tab.locator('#panel').isVisible(), false);
			/** @type {number[]} */
			const counts = [];
			for (let i = 0; i < 12; i++) {
				await press(tab, '.');
				counts.push((await arrowsOf(tab)).length);
				const waits = /Waits for the GIL/.test((await tab.locator('#place').textContent()) ?? '');
				assert.equal(counts[i] > 0, waits);
			}
			await press(tab, ', ,');
			assert.equal((await arrowsOf(tab)).length, counts[9]);
		});
	});

	test('arrows to rows that are scrolled out end at the edge', async () => {
		const { path, html } = page('many');
		await withPage(path, {}, async (tab) => {
			await press(tab, 'w w w w w w');
			const { lane } = await chooseWait(tab, html, 6);
			const pane = await boxOf(tab, '#window');
			const arrows = await arrowsOf(tab);
			const rows = await tab.evaluate('document.getElementById("scroller").clientHeight / 28');
			const outside = arrows.filter((arrow) => arrow.lane > Number(rows));
			assert.ok(outside.length > 0);
			for (const arrow of outside) {
				assert.equal(arrow.seen, false);
				assert.ok(Math.abs(arrow.bottom - (pane.y + pane.height)) < 10);
			}
			const names = await tab.locator('#arrows text').allTextContents();
			assert.equal(names.length, arrows.length);
			await tab.evaluate('document.getElementById("scroller").scrollTop = 3000');
			await frame(tab);
			assert.ok((await arrowsOf(tab)).length > 0, `the wait of lane ${lane} is above`);
		});
	});

	test('the map of all shows, moves and makes the view', async () => {
		const { path, summary } = page('service');
		const duration = summary.end_ns - summary.start_ns;
		await withPage(path, {}, async (tab) => {
			const map = await boxOf(tab, '#minimap');
			const y = map.y + map.height / 2;
			/** @param {number} part */
			const at = (part) => map.x + map.width * part;
			assert.deepEqual(await view(tab), { from: 0, to: duration });
			/* A range. */
			await tab.mouse.move(at(0.2), y);
			await tab.mouse.down();
			await tab.mouse.move(at(0.3), y);
			assert.equal(await tab.locator('#minimap-range').isVisible(), true);
			await tab.mouse.move(at(0.4), y);
			await tab.mouse.up();
			let now = await view(tab);
			assert.ok(Math.abs(now.from / duration - 0.2) < 0.003 && Math.abs(now.to / duration - 0.4) < 0.003);
			const shown = await boxOf(tab, '#minimap-frame');
			assert.ok(Math.abs(shown.x - at(0.2)) < 3 && Math.abs(shown.x + shown.width - at(0.4)) < 3);
			/* The frame is dragged. */
			const length = now.to - now.from;
			await tab.mouse.move(at(0.3), y);
			await tab.mouse.down();
			await tab.mouse.move(at(0.45), y, { steps: 3 });
			await tab.mouse.move(at(0.5), y);
			await tab.mouse.up();
			now = await view(tab);
			assert.ok(Math.abs(now.from / duration - 0.4) < 0.003 && Math.abs(now.to - now.from - length) < 1);
			/* A click jumps. */
			await tab.mouse.click(at(0.8), y);
			now = await view(tab);
			assert.ok(Math.abs((now.from + now.to) / 2 / duration - 0.8) < 0.003);
			assert.ok(Math.abs(now.to - now.from - length) < 1);
			/* The wheel zooms about what is pointed at. */
			await tab.mouse.wheel(0, -300);
			await tab.waitForFunction(
				`Number(document.getElementById('minimap-frame').dataset.to) - Number(document.getElementById('minimap-frame').dataset.from) < ${0.9 * length}`,
			);
			now = await view(tab);
			assert.ok(now.from / duration < 0.8 && now.to / duration > 0.8);
			/* Its picture is there. */
			const [orange, drawn] = await Promise.all([
				property(tab, '--wait-stripe'),
				tab.$eval('#minimap-pixels', (canvas) => {
					const { width, height } = /** @type {HTMLCanvasElement} */ (canvas);
					const context = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
					return Array.from(context?.getImageData(width >> 1, height - 8, 1, 1).data ?? []);
				}),
			]);
			assert.equal('#' + drawn.slice(0, 3).map((byte) => byte.toString(16).padStart(2, '0')).join(''), orange);
			await tab.keyboard.press('f');
			assert.deepEqual(await view(tab), { from: 0, to: duration });
		});
	});

	test('a process is folded by pointer and keyboard', async () => {
		await withPage(page('processes').path, {}, async (tab) => {
			const fold = tab.locator('#labels .fold').nth(1);
			const all = await seenLanes(tab);
			assert.deepEqual(all, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
			assert.equal(await fold.getAttribute('aria-expanded'), 'true');
			await fold.click();
			assert.deepEqual(await seenLanes(tab), [0, 1, 2, 6, 7, 8]);
			assert.equal(await fold.getAttribute('aria-expanded'), 'false');
			assert.equal(await tab.locator('#labels .gil-label').count(), 3);
			await tab.keyboard.press('Enter');
			assert.deepEqual(await seenLanes(tab), all);
			await tab.keyboard.press('Space');
			assert.deepEqual(await seenLanes(tab), [0, 1, 2, 6, 7, 8]);
			/* Arrows go over what is folded; the table unfolds it. */
			await tab.focus('#plot');
			await press(tab, 'ArrowDown ArrowDown ArrowDown ArrowDown');
			assert.equal(await tab.locator('#labels .chosen').getAttribute('data-lane'), '6');
			await tab.locator('#threads tbody tr:not(.group)').nth(4).click();
			assert.deepEqual(await seenLanes(tab), all);
			assert.equal(await tab.locator('#labels .chosen').getAttribute('data-lane'), '4');
		});
	});

	test('threads are hidden, thin, moved and sorted', async () => {
		const { path, html } = page('service');
		const { lanes, intervals } = await readPage(html);
		await withPage(path, {}, async (tab) => {
			const place = () => tab.locator('#place').textContent();
			await press(tab, 'ArrowDown ArrowDown h');
			assert.deepEqual(await seenLanes(tab), [0, 2, 3, 4, 5]);
			assert.equal(await place(), 'Hidden');
			assert.equal(await tab.locator('#labels .chosen').getAttribute('data-lane'), '2');
			await tab.hover('#labels [data-lane="4"]');
			await tab.click('#labels [data-lane="4"] .hide');
			assert.deepEqual(await seenLanes(tab), [0, 2, 3, 5]);
			assert.equal(await tab.locator('#labels .show-hidden').innerText(), '2 threads hidden · show');
			/* What is below has moved up, with its intervals. */
			const pane = await boxOf(tab, '#window');
			const text = await hover(tab, pane.x + 300, (await laneTop(tab, 5)) + BAR);
			assert.match(text, /heartbeat \(4205\)/);
			await tab.click('#labels .show-hidden');
			assert.deepEqual(await seenLanes(tab), [0, 1, 2, 3, 4, 5]);
			assert.equal(await tab.locator('#labels .show-hidden').isVisible(), false);

			await tab.focus('#plot');
			const full = (await boxOf(tab, '#labels [data-lane="2"]')).height;
			await press(tab, 't');
			assert.equal((await boxOf(tab, '#labels [data-lane="2"]')).height, 14);
			assert.match(await hover(tab, pane.x + 300, (await laneTop(tab, 2)) + 7), /worker-2 \(4202\)/);
			await press(tab, 't');
			assert.equal((await boxOf(tab, '#labels [data-lane="2"]')).height, full);

			await press(tab, 'Alt+ArrowUp Alt+ArrowUp');
			assert.deepEqual(await seenLanes(tab), [2, 0, 1, 3, 4, 5]);
			await press(tab, 'Alt+ArrowUp');
			assert.deepEqual(await seenLanes(tab), [2, 0, 1, 3, 4, 5]);
			await press(tab, 'Alt+ArrowDown');
			assert.deepEqual(await seenLanes(tab), [0, 2, 1, 3, 4, 5]);
			assert.equal(await tab.locator('#sort-rows').inputValue(), 'own');

			/* By its label, below two others; that is no click. */
			const label = await boxOf(tab, '#labels [data-lane="0"]');
			await tab.mouse.move(label.x + 60, label.y + 14);
			await tab.mouse.down();
			await tab.mouse.move(label.x + 60, label.y + 30, { steps: 3 });
			await tab.mouse.move(label.x + 60, label.y + 14 + 2 * 28, { steps: 5 });
			await tab.mouse.up();
			assert.deepEqual(await seenLanes(tab), [2, 1, 0, 3, 4, 5]);
			assert.equal(await tab.locator('#labels .chosen').getAttribute('data-lane'), '2');

			for (const [order, key] of /** @type {const} */ ([['waiting', 'gil_wait_ns'], ['holding', 'has_gil_ns']])) {
				await tab.selectOption('#sort-rows', order);
				assert.deepEqual(
					await seenLanes(tab),
					[...lanes]
						.sort(
							(a, b) =>
								Number(b.thread.main) - Number(a.thread.main) ||
								Number(b.thread[key]) - Number(a.thread[key]),
						)
						.map(({ index }) => index),
				);
			}
			await tab.selectOption('#sort-rows', 'start');
			assert.deepEqual(await seenLanes(tab), [0, 1, 2, 3, 4, 5]);
			assert.ok(intervals.start.length > 0);
		});
	});

	test('more threads than fit are sorted by waiting when the page opens', async () => {
		const { path, html } = page('many');
		const { lanes } = await readPage(html);
		/** @param {(lane: typeof lanes[0]) => number} length */
		const order = (length) =>
			[...lanes]
				.sort((a, b) => Number(b.thread.main) - Number(a.thread.main) || length(b) - length(a))
				.map(({ index }) => index);
		const byWaiting = order(({ thread }) => Number(thread.gil_wait_ns));
		const byStart = order(() => 0);
		assert.notDeepEqual(byWaiting, byStart);
		/** @param {import('playwright-core').Page} tab @param {number[]} wanted */
		const checkOrder = async (tab, wanted) => {
			const first = (await seenLanes(tab)).slice(0, 8);
			assert.deepEqual(first, wanted.slice(0, 8));
		};
		await withPage(path, {}, async (tab) => {
			const sort = tab.locator('#sort-rows');
			assert.equal(await sort.inputValue(), 'waiting');
			await checkOrder(tab, byWaiting);
			assert.equal(await written(tab), '');
			assert.match((await tab.locator('#labels .gil-label').getAttribute('title')) ?? '', /all others are grey/);
			await sort.selectOption('start');
			await checkOrder(tab, byStart);
			assert.match(await written(tab), /order=0,1,2/);
			/* A link tells how they are sorted, and one that does not leads to the page as it opens. */
			await tab.reload();
			await tab.waitForSelector('html[data-ready]');
			assert.equal(await sort.inputValue(), 'start');
			await checkOrder(tab, byStart);
			await tab.evaluate('location.hash = "#"');
			await frame(tab);
			assert.equal(await sort.inputValue(), 'waiting');
			await checkOrder(tab, byWaiting);
			/* What is moved and moved back is as it was. */
			await tab.focus('#plot');
			await press(tab, 'ArrowDown ArrowDown Alt+ArrowDown');
			assert.equal(await sort.inputValue(), 'own');
			await press(tab, 'Alt+ArrowUp');
			assert.equal(await sort.inputValue(), 'waiting');
		});
		await withPage(page('service').path, {}, async (tab) => {
			assert.equal(await tab.locator('#sort-rows').inputValue(), 'start');
			assert.doesNotMatch((await tab.locator('#labels .gil-label').getAttribute('title')) ?? '', /grey/);
		});
	});

	test('Escape lets go of one thing at a time, and of the thread last', async () => {
		await withPage(page('service').path, { height: 1100 }, async (tab) => {
			const isThere = async () =>
				Promise.all(
					['#filter-chip', '#range-bar', '#mark', '#labels .chosen'].map((name) =>
						tab.locator(name).isVisible(),
					),
				);
			await tab.locator('.matrix [data-key*="-"]').first().click();
			await tab.focus('#plot');
			await press(tab, 'r n');
			await frame(tab);
			/** @type {boolean[][]} */
			const steps = [await isThere()];
			for (let i = 0; i < 5; i++) {
				await press(tab, 'Escape');
				await frame(tab);
				steps.push(await isThere());
			}
			assert.deepEqual(steps, [
				[true, true, true, true],
				[false, true, true, true],
				[false, false, true, true],
				[false, false, false, true],
				[false, false, false, false],
				[false, false, false, false],
			]);
			assert.doesNotMatch(await written(tab), /thread/);
			/* The arrows begin at the first one again. */
			await press(tab, 'ArrowDown');
			assert.equal(await tab.locator('#labels .chosen').getAttribute('data-lane'), '0');
		});
	});

	test('threads of one name are told apart by their tids', async () => {
		const path = temporary('one-name.html');
		writeFileSync(path, page('two').html.replaceAll(/"count-[12]"/g, '"worker of a long name"'));
		await withPage(path, {}, async (tab) => {
			const first = tab.locator('#longest-list button').first();
			assert.match(await first.innerText(), /for\s*worker of a long name\s*420[12]$/);
			await first.click();
			await frame(tab);
			assert.match((await tab.locator('#arrows text').first().textContent()) ?? '', /^worker of a long name 420[12] · \d/);
			assert.match(await tab.locator('.verdict').innerText(), /“worker of a long name” \(4201\) and “worker of a long name” \(4202\) spent/);
			assert.match(await tab.locator('#panel').innerText(), /worker of a long name \(420[12]\)/);
			const number = tab.locator('.matrix thead .tid').first();
			const whole = await number.evaluate((element) => {
				const button = /** @type {Element} */ (element.closest('button')).getBoundingClientRect();
				const { left, right } = element.getBoundingClientRect();
				return left >= button.left && right <= button.right;
			});
			assert.ok(whole, 'the name is cut, and not its number');
			assert.equal(await tab.getByRole('button', { name: 'worker of a long name, tid 4202' }).innerText(), 'worker of a long name');
		});
		/* Of several processes too: lists are of all of them. */
		await withPage(page('processes').path, {}, async (tab) => {
			const texts = await tab.locator('#longest-list .person').allInnerTexts();
			assert.ok(texts.length > 10);
			for (const text of texts)
				assert.match(text, /\s\d+$|^\d+$|^nobody$/);
			/* A table of one process has no need of them. */
			const holders = await tab.locator('.matrix thead .person').allInnerTexts();
			assert.ok(holders.includes('count-1'), holders.join());
		});
	});

	test('all threads of a process can be hidden', async () => {
		await withPage(page('two').path, {}, async (tab) => {
			await press(tab, 'ArrowDown h h h h');
			assert.deepEqual(await seenLanes(tab), []);
			assert.equal(await tab.locator('#labels .show-hidden').innerText(), '3 threads hidden · show');
			await press(tab, 'ArrowDown , . k t');
			await tab.click('#labels .show-hidden');
			assert.deepEqual(await seenLanes(tab), [0, 1, 2]);
		});
	});

	test('with 200 threads, only labels near the window are made', async () => {
		await withPage(page('many').path, { height: 860 }, async (tab) => {
			assert.ok((await tab.locator('#labels > div').count()) < 50);
			await tab.selectOption('#sort-rows', 'start');
			await tab.evaluate('document.getElementById("scroller").scrollTop = 2800');
			await frame(tab);
			const seen = await seenLanes(tab);
			assert.ok(seen.length < 50);
			assert.ok(seen.includes(100));
			const pane = await boxOf(tab, '#window');
			const text = await hover(tab, pane.x + 300, (await laneTop(tab, 100)) + BAR);
			assert.match(text, /\(4300\)/);
			/* The map, the ruler and all stay where they are. */
			assert.equal(await tab.locator('#labels .process').count(), 1);
		});
	});

	test('the selection is a band over all', async () => {
		const duration = page('service').summary.end_ns - page('service').summary.start_ns;
		await withPage(openedPage(), { changed: true }, async (tab) => {
			for (const id of ['#band', '#ruler-band', '#minimap-selection'])
				assert.equal(await tab.locator(id).isVisible(), false);
			await tab.evaluate(`
				timeline.selection = { from: ${duration / 4}, to: ${duration / 2} };
				for (const act of timeline.listeners.get('selection')) act();
			`);
			const pane = await boxOf(tab, '#window');
			for (const id of ['#band', '#ruler-band', '#minimap-selection']) {
				const band = await boxOf(tab, id);
				assert.ok(Math.abs(band.x - pane.x - pane.width / 4) < 2, id);
				assert.ok(Math.abs(band.width - pane.width / 4) < 2, id);
			}
			assert.ok(Math.abs(parseFloat(await tab.locator('#band-length').innerText()) - duration / 4e6) < 0.1);
			await press(tab, 'w w');
			const band = await boxOf(tab, '#band');
			const { from, to } = await view(tab);
			assert.ok(band.x < pane.x);
			assert.ok(
				Math.abs(band.x + band.width - pane.x - ((duration / 2 - from) / (to - from)) * pane.width) < 2,
			);
			await tab.evaluate(`
				timeline.selection = null;
				for (const act of timeline.listeners.get('selection')) act();
			`);
			assert.equal(await tab.locator('#band').isVisible(), false);
		});
	});

	test('a filter mutes all but its waits', async () => {
		await withPage(openedPage(), { changed: true }, async (tab) => {
			const wait = await property(tab, '--wait-stripe');
			const has = await property(tab, '--has');
			const pane = await boxOf(tab, '#window');
			const width = Math.round(pane.width);
			/** @param {number} lane */
			const bar = async (lane) => coloursAt(tab, 0, (await laneTop(tab, lane)) + 4, 20, width);
			assert.ok((await bar(1))[has] > 1000 && (await bar(3))[wait] > 1000);
			/* The third lane's waits alone, in the first half of the trace. */
			await tab.evaluate(`{
				const { intervals, lanes, report } = timeline;
				const { first, last } = lanes[3];
				const kept = [];
				for (let i = first; i < last; i++)
					if (intervals.kind[i] === 1 && intervals.end[i] < report.duration_ns / 2)
						kept.push(i);
				const start = Float64Array.from(kept, (i) => intervals.start[i]);
				const end = Float64Array.from(kept, (i) => intervals.end[i]);
				const kind = new Uint8Array(kept.length).fill(1);
				const part = { start: lanes[3].start, end: lanes[3].end, first: 0, last: kept.length };
				timeline.filter = {
					key: 'x', title: 'x',
					intervals: makeIntervals(start, end, kind, new Uint16Array(kept.length).fill(1), 4),
					spans: lanes.map((lane) => (lane.index === 3 ? part : null)),
				};
			}`);
			await press(tab, '+');
			await press(tab, 'f');
			assert.equal((await bar(1))[has], undefined);
			assert.equal((await bar(4))[wait], undefined);
			assert.ok((await bar(3))[wait] > 500);
			const y = (await laneTop(tab, 3)) + 4;
			assert.ok((await coloursAt(tab, 10, y, 20, Math.round(width / 2) - 20))[wait] > 500);
			assert.equal((await coloursAt(tab, width / 2 + 10, y, 20, Math.round(width / 2) - 20))[wait], undefined);
			/* What is muted is told as ever. */
			assert.match(await hover(tab, pane.x + 300, (await laneTop(tab, 1)) + BAR), /worker-1/);
			await tab.evaluate('timeline.filter = null');
			await press(tab, '+');
			await press(tab, 'f');
			assert.ok((await bar(1))[has] > 1000);
		});
	});

	test('a real run', { skip: cannotRecord }, async () => {
		const path = temporary('real-lanes.html');
		const script = fileURLToPath(new URL('../workloads/busy_threads.py', import.meta.url));
		const run = spawnSync(
			String(process.env.GILTRACE),
			['-q', '-o', path, script, temporary('facts-lanes'), '1', '2'],
			{ encoding: 'utf8' },
		);
		assert.equal(run.status, 0, run.stderr);
		const html = readFileSync(path, 'utf8');
		const { lanes } = await readPage(html);
		await withPage(path, {}, async (tab) => {
			assert.equal(await tab.locator('#labels .gil-label').count(), 1);
			assert.match(await tab.locator('#labels .gil-label').innerText(), /max [1-3]\b/);
			const pane = await boxOf(tab, '#window');
			const gil = await rowTop(tab, '.gil-label');
			/** @type {Set<string>} */
			const holders = new Set();
			await press(tab, 'w w w w w w');
			for (let i = 1; i < 60; i++) {
				const told = /^Held by .* \((\d+)\)lasts/.exec(await hover(tab, pane.x + (pane.width * i) / 60, gil + HOLDERS));
				if (told)
					holders.add(told[1]);
			}
			assert.ok(holders.size >= 2, [...holders].join());
			/* A wait of a busy thread is for the other one. */
			const busy = [...lanes].sort((a, b) => Number(b.thread.gil_wait_ns) - Number(a.thread.gil_wait_ns)).slice(0, 2);
			const y = (await laneTop(tab, busy[0].index)) + BAR;
			let found = false;
			for (let i = 1; i < 60 && !found; i++) {
				const x = pane.x + (pane.width * i) / 60;
				if (!/^Waits for the GIL/.test(await hover(tab, x, y)))
					continue;
				await tab.mouse.click(x, y);
				await frame(tab);
				const [arrow] = await arrowsOf(tab);
				found = arrow?.lane === busy[1].index;
			}
			assert.ok(found);
			await press(tab, 'Escape');
			assert.equal((await arrowsOf(tab)).length, 0);
			await press(tab, 'h');
			assert.equal((await seenLanes(tab)).length, lanes.length - 1);
		});
	});
});
