// SPDX-License-Identifier: MIT
/* Call stacks, each kept once: a stack is a frame, and the stack of its caller. */

import { readColumn } from './columns.js';
import { make } from './dom.js';
import { visibleText } from './format.js';

/**
 * @typedef {object} Stacks
 * @property {string[]} names of frames, files, threads and states
 * @property {Uint32Array} up how far before a stack its caller's stands
 * @property {Uint32Array} frame of each stack; 0 is the stack of which nothing is known
 * @property {Uint32Array} frameName by frame, into the names
 * @property {Uint32Array} frameFile likewise + 1; 0 when there is none
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @returns {Promise<Stacks | null>} null when none were recorded
 */
export async function readStacks(report) {
	if (!report.stacks)
		return null;
	const { stacks, frames } = report.stacks;
	const up = new Uint32Array(stacks + 1);
	const frame = new Uint32Array(stacks + 1);
	const frameName = new Uint32Array(frames);
	const frameFile = new Uint32Array(frames);

	await readColumn('stack-up', up.subarray(1));
	await readColumn('stack-frame', frame.subarray(1));
	await readColumn('frame-name', frameName);
	await readColumn('frame-file', frameFile);
	/** @type {string[]} */
	const names = JSON.parse(document.getElementById('names')?.textContent ?? '[]');
	for (let i = 1; i <= stacks; i++)
		if (up[i] === 0 || up[i] > i || frame[i] >= frames)
			throw new Error('a stack has no place among the others');
	return { names, up, frame, frameName, frameFile };
}

/**
 * The frames of a stack, innermost first.
 * @param {Stacks} stacks
 * @param {number} stack
 */
export function framesOf(stacks, stack) {
	const { names, up, frame, frameName, frameFile } = stacks;
	const list = [];
	for (let i = stack; i > 0; i -= up[i])
		list.push({
			name: names[frameName[frame[i]]] ?? '?',
			file: frameFile[frame[i]] > 0 ? (names[frameFile[frame[i]] - 1] ?? '?') : '',
		});
	return list;
}

/**
 * A stack as a list to read, innermost first.
 * @param {Stacks} stacks
 * @param {number} stack
 * @param {number} most frames; the rest is counted
 */
export function stackList(stacks, stack, most) {
	const frames = framesOf(stacks, stack);
	const list = make('ol', 'stack');
	for (const { name, file } of frames.slice(0, most)) {
		const item = make('li', '', make('bdi', '', visibleText(name)));
		if (file) {
			const short = make('span', 'file', visibleText(file.slice(file.lastIndexOf('/') + 1)));
			short.title = visibleText(file);
			item.append(' ', short);
		}
		list.append(item);
	}
	if (frames.length > most)
		list.append(make('li', 'hint', `and ${frames.length - most} more`));
	return list;
}
