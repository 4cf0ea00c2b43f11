// SPDX-License-Identifier: MIT
/* The page in a real Chromium. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { KIND_HAS, sumRange } from '../../lib/render/viewer/lanes.js';
import { missing } from './chromium.mjs';
import { cannotRecord, makePage, offCpu, page, readPage, temporary } from './pages.mjs';
import { laneTop, rowTop } from './rows.mjs';
import { suiteTabs } from './tabs.mjs';

const reason = makePage ? await missing() : 'make_page is not built (meson compile, or set GILTRACE_MAKE_PAGE)';

/** @param {import('playwright-core').Page} tab */
async function range(tab) {
	return (await tab.locator('#range').textContent())?.split(' of ')[0];
}

/**
 * How many pixels of the lanes, or of another canvas, have the colour of a custom property.
 * @param {import('playwright-core').Page} tab
 * @param {string} property
 * @param {string} [canvasId]
 */
function pixelsOf(tab, property, canvasId = 'pixels') {
	return tab.evaluate(([name, id]) => {
		const shown = /** @type {HTMLCanvasElement} */ (document.getElementById(id));
		const { width, height } = shown;
		const copy = Object.assign(document.createElement('canvas'), { width, height });
		const context = /** @type {CanvasRenderingContext2D} */ (
			copy.getContext('2d', { willReadFrequently: true })
		);
		context.drawImage(shown, 0, 0);
		const { data } = context.getImageData(0, 0, width, height);
		const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
		const colour = parseInt(text.slice(1), 16);
		let count = 0;
		for (let i = 0; i < data.length; i += 4)
			if (((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]) === colour)
				count++;
		return count;
	}, [property, canvasId]);
}

