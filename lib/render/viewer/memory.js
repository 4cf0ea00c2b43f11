// SPDX-License-Identifier: MIT
/* How much memory each process had, over time. */

import { readColumn } from './columns.js';
import { line } from './details.js';
import { make } from './dom.js';
import { formatBytes, formatMoment, visibleText } from './format.js';
import { fillPlain } from './raster.js';
import { timeAt } from './view.js';

/**
 * @typedef {object} Memory
 * @property {import('./report.js').Process} process
 * @property {Float64Array} time of each point: so much it had from then on
 * @property {Float64Array} bytes
 * @property {number} most
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @returns {Promise<Memory[]>}
 */
export async function readMemory(report) {
	const parts = report.memory ?? [];
	const count = parts.reduce((sum, { points }) => sum + points, 0);
	const time = new Float64Array(count);
	const bytes = new Float64Array(count);
	let first = 0;

	if (count === 0)
		return [];
	await readColumn('memory-gap', time);
	await readColumn('memory-bytes', bytes);
	return parts.map(({ process, points }) => {
		const part = {
			process: report.summary.processes[process],
			time: time.subarray(first, first + points),
			bytes: bytes.subarray(first, first + points),
			most: 0,
		};
		for (let i = 0; i < points; i++) {
			part.time[i] += i > 0 ? part.time[i - 1] : 0;
			part.most = Math.max(part.most, part.bytes[i]);
		}
		first += points;
		return part;
	});
}

/**
 * The last point that is not behind a moment; -1 when there is none.
 * @param {Memory} memory
 * @param {number} time
 */
function pointAt(memory, time) {
	let low = 0;
	let high = memory.time.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (memory.time[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/**
 * Draws the most that there was in each column of pixels, from the row BOTTOM upwards.
 * @param {import('./raster.js').Raster} raster
 * @param {Memory} memory
 * @param {import('./view.js').View} view
 * @param {number} top
 * @param {number} bottom
 */
export function drawMemory(raster, memory, view, top, bottom) {
	const { time, bytes, most } = memory;
	let i = pointAt(memory, view.from);
	for (let x = 0; x < raster.width; x++) {
		const to = timeAt(view, x + 1);
		let highest = i >= 0 ? bytes[i] : 0;
		while (i + 1 < time.length && time[i + 1] < to)
			highest = Math.max(highest, bytes[++i]);
		const y = bottom - Math.round((highest / most) * (bottom - top));
		fillPlain(raster, x, Math.max(0, y), x + 1, Math.min(raster.height, bottom), raster.palette.memory);
	}
}

/**
 * @param {Memory} memory
 * @param {number} from of the pixel under the pointer
 * @param {number} to
 */
export function describeMemory(memory, from, to) {
	const point = pointAt(memory, to);
	if (point < 0)
		return null;
	const nodes = [
		make('div', 'what', make('span', 'swatch memory'), 'Resident memory'),
		line('process', `${visibleText(memory.process.command)} (${memory.process.pid})`),
		line('at', formatMoment((from + to) / 2, to - from)),
		line('has', formatBytes(memory.bytes[point])),
		line('at most', formatBytes(memory.most)),
	];
	return { nodes, interval: -1, from, to };
}
