// SPDX-License-Identifier: MIT
/* A headless Chromium with one page in it that came from disk, and what it complained of. */

import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const PROGRAMS = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/* Nothing of its own shall reach for the network; a container's /dev/shm is small. */
const OPTIONS = [
	'--headless',
	'--disable-gpu',
	'--disable-dev-shm-usage',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
	'--no-first-run',
];

export const program = PROGRAMS.find((path) => path && existsSync(path));

/** Why there can be no browser here; null when there can. */
export async function missing() {
	if (!program)
		return 'no Chromium is installed (apt-get install chromium, or set CHROMIUM)';
	try {
		await import('playwright-core');
	} catch {
		return 'playwright-core is not installed (npm install)';
	}
	return null;
}

export async function startBrowser() {
	const { chromium } = await import('playwright-core');
	/* Chromium's sandbox does not work for root. */
	const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
	return chromium.launch({ executablePath: program, args: [...OPTIONS, ...sandbox] });
}

/**
 * @typedef {object} Options
 * @property {number} [width]
 * @property {number} [height]
 * @property {'light' | 'dark'} [theme]
 * @property {number} [scale]
 * @property {string} [script] that runs before the page's own
 * @property {boolean} [broken] the page will not get ready
 * @property {boolean} [changed] its script is not the one that the page allows
 */

/**
 * Opens the page at PATH, and waits until its timeline is there.
 * @param {import('playwright-core').Browser} browser
 * @param {string} path
 * @param {Options} [options]
 */
export async function openPage(browser, path, options = {}) {
	const context = await browser.newContext({
		viewport: { width: options.width ?? 1280, height: options.height ?? 860 },
		colorScheme: options.theme ?? 'light',
		deviceScaleFactor: options.scale ?? 1,
		bypassCSP: options.changed ?? false,
	});
	const page = await context.newPage();
	/** @type {string[]} */
	const complaints = [];
	/** @type {string[]} */
	const requests = [];
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning')
			complaints.push(message.text());
	});
	page.on('pageerror', (error) => complaints.push(String(error)));
	page.on('request', (request) => requests.push(request.url()));
	if (options.script)
		await page.addInitScript(options.script);
	await page.goto(pathToFileURL(path).href);
	if (!options.broken)
		await page.waitForSelector('html[data-ready]', { timeout: 60000 });
	return { page, complaints, requests, close: () => context.close() };
}
