// SPDX-License-Identifier: MIT
/* Which table is seen, and how much room it leaves to the timeline. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { missing, openPage, startBrowser } from './chromium.mjs';
import { makePage, page } from './pages.mjs';
import { verdict } from '../../lib/render/viewer/verdict.js';

const reason = makePage ? await missing() : 'make_page is not built (meson configure -Dtests=enabled)';

describe('tables', { skip: reason ?? false }, () => {
	/** @type {import('playwright-core').Browser} */
	let browser;
	before(async () => {
		browser = await startBrowser();
	});
	after(() => browser?.close());

	/**
	 * @param {string} path
	 * @param {import('./chromium.mjs').Options} options
	 * @param {(tab: import('playwright-core').Page) => Promise<void>} use
	 */
	async function withPage(path, options, use) {
		const opened = await openPage(browser, path, options);
		try {
			await use(opened.page);
			assert.deepEqual(opened.complaints, []);
		} finally {
			await opened.close();
		}
	}

	/** @param {import('playwright-core').Page} tab */
	async function seen(tab) {
		const tables = ['#threads', '#states-table'];
		return Promise.all(tables.map((id) => tab.locator(id).isVisible()));
	}

	/** @param {import('playwright-core').Page} tab */
	async function pressed(tab) {
		return tab.$$eval('#table-choice button', (buttons) => buttons.map((button) => button.ariaPressed));
	}

	test('one of both is seen, and links say which', async () => {
		await withPage(page('states').path, {}, async (tab) => {
			assert.deepEqual(await seen(tab), [true, false]);
			assert.deepEqual(await pressed(tab), ['true', 'false']);
			await tab.locator('#table-cpu').focus();
			await tab.keyboard.press('Enter');
			assert.deepEqual(await seen(tab), [false, true]);
			assert.deepEqual(await pressed(tab), ['false', 'true']);
			await tab.waitForFunction((hash) => location.hash === hash, '#table=cpu');
			await tab.locator('#states-table thead button').filter({ hasText: /^on CPU$/ }).click();
			await tab.waitForFunction((hash) => location.hash === hash, '#sort-states=on-cpu&table=cpu');

			await tab.evaluate("location.hash = '#sort=waits'");
			await tab.waitForSelector('#threads th[aria-sort=descending]');
			assert.deepEqual(await seen(tab), [true, false]);
			await tab.evaluate("location.hash = '#table=anything'");
			await tab.waitForTimeout(50);
			assert.deepEqual(await seen(tab), [true, false]);

			await tab.emulateMedia({ media: 'print' });
			assert.deepEqual(await seen(tab), [true, true]);
			assert.equal(await tab.locator('#states-title').isVisible(), true);
			assert.equal(await tab.locator('#table-choice').isVisible(), false);
		});
	});

	test('a table that is not seen at first is made behind the other, and the keyboard gets into it', async () => {
		for (const [scenario, atFirst] of /** @type {const} */ ([
			['states', [true, false]],
			['unwatched', [false, true]],
		])) {
			/* Which of them has rows with cells when the script has run, before anything is painted. */
			const script = `new MutationObserver((_, observer) => {
				if (!document.querySelector('#summary tbody tr'))
					return;
				observer.disconnect();
				window.firstRows = ['#threads', '#states-table'].map(
					(id) => document.querySelectorAll(id + ' tbody tr:not(.group) td').length > 0);
			}).observe(document, { childList: true, subtree: true })`;
			await withPage(page(scenario).path, { script }, async (tab) => {
				assert.deepEqual(await tab.evaluate('window.firstRows'), atFirst);
				for (const id of ['#threads', '#states-table']) {
					assert.equal(await tab.locator(`${id} tbody tr:not(.group)`).count(), scenario === 'states' ? 6 : 3);
					assert.equal(await tab.locator(`${id} tbody [tabindex="0"]`).count(), 1);
				}
			});
		}
	});

	test('a table that was not seen is about the selected range too', async () => {
		await withPage(page('states').path, {}, async (tab) => {
			const total = () =>
				tab.$eval('#states-table tbody tr:not(.group) td:last-child', (cell) =>
					Number(/** @type {HTMLElement} */ (cell).dataset.value),
				);
			const whole = await total();
			await tab.evaluate("location.hash = '#range=0.1s-0.2s'");
			await tab.waitForFunction(() => document.getElementById('range-said')?.textContent?.startsWith('Range'));
			await tab.locator('#table-cpu').click();
			assert.ok(whole > 1e8);
			assert.equal(await total(), 1e8);
		});
	});

	test('where there is but one, there is no choice', async () => {
		await withPage(page('two').path, {}, async (tab) => {
			assert.equal(await tab.locator('#table-choice').isVisible(), false);
			await tab.evaluate("location.hash = '#table=cpu'");
			await tab.waitForTimeout(50);
			assert.deepEqual(await seen(tab), [true, false]);
		});
		await withPage(page('unwatched').path, {}, async (tab) => {
			assert.equal(await tab.locator('#table-choice').isVisible(), false);
			assert.deepEqual(await seen(tab), [false, true]);
			assert.equal(await tab.locator('#states-title').isVisible(), true);
		});
	});

	test('long holds are not blamed on C code when a CPU was missing', () => {
		/** @type {import('../../lib/render/viewer/report.js').Summary} */
		const summary = JSON.parse(JSON.stringify(page('states').summary));
		const holds = { holds: [], waits: [], hold_p50_ns: 0, hold_max_ns: 0, hold_half_ns: 20e6 };
		/** @param {{running_ns: number, runnable_ns: number} | null} state */
		const say = (state) => {
			for (const thread of summary.processes.flatMap(({ threads }) => threads)) {
				thread.wait_max_ns = 1e9;
				thread.state = state && { ...state, sleep_ns: 0, sleep_gil_ns: 0, disk_ns: 0, unknown_ns: 0 };
			}
			return verdict(summary, summary.processes, () => holds).join(' ');
		};
		const starved = say({ running_ns: 60, runnable_ns: 40 });
		assert.match(starved, /bursts of about 20.ms\. For 40.% of the time in which it could have run, it had no CPU\./);
		assert.doesNotMatch(starved, /C code/);
		assert.match(say({ running_ns: 99, runnable_ns: 1 }), /longer holds are mostly C code that does not\./);
		assert.match(say(null), /longer holds are C code that does not, or had no CPU meanwhile\./);
	});

	test('the longest parts of waits name the holder whose they are', async () => {
		await withPage(page('lossy').path, {}, async (tab) => {
			await tab.evaluate("location.hash = '#waits=4200.*-4205'");
			await tab.waitForSelector('#longest-title:has-text("Longest parts of waits")');
			const said = await tab.locator('#longest-list .who').allInnerTexts();
			assert.ok(said.length > 3);
			for (const text of said)
				assert.match(text, /for\s*heartbeat$/);
		});
	});

	test('the timeline has the focus of a label that is scrolled away', async () => {
		await withPage(page('many').path, {}, async (tab) => {
			await tab.locator('#labels .lane').first().hover();
			await tab.locator('#labels .make-thin').first().click();
			await tab.locator('#scroller').evaluate((scroller) => {
				scroller.scrollTop = 3000;
			});
			await tab.waitForFunction(() => document.activeElement?.id === 'plot', undefined, { timeout: 3000 });
		});
	});

	for (const [scenario, width, height, room] of /** @type {const} */ ([
		['states', 1440, 900, 300],
		['stacks', 1440, 900, 250],
		['many', 1440, 900, 250],
		['crowd', 1280, 720, 120],
		['states', 1024, 768, 120],
	]))
		test(`${scenario}, ${width} × ${height}: the timeline begins on the first screen`, async () => {
			await withPage(page(scenario).path, { width, height }, async (tab) => {
				const top = await tab.locator('#lanes').evaluate((lanes) => lanes.getBoundingClientRect().top);
				assert.ok(top + room <= height, `lanes at ${top}`);
				assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'));
			});
		});
});
