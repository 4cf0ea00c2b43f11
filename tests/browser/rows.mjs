// SPDX-License-Identifier: MIT
/* Where the rows of the timeline are on the screen. */

/**
 * The upper edge of the row with a label.
 * @param {import('playwright-core').Page} tab
 * @param {string} selector
 */
export async function rowTop(tab, selector) {
	const box = await tab.locator(`#labels ${selector}`).first().boundingBox();
	if (!box)
		throw new Error(`there is no row ${selector}`);
	return box.y;
}

/**
 * @param {import('playwright-core').Page} tab
 * @param {number} index
 */
export function laneTop(tab, index) {
	return rowTop(tab, `[data-lane="${index}"]`);
}
