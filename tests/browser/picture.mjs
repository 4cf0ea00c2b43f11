// SPDX-License-Identifier: MIT
/*
 * scripts/page-picture PAGE.html OUT.png [--dark] [--width N] [--height N] [--zoom FACTOR] [--hover X,Y]
 * Takes a picture of a page. X and Y are parts of the lanes' width and height.
 */

import { parseArgs } from 'node:util';
import { resolve } from 'node:path';

import { missing, openPage, startBrowser } from './chromium.mjs';

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		dark: { type: 'boolean', default: false },
		width: { type: 'string', default: '1280' },
		height: { type: 'string', default: '800' },
		scale: { type: 'string', default: '2' },
		zoom: { type: 'string' },
		hover: { type: 'string' },
	},
});
const [path, output] = positionals;
const reason = await missing();
if (!path || !output || reason) {
	console.error(
		reason ??
			'usage: scripts/page-picture PAGE.html OUT.png [--dark] [--width N] [--height N] [--scale N] [--zoom FACTOR] [--hover X,Y]',
	);
	process.exit(2);
}

const browser = await startBrowser();
const { page } = await openPage(browser, resolve(path), {
	width: Number(values.width),
	height: Number(values.height),
	scale: Number(values.scale),
	theme: values.dark ? 'dark' : 'light',
});
const box = await page.locator('#window').boundingBox();
if (box && (values.zoom || values.hover)) {
	const [x, y] = (values.hover ?? '0.5,0.5').split(',').map(Number);
	await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
	if (values.zoom) {
		/* A turn of the wheel by -100 is a factor of e to the 0.2. */
		const turns = Math.round(Math.log(Number(values.zoom)) / 0.2);
		for (let i = 0; i < turns; i++)
			await page.mouse.wheel(0, -100);
		await page.waitForTimeout(150);
	}
	await page.mouse.move(box.x + box.width * x + 1, box.y + box.height * y);
	if (!values.hover)
		await page.mouse.move(0, 0);
	await page.waitForTimeout(150);
}
await page.screenshot({ path: resolve(output) });
await browser.close();
