// SPDX-License-Identifier: MIT
/* Work that must not keep the page from being painted: it is done in slices, with a pause after each. */

/* The page answers within a frame or two meanwhile. */
const SLICE_MS = 12;

/** After all that waits to be done now. */
export function pause() {
	return new Promise((done) => setTimeout(done, 0));
}

/** When what is in the page now is on the screen; soon in any case: a hidden page is not painted. */
export function afterPaint() {
	return Promise.race([
		new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))),
		new Promise((done) => setTimeout(done, 500)),
	]);
}

/**
 * Does one after the other.
 * @param {(() => void)[]} tasks
 */
export async function inSlices(tasks) {
	let start = performance.now();
	for (const task of tasks) {
		task();
		if (performance.now() - start < SLICE_MS)
			continue;
		await pause();
		start = performance.now();
	}
}
