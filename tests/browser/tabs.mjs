// SPDX-License-Identifier: MIT
/* A browser for all tests of a suite, and tabs of it that must not complain. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { pathToFileURL } from 'node:url';

import { openPage, startBrowser } from './chromium.mjs';

/** @typedef {(tab: import('playwright-core').Page) => Promise<void>} Use */

/**
 * Waits until the address tells what is seen: that is written some time after a frame, whenever that comes.
 * @param {import('playwright-core').Page} tab
 */
export function addressWritten(tab) {
	return tab.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 350)))');
}

/**
 * To be called within a suite. What is returned opens the page at a path and lets a test use it, during which
 * nothing may go wrong in the page, nor may anything be asked for but the page.
 * @param {import('./chromium.mjs').Options} [usual] options of all of its pages
 */
export function suiteTabs(usual = {}) {
	/** @type {import('playwright-core').Browser} */
	let browser;
	before(async () => {
		browser = await startBrowser();
	});
	after(() => browser?.close());

	/**
	 * @param {string} path
	 * @param {import('./chromium.mjs').Options} options
	 * @param {Use} use
	 */
	return async function withPage(path, options, use) {
		const opened = await openPage(browser, path, { ...usual, ...options });
		try {
			await use(opened.page);
			assert.deepEqual(opened.complaints, []);
			const { href } = pathToFileURL(path);
			const others = opened.requests.filter((url) => url !== 'data:,' && url.split('#')[0] !== href);
			assert.deepEqual(others, []);
		} finally {
			await opened.close();
		}
	};
}
