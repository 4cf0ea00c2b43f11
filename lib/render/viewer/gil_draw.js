// SPDX-License-Identifier: MIT
/*
 * Draws a GIL's lane: above, how many wait, and below, who holds it. Every second holder's colour has a
 * texture as well, and where one holds it for long, its name is written.
 */

import { HOLDER_COLOURS } from './gils.js';
import { fillRows } from './raster.js';

/* The part of a column that makes it look like one holder's. */
const MAIN_SHARE = 0.6;

/**
 * Textures, by colour.
 * @param {number} width
 * @param {number} scale device pixels for one of CSS
 * @param {number[]} colours
 * @param {number[]} lines of their textures
 * @returns {Uint32Array[][]} rows, repeated downwards
 */
export function makeHolderRows(width, scale, colours, lines) {
	const period = Math.max(2, Math.round(5 * scale));
	const thick = Math.max(1, Math.round(scale));
	/** @type {((x: number, y: number) => boolean)[]} */
	const textures = [
		(_x, y) => y % period < thick,
		(x) => x % period < thick,
		(x, y) => x % period < 2 * thick && y % period < 2 * thick,
		(x, y) => (x + period - (y % period)) % period < thick,
	];
	return colours.map((colour, place) => {
		const texture = place % 2 && textures[place >> 1];
		if (!texture)
			return [new Uint32Array(width).fill(colour)];
		return Array.from({ length: period }, (_row, y) =>
			Uint32Array.from({ length: width }, (_pixel, x) => (texture(x, y) ? lines[place] : colour)),
		);
	});
}

/**
 * @param {import('./raster.js').Raster} raster
 * @param {import('./gil_columns.js').Columns} columns
 * @param {number} most that the chart has room for
 * @param {number} top
 * @param {number} bottom
 * @param {number} mean colour of the mean
 * @param {number} cap colour of what is between it and the most
 */
export function drawWaiters(raster, columns, most, top, bottom, mean, cap) {
	const { width, waiters } = columns;
	const { pixels } = raster;
	const height = bottom - top;
	const first = Math.max(0, top);
	const last = Math.min(bottom, raster.height);
	for (let x = 0; x < width; x++) {
		const capped = bottom - Math.round(Math.min(1, columns.most[x] / most) * height);
		let low = bottom - Math.round(Math.min(1, waiters[x] / most) * height);
		if (waiters[x] > 0)
			low = Math.min(low, bottom - raster.smallest);
		for (let y = Math.max(first, Math.min(capped, low)); y < last; y++)
			pixels[y * width + x] = y < low ? cap : mean;
	}
}

/**
 * @typedef {object} Run of columns that one holder has
 * @property {number} colour
 * @property {number} holder lane + 1; 0: only its colour is known
 * @property {number} x0
 * @property {number} x1
 */

/**
 * @param {import('./raster.js').Raster} raster
 * @param {Uint32Array[][]} rows by colour
 * @param {import('./gil_columns.js').Columns} columns
 * @param {number} top
 * @param {number} bottom
 * @param {number} wide a run to be told has so many columns
 * @returns {Run[]} those
 */
export function drawHolders(raster, rows, columns, top, bottom, wide) {
	const { width, held, mixed, holder } = columns;
	/* A run goes on behind so many columns that others have. */
	const bridge = wide / 8;
	/** @type {Run[]} */
	const runs = [];
	/** @type {Run} */
	let run = { colour: -1, holder: 0, x0: 0, x1: 0 };
	let plainFrom = 0;
	let plain = -1;
	/** @param {number} x */
	const flush = (x) => {
		if (plain >= 0)
			fillRows(raster, plainFrom, top, x, bottom, rows[plain]);
		plain = -1;
	};

	for (let x = 0; x < width; x++) {
		let main = -1;
		let share = 0;
		let all = 0;
		for (let colour = 0; colour < HOLDER_COLOURS; colour++) {
			const part = held[colour][x];
			all += part;
			if (part > share) {
				main = colour;
				share = part;
			}
		}
		/* A sharp edge is his who has most of the column. */
		const colour = share > 0.999 || (!mixed[x] && share >= 1 - all) ? main : -1;
		if (colour !== plain || colour < 0) {
			flush(x);
			plain = colour;
			plainFrom = x;
		}
		if (colour < 0 && all > 0 && (mixed[x] || share > 1 - all))
			drawShares(raster, rows, held, x, top, bottom);

		if (share < MAIN_SHARE)
			continue;
		const who = main === HOLDER_COLOURS - 1 ? holder[x] : 0;
		if (main !== run.colour || who !== run.holder || x - run.x1 > bridge) {
			run = { colour: main, holder: who, x0: x, x1: x };
			runs.push(run);
		}
		run.x1 = x + 1;
	}
	flush(width);
	return runs.filter(
		({ colour, holder: who, x0, x1 }) => x1 - x0 >= wide && (who > 0 || colour < HOLDER_COLOURS - 1),
	);
}

/**
 * One column of pixels, each colour as high as its share.
 * @param {import('./raster.js').Raster} raster
 * @param {Uint32Array[][]} rows
 * @param {Float64Array[]} held
 * @param {number} x
 * @param {number} top
 * @param {number} bottom
 */
function drawShares(raster, rows, held, x, top, bottom) {
	let y = bottom;
	for (let colour = 0; colour < HOLDER_COLOURS && y > top; colour++) {
		const share = held[colour][x];
		if (share <= 0)
			continue;
		const height = Math.max(raster.smallest, Math.round(share * (bottom - top)));
		fillRows(raster, x, Math.max(top, y - height), x + 1, y, rows[colour]);
		y -= height;
	}
}