describe('page', { skip: reason ?? false }, () => {
	const withPage = suiteTabs();

	/**
	 * @param {import('playwright-core').Page} tab
	 * @param {import('../../lib/render/viewer/report.js').Summary} summary
	 */
	async function compareTable(tab, summary) {
		const rows = await tab.$$eval('#threads tbody tr:not(.group)', (elements) =>
			elements.map((row) =>
				[...row.querySelectorAll('[data-value]')].map((cell) =>
					Number(/** @type {HTMLElement} */ (cell).dataset.value),
				),
			),
		);
		const threads = summary.processes.flatMap((process) => process.threads);
		const lossy = threads.some((thread) => thread.unknown_ns);
		const expected = threads.map((thread) => [
			thread.tid,
			thread.has_gil_ns,
			thread.gil_wait_ns,
			thread.no_gil_ns,
			...(lossy ? [thread.unknown_ns] : []),
			thread.total_ns,
			thread.acquired,
			thread.contended,
			thread.wait_p50_ns,
			thread.wait_p99_ns,
			thread.wait_max_ns,
		]);
		assert.deepEqual(rows, expected);
		const states = await tab.$$eval('#states-table tbody tr:not(.group)', (elements) =>
			elements.map((row) =>
				[...row.querySelectorAll('[data-value]')].map((cell) =>
					Number(/** @type {HTMLElement} */ (cell).dataset.value),
				),
			),
		);
		/** @param {keyof import('../../lib/render/viewer/report.js').State} key */
		const isTold = (key) =>
			threads.some(({ state }) =>
				key === 'unknown_ns' ? state?.[key] : state && state[key] !== null,
			);
		/** @type {(keyof import('../../lib/render/viewer/report.js').State)[]} */
		const keys = ['running_ns', 'runnable_ns', 'sleep_ns', 'sleep_gil_ns', 'disk_ns', 'unknown_ns'];
		assert.deepEqual(
			states,
			threads.some(({ state }) => state)
				? threads.map((thread) => [
						thread.tid,
						...keys.filter(isTold).map((key) => thread.state?.[key] ?? NaN),
						thread.total_ns,
					])
				: [],
		);
		assert.ok((await pixelsOf(tab, '--has')) > 100);
		assert.ok((await pixelsOf(tab, '--wait-stripe')) > 100);
	}

	for (const scenario of ['two', 'many', 'processes', 'lossy', 'hostile'])
		test(`${scenario}: the table has the summary's values`, async () => {
			const { path, summary } = page(scenario);
			await withPage(path, {}, async (tab) => {
				const lossy = scenario === 'lossy';
				await compareTable(tab, summary);
				assert.equal((await pixelsOf(tab, '--unknown')) > 10, lossy);
				assert.equal(await tab.locator('.notice').count(), lossy ? 2 : 0);
			});
		});

	test('states have a bar, a legend and figures', async () => {
		const { path, summary } = page('states');
		await withPage(path, { width: 1024 }, async (tab) => {
			await compareTable(tab, summary);
			for (const colour of ['--running', '--runnable-stripe', '--sleep-gil-line'])
				assert.ok((await pixelsOf(tab, colour)) > 50, colour);
			assert.equal(await tab.locator('#legend-states').isVisible(), true);
			assert.equal(await tab.locator('#legend-unknown').isVisible(), false);
			assert.equal(await tab.locator('#labels .cpu').count(), 6);
			assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'));
			const bar = tab.locator('#states-table .bar').first();
			assert.match((await bar.getAttribute('aria-label')) ?? '', /on a CPU.*of that for the GIL.*asleep/);
			assert.equal(await tab.locator('#flame').isVisible(), false);
		});
		await withPage(page('lossy-states').path, {}, async (tab) => {
			await compareTable(tab, page('lossy-states').summary);
			assert.equal(await tab.locator('.notice').count(), 3);
			assert.match(await tab.locator('#notices').innerText(), /99 records of being on and off CPU/);
		});
		await withPage(page('two').path, {}, async (tab) => {
			assert.equal(await tab.locator('#legend-states').isVisible(), false);
			assert.equal(await tab.locator('#labels .cpu').count(), 0);
			assert.equal(await tab.locator('#states').isVisible(), false);
			assert.equal(await tab.locator('#flame').isVisible(), false);
			assert.equal(await pixelsOf(tab, '--running'), 0);
			assert.equal(await tab.locator('#labels .lane').first().evaluate((label) => label.clientHeight), 28);
		});
	});

	test('where nobody watched the GIL, nothing is said of it', async () => {
		const { path, summary } = page('unwatched');
		assert.equal(summary.probe, 'none');
		await withPage(path, {}, async (tab) => {
			assert.match((await tab.locator('.verdict').textContent()) ?? '', /was not watched/);
			for (const id of ['#legend-gil', '#gil-table', '#corner-waits', '#blame'])
				assert.equal(await tab.locator(id).isVisible(), false, id);
			assert.equal(await tab.locator('#legend-states').isVisible(), true);
			for (const colour of ['--has', '--wait-stripe', '--unknown'])
				assert.equal(await pixelsOf(tab, colour), 0, colour);
			assert.ok((await pixelsOf(tab, '--running')) > 50);
			assert.doesNotMatch(await tab.locator('#states-table').innerText(), /GIL/);
			assert.doesNotMatch(await tab.locator('#legend-states').innerText(), /GIL/);
			const pane = /** @type {{x: number, y: number}} */ (await tab.locator('#window').boundingBox());
			for (const height of [8, 20, 36]) {
				await tab.mouse.move(pane.x + 300, (await laneTop(tab, 0)) + height);
				assert.doesNotMatch((await tab.locator('#hover').textContent()) ?? '', /GIL|held/);
			}
		});
	});

	test('hover tells the state', async () => {
		await withPage(page('states').path, { height: 1100 }, async (tab) => {
			const pane = /** @type {{x: number, y: number, width: number, height: number}} */ (
				await tab.locator('#window').boundingBox()
			);
			/* The second lane, and in it the middle of the lower bar. */
			const y = (await laneTop(tab, 1)) + 33;
			/** @type {string[]} */
			const many = [];
			for (let x = 0; x < 40; x++) {
				await tab.mouse.move(pane.x + 300 + x, y);
				many.push((await tab.locator('#hover').textContent()) ?? '');
			}
			assert.ok(many.some((text) => /intervals in one pixel.*running\d/.test(text)), many.join('\n'));
			await tab.focus('#plot');
			for (let i = 0; i < 10; i++)
				await tab.keyboard.press('w');
			await tab.waitForTimeout(100);
			/** @type {Set<string>} */
			const seen = new Set();
			for (let i = 1; i < 150; i++) {
				await tab.mouse.move(pane.x + (pane.width * i) / 150, y);
				const text = (await tab.locator('#hover').textContent()) ?? '';
				assert.match(text, /worker-1 \(4201\)|^$/);
				seen.add(text.split('thread')[0]);
				/* The bar above it is the GIL's. */
				if (i % 50 === 0) {
					await tab.mouse.move(pane.x + (pane.width * i) / 150, y - 18);
					assert.match((await tab.locator('#hover').textContent()) ?? '', /GIL/);
				}
			}
			for (const text of ['Runs on a CPU', 'Could run, and has no CPU', 'Sleeps for the GIL'])
				assert.ok(seen.has(text), `${text} among ${[...seen].join(', ')}`);
		});
	});

	test('sleeps have their reasons, and stacks', async () => {
		for (const scenario of ['stacks', 'lossy-stacks']) {
			const { path, summary } = page(scenario);
			await withPage(path, { width: 1024 }, async (tab) => {
				await compareTable(tab, summary);
				assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'));
				for (const name of ['lock', 'pause', 'io', 'disk'])
					assert.ok((await pixelsOf(tab, '--sleep-' + name)) > 10, name);
				assert.ok((await pixelsOf(tab, '--memory')) > 1000);
				const legend = (await tab.locator('#legend-states li').allInnerTexts()).map((text) => text.trim());
				assert.deepEqual(legend.slice(0, 8), [
					'on CPU',
					'could run',
					'sleeps',
					'sleeps for the GIL',
					'lock',
					'sleep',
					'poll, read',
					'disk',
				]);
				assert.equal(legend.includes('unknown'), scenario === 'lossy-stacks');
				assert.match(await tab.locator('#states-table').innerText(), /sleep \d+\.\d.%.*read/);
			});
		}
	});

	test('hover and choice tell a state with its stack', async () => {
		await withPage(page('stacks').path, { height: 1100 }, async (tab) => {
			await tab.locator('#plot').scrollIntoViewIfNeeded();
			const pane = /** @type {{x: number, y: number, width: number, height: number}} */ (
				await tab.locator('#window').boundingBox()
			);
			assert.equal(await tab.locator('#panel').isVisible(), false);
			/* The last lane of the first process, which does not do much. */
			const y = (await laneTop(tab, 5)) + 33;
			/** @type {Set<string>} */
			const seen = new Set();
			for (let x = 2; x < pane.width * 0.9; x += 7) {
				await tab.mouse.move(pane.x + x, y);
				const text = (await tab.locator('#hover').textContent()) ?? '';
				const why = /^Sleeps.*S\((\w+)\)thread/.exec(text)?.[1];
				if (!why)
					continue;
				seen.add(why);
				assert.match(text, /heartbeat \(4205\).*Stack, innermost first.*_PyEval_EvalFrameDefault/);
				if (why !== 'read' || (await tab.locator('#panel .stack').count()) > 0)
					continue;
				const innermost = await tab.locator('#hover .stack li').first().textContent();
				assert.equal(innermost, 'pipe_read');
				await tab.mouse.down();
				await tab.mouse.up();
				assert.match(await tab.locator('#panel').innerText(), /S\(read\)/);
				assert.equal(await tab.locator('#panel .stack li').first().textContent(), innermost);
				assert.equal(await tab.locator('#mark').isVisible(), true);
				assert.ok((await tab.locator('#panel .stack li').count()) >= 5);
			}
			assert.ok(seen.has('read') && seen.has('lock') && seen.has('sleep'), [...seen].join());
			await tab.mouse.move(pane.x + 300, (await rowTop(tab, '.memory-label')) + 17);
			assert.match((await tab.locator('#hover').textContent()) ?? '', /Resident memory.*python3 \(4200\).*MiB/);

			/* The thread's counters are beside it. */
			const about = await tab.locator('#panel .about').innerText();
			assert.match(about, /heartbeat \(4205\)/);
			assert.match(about, /voluntary switches\s*\d/);
			assert.match(about, /migrations\s*5\s/);
			assert.match(about, /task-clock\s*\d+\.\d.ms/);

			/* By the keyboard. */
			await tab.focus('#plot');
			await tab.keyboard.press('k');
			const first = await tab.locator('#place').textContent();
			assert.match(first ?? '', /thread heartbeat \(4205\), lasts \d.*Stack, innermost first, [^,]+, [^,]+/);
			await tab.keyboard.press('k');
			assert.notEqual(await tab.locator('#place').textContent(), first);
			await tab.keyboard.press('j');
			assert.equal(await tab.locator('#place').textContent(), first);
			await tab.keyboard.press('Escape');
			assert.equal(await tab.locator('#panel').isVisible(), false);
			/* With the next frame. */
			await tab.locator('#mark').waitFor({ state: 'hidden' });
		});
	});

	test('flame graphs: sums, zoom, search, keyboard', async () => {
		const { path, summary } = page('stacks');
		const threads = summary.processes.flatMap((process) => process.threads);
		await withPage(path, {}, async (tab) => {
			const plot = tab.locator('#flame-plot');
			/** @param {string} name */
			const data = (name) => plot.getAttribute('data-' + name);
			assert.equal(Number(await data('total')), offCpu(threads));
			await tab.click('#flame-off-gil');
			assert.equal(
				Number(await data('total')),
				threads.reduce((sum, { gil_wait_ns }) => sum + (gil_wait_ns ?? 0), 0),
			);
			await tab.click('#flame-off-cpu');
			assert.equal(await tab.locator('#flame-off-cpu').getAttribute('aria-pressed'), 'true');
			assert.equal(Number(await data('total')), offCpu(threads));

			/* Hover, click, back. */
			await plot.scrollIntoViewIfNeeded();
			const box = /** @type {{x: number, y: number, width: number}} */ (await plot.boundingBox());
			await tab.mouse.move(box.x + 40, box.y + 9);
			assert.match((await tab.locator('#hover').textContent()) ?? '', /^alltime.*of all100\.0/);
			await tab.mouse.move(box.x + 40, box.y + 27);
			const process = /^(python3 \(\d+\))time/.exec((await tab.locator('#hover').textContent()) ?? '')?.[1];
			assert.ok(process);
			await tab.mouse.move(box.x + 40, box.y + 18 * 2 + 9);
			const thread = /^(\w+-?\d? \(\d+\))time/.exec((await tab.locator('#hover').textContent()) ?? '')?.[1];
			const all = Number(await data('boxes'));
			assert.ok(thread);
			await tab.mouse.click(box.x + 40, box.y + 18 * 2 + 9);
			assert.equal(await data('focus'), thread);
			assert.notEqual(Number(await data('boxes')), all);
			const tid = Number(/\((\d+)\)/.exec(thread)?.[1]);
			const total = offCpu(threads.filter((candidate) => candidate.tid === tid));
			await tab.mouse.move(box.x + 41, box.y + 18 * 2 + 9);
			assert.match((await tab.locator('#hover').textContent()) ?? '', /of what is shown100\.0/);
			assert.match(
				(await tab.locator('#flame-total').textContent()) ?? '',
				new RegExp(`^${(total / 1e6).toFixed(1)}.ms of `),
			);
			/* Its process, above it, is the way back. */
			await tab.mouse.click(box.x + 40, box.y + 27);
			assert.equal(await data('focus'), process);
			await tab.click('#flame-reset');
			assert.equal(await data('focus'), 'all');
			assert.equal(Number(await data('boxes')), all);
			assert.equal(await tab.locator('#flame-reset').isDisabled(), true);

			/* What is typed is searched, and no key of the timeline. */
			const shown = await range(tab);
			await tab.focus('#flame-search');
			await tab.keyboard.type('swfda');
			assert.equal(await tab.locator('#flame-matches').getAttribute('data-value'), '0');
			assert.equal(await range(tab), shown);
			await tab.fill('#flame-search', 'PIPE_read');
			const found = Number(await tab.locator('#flame-matches').getAttribute('data-value'));
			assert.ok(found > 0 && found < offCpu(threads) / 2);
			assert.match((await tab.locator('#flame-matches').textContent()) ?? '', /^found in \d.*%/);
			await tab.fill('#flame-search', 'thread_run');
			await tab.waitForTimeout(60);
			assert.ok((await pixelsOf(tab, '--match', 'flame-pixels')) > 1000);
			await tab.keyboard.press('Escape');
			await tab.waitForTimeout(60);
			assert.equal(await pixelsOf(tab, '--match', 'flame-pixels'), 0);

			/* The keyboard reaches all of it. */
			await tab.focus('#flame-plot');
			for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight'])
				await tab.keyboard.press(key);
			const spoken = (await tab.locator('#flame-place').textContent()) ?? '';
			assert.match(spoken, /^\w+-?\d? \(\d+\): time .*, of all /);
			await tab.keyboard.press('Enter');
			assert.ok(spoken.startsWith(`${await data('focus')}:`));
			await tab.keyboard.press('ArrowDown');
			assert.match((await tab.locator('#flame-place').textContent()) ?? '', /^(start_thread|\[cut\]):/);
			await tab.keyboard.press('ArrowUp');
			await tab.keyboard.press('ArrowUp');
			assert.match((await tab.locator('#flame-place').textContent()) ?? '', /^python3 /);
			await tab.keyboard.press('Escape');
			assert.equal(await data('focus'), 'all');
			assert.equal(await tab.locator('#hover').isVisible(), false);
		});
	});

	test('without probes, stacks tell who sleeps for the GIL', async () => {
		const { path } = page('unwatched-stacks');
		await withPage(path, {}, async (tab) => {
			assert.equal(await tab.locator('#gil-table').isVisible(), false);
			assert.match(await tab.locator('#legend-states').innerText(), /sleeps for the GIL/);
			assert.ok((await pixelsOf(tab, '--sleep-gil-line')) > 50);
			assert.equal(await tab.locator('#flame-off-gil').isDisabled(), false);
		});
	});

	test('a real run', { skip: cannotRecord }, async () => {
		const path = temporary('real.html');
		const json = temporary('real.json');
		const script = fileURLToPath(new URL('../workloads/busy_threads.py', import.meta.url));
		const run = spawnSync(
			String(process.env.GILTRACE),
			['-q', '-o', path, '--summary-json', json, script, temporary('facts'), '1', '2'],
			{ encoding: 'utf8' },
		);
		assert.equal(run.status, 0, run.stderr);
		const summary = JSON.parse(readFileSync(json, 'utf8'));
		await withPage(path, {}, async (tab) => {
			await compareTable(tab, summary);
			assert.match((await tab.locator('.verdict').textContent()) ?? '', /waiting for the GIL/);
		});
		const { lanes, intervals } = await readPage(readFileSync(path, 'utf8'));
		for (const lane of lanes)
			assert.equal(sumRange(intervals, lane, lane.start, lane.end).sums[KIND_HAS], lane.thread.has_gil_ns);
	});

	test('zoom, pan, fit', async () => {
		const { path } = page('service');
		await withPage(path, {}, async (tab) => {
			const all = await range(tab);
			const pane = /** @type {{x: number, y: number, width: number, height: number}} */ (
				await tab.locator('#window').boundingBox()
			);
			const x = pane.x + pane.width / 4;
			const y = pane.y + 40;
			/** What the cursor line says is the time under the pointer. */
			const time = async () => {
				await tab.mouse.move(x + 2, y);
				await tab.mouse.move(x, y);
				return parseFloat((await tab.locator('#cursor').getAttribute('data-time')) ?? '');
			};
			const pointed = await time();
			await tab.mouse.wheel(0, -400);
			await tab.waitForFunction(`document.getElementById('range').textContent.split(' of ')[0] !== '${all}'`);
			const zoomed = await range(tab);
			assert.ok(Math.abs((await time()) - pointed) < 0.005, 'the moment under the pointer stays there');

			await tab.mouse.down();
			await tab.mouse.move(x + 200, y, { steps: 4 });
			await tab.mouse.up();
			await tab.waitForTimeout(100);
			assert.equal(await range(tab), zoomed);
			assert.ok((await time()) < pointed - 0.01, 'dragging to the right shows what was before');

			/* The first double click shows what it is on, the second one all. */
			await tab.mouse.dblclick(x, y);
			await tab.waitForTimeout(100);
			assert.notEqual(await range(tab), all);
			await tab.keyboard.press('Escape');
			await tab.mouse.move(x, y + 1);
			await tab.focus('#plot');
			await tab.keyboard.press('f');
			await tab.waitForTimeout(100);
			assert.equal(await range(tab), all);

			await tab.click('#zoom-in');
			await tab.waitForTimeout(100);
			assert.notEqual(await range(tab), all);
			await tab.click('#fit');
			await tab.waitForTimeout(100);
			assert.equal(await range(tab), all);

			for (const [key, back] of [['w', 's'], ['+', '-']]) {
				await tab.keyboard.press(key);
				await tab.waitForTimeout(60);
				assert.notEqual(await range(tab), all, `${key} zooms in`);
				await tab.keyboard.press(back);
				await tab.waitForTimeout(60);
				assert.equal(await range(tab), all, `${back} zooms out`);
			}
			await tab.keyboard.press('w');
			await tab.keyboard.press('w');
			const middle = await time();
			await tab.focus('#plot');
			for (const key of ['d', 'ArrowRight'])
				await tab.keyboard.press(key);
			assert.ok((await time()) > middle, 'd and the arrow pan');
			await tab.keyboard.press('f');
			await tab.waitForTimeout(60);
			assert.equal(await range(tab), all);
		});
	});

	test('hover tells the interval, and who held the GIL', async () => {
		const { path } = page('two');
		await withPage(path, {}, async (tab) => {
			await tab.focus('#plot');
			/* The second lane's first interval, by the keyboard; then the one behind it. */
			await tab.keyboard.press('ArrowDown');
			await tab.keyboard.press('ArrowDown');
			await tab.keyboard.press('.');
			await tab.keyboard.press('.');
			const spoken = await tab.locator('#place').textContent();
			assert.match(spoken ?? '', /^(Holds|Waits for) the GIL, thread count-1 \(4201\), lasts \d/);
			for (let i = 0; i < 14; i++)
				await tab.keyboard.press('w');
			await tab.waitForTimeout(100);

			const pane = /** @type {{x: number, y: number, width: number, height: number}} */ (
				await tab.locator('#window').boundingBox()
			);
			const y = (await laneTop(tab, 1)) + 14;
			/** @type {Set<string>} */
			const seen = new Set();
			for (let i = 1; i < 60 && seen.size < 2; i++) {
				await tab.mouse.move(pane.x + (pane.width * i) / 60, y);
				const text = (await tab.locator('#hover').textContent()) ?? '';
				if (/Waits for the GIL/.test(text)) {
					assert.match(text, /Held meanwhile by.*count-2 \(4202\)/);
					assert.match(text, /count-1 \(4201\)/);
					assert.match(text, /0x7f3a10c0de40/);
					seen.add('wait');
				} else if (/Holds the GIL/.test(text)) {
					seen.add('has');
				}
			}
			assert.deepEqual([...seen].sort(), ['has', 'wait']);
			await tab.mouse.move(2, 2);
			assert.equal(await tab.locator('#hover').isVisible(), false);
		});
	});

	test('two hundred threads scroll, and the table leads to them', async () => {
		const { path } = page('many');
		await withPage(path, { width: 1024 }, async (tab) => {
			const scrolled = () => tab.$eval('#scroller', (element) => element.scrollTop);
			assert.equal(await scrolled(), 0);
			await tab.selectOption('#sort-rows', 'start');
			await tab.locator('#threads tbody tr').last().click();
			assert.ok((await scrolled()) > 4000);
			assert.equal(await tab.locator('#labels .chosen').getAttribute('data-lane'), '199');
			const wide = await tab.evaluate('document.documentElement.scrollWidth <= innerWidth');
			assert.ok(wide, 'nothing hangs out of the page at 1024 pixels');
			assert.ok((await pixelsOf(tab, '--wait-stripe')) > 100);
		});
	});

	test('hostile names are text', async () => {
		const { path, summary } = page('hostile');
		await withPage(path, {}, async (tab) => {
			assert.equal(await tab.title(), "'</script>.py' '\\xff\\xfe' '<b>&amp;' – giltrace");
			const names = await tab.$$eval('#threads .thread bdi', (elements) =>
				elements.map((element) => element.textContent),
			);
			assert.equal(names[0], summary.processes[0].threads[0].name);
			assert.equal(names[2], '\\u202egnp.exe\\u2066');
			assert.equal(names[3], '\\xff\\xfe not UTF-8 \\xc3');
			assert.equal(await tab.locator('img').count(), 0);
			const text = await tab.locator('body').innerText();
			// eslint-disable-next-line no-control-regex
			assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069\u001b]/);
		});
	});

	test('hostile functions are text', async () => {
		await withPage(page('hostile-stacks').path, { height: 1100 }, async (tab) => {
			await tab.focus('#plot');
			await tab.keyboard.press('ArrowDown');
			/** @type {Set<string>} */
			const seen = new Set();
			for (let i = 0; i < 60; i++) {
				await tab.keyboard.press('k');
				for (const name of await tab.locator('#panel .stack bdi').allTextContents())
					seen.add(name);
			}
			for (const name of [
				"</script><script>document.title='owned'</script>",
				'__proto__',
				'a:b\\x09\\x0a\\x1b[31m',
				'\\xff\\xfe not UTF-8 \\xc3',
				'\\xe2\\x80\\xaegnp.exe\\xe2\\x81\\xa6',
			])
				assert.ok(seen.has(name), `${name} among ${[...seen].join('\n')}`);
			const plot = /** @type {{x: number, y: number}} */ (await tab.locator('#flame-plot').boundingBox());
			await tab.locator('#flame-plot').scrollIntoViewIfNeeded();
			for (let row = 0; row < 8; row++)
				await tab.mouse.move(plot.x + 30, plot.y + row * 18 + 9);
			assert.equal(await tab.locator('img').count(), 0);
			assert.doesNotMatch(await tab.title(), /^owned$/);
		});
	});

	test('no events', async () => {
		await withPage(page('empty').path, {}, async (tab) => {
			assert.match((await tab.locator('.verdict').textContent()) ?? '', /No thread took the GIL/);
			assert.match((await tab.locator('#blame').textContent()) ?? '', /Nobody waited/);
			await tab.keyboard.press('w');
			await tab.keyboard.press('f');
		});
	});

	test('themes and pixel densities', async () => {
		const { path } = page('two');
		/** @type {string[]} */
		const papers = [];
		for (const theme of /** @type {const} */ (['light', 'dark']))
			await withPage(path, { theme, scale: 2 }, async (tab) => {
				papers.push(await tab.evaluate('getComputedStyle(document.body).backgroundColor'));
				const [pixels, width] = /** @type {number[]} */ (
					await tab.evaluate(
						'[document.getElementById("pixels").width, document.getElementById("window").clientWidth]',
					)
				);
				assert.ok(Math.abs(pixels - 2 * width) <= 1);
				assert.ok((await pixelsOf(tab, '--has')) > 100);
			});
		assert.notEqual(papers[0], papers[1]);
	});

	test('a page that is cut off says so', async () => {
		const { html } = page('service');
		const columns = html.indexOf('id="column-length"');
		const path = temporary('cut.html');
		for (const length of [html.length - 30, columns + 100, columns - 3000]) {
			writeFileSync(path, html.slice(0, length));
			await withPage(path, { broken: true }, async (tab) => {
				const notice = tab.locator('.notice').first();
				await notice.waitFor();
				assert.match((await notice.textContent()) ?? '', /cut off/);
				assert.ok((await tab.locator('#threads tbody tr').count()) > 5);
			});
		}
		for (const length of [html.indexOf('id="report"') + 100, html.indexOf('id="viewer"') + 5000, html.indexOf('(async () => {')]) {
			writeFileSync(path, html.slice(0, length));
			await withPage(path, { broken: true }, async (tab) => {
				await tab.locator('#dead').waitFor();
				assert.match((await tab.locator('#dead').textContent()) ?? '', /cut off/);
			});
		}
	});

	test('a damaged column says so', async () => {
		const { html } = page('service');
		const at = html.indexOf('id="column-length">') + 200;
		const path = temporary('damaged.html');
		writeFileSync(path, html.slice(0, at) + 'AAAAAAAA' + html.slice(at + 8));
		await withPage(path, { broken: true }, async (tab) => {
			await tab.locator('.notice').waitFor();
			assert.match((await tab.locator('.notice').textContent()) ?? '', /damaged/);
		});
	});

	test('a browser without DecompressionStream is told', async () => {
		await withPage(
			page('two').path,
			{ broken: true, script: 'delete window.DecompressionStream' },
			async (tab) => {
				await tab.getByText('it has no DecompressionStream').waitFor();
				assert.deepEqual(await tab.locator('body').innerText(), await tab.locator('#dead').innerText());
			},
		);
	});
});
