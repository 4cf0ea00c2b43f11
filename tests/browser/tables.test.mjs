// SPDX-License-Identifier: MIT
/* Which table is seen, and how much room it leaves to the timeline. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { missing, openPage, startBrowser } from './chromium.mjs';
import { makePage, page } from './pages.mjs';

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
