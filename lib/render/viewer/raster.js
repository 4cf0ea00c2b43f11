// SPDX-License-Identifier: MIT
/*
 * Draws lanes into an array of pixels. What covers whole pixels is drawn as a block of the lane's full
 * height; what is narrower is summed up by columns of pixels, in which the heights are the shares of
 * the time: held below, waiting above it. So the work depends on the pixels and not on the number of
 * intervals, and nothing that happened is invisible.
 *
 * Kinds differ by texture as well as by colour: held is plain, waiting is striped, unknown is dotted.
 */

import { KIND_HAS, KIND_UNKNOWN, KIND_WAIT, addPart, addSums, firstEndingAfter } from './lanes.js';
import { pixelAt, timeAt } from './view.js';

/* An interval of at least so many pixels has sharp edges. */
const BLOCK_PIXELS = 1.5;
/* Moments that were made from a pixel shall lead back to it. */
const ROUNDING = 1e-6;

/**
 * @typedef {object} Raster
 * @property {Uint32Array} pixels
 * @property {number} width
 * @property {number} height
 * @property {Uint32Array[]} waiting rows of stripes, repeated downwards
 * @property {Uint32Array[]} unknown rows of dots
 * @property {Palette} palette
 * @property {number} smallest pixels that the smallest share is high
 */

/**
 * @typedef {object} Palette
 * @property {number} background
 * @property {number} alive
 * @property {number} grid
 * @property {number} has
 * @property {number} wait
 * @property {number} waitStripe
 * @property {number} unknown
 * @property {number} unknownDot
 */

/**
 * A colour of the style sheet, #rrggbb, as a pixel of ImageData on a little-endian machine.
 * @param {string} text
 */
export function parseColour(text) {
	const value = parseInt(text.trim().slice(1), 16);
	return ((0xff << 24) | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

/**
 * @param {number} width
 * @param {number} height
 * @param {number} scale device pixels for one of CSS
 * @param {Palette} palette
 * @param {ArrayBufferLike} buffer of the image
 * @returns {Raster}
 */
export function makeRaster(width, height, scale, palette, buffer) {
	const period = Math.round(6 * scale);
	const stripe = Math.max(1, Math.round(1.8 * scale));
	const dot = Math.max(1, Math.round(scale));
	const waiting = [];
	const unknown = [];
	for (let y = 0; y < period; y++) {
		const stripes = new Uint32Array(width);
		const dots = new Uint32Array(width);
		for (let x = 0; x < width; x++) {
			stripes[x] = (x + y) % period < stripe ? palette.waitStripe : palette.wait;
			dots[x] = x % period < dot && y < dot ? palette.unknownDot : palette.unknown;
		}
		waiting.push(stripes);
		unknown.push(dots);
	}
	return {
		pixels: new Uint32Array(buffer),
		width,
		height,
		waiting,
		unknown,
		palette,
		smallest: Math.max(1, Math.round(1.5 * scale)),
	};
}

/**
 * @param {Raster} raster
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 * @param {number} colour
 */
export function fillPlain(raster, x0, y0, x1, y1, colour) {
	const { pixels, width } = raster;
	for (let y = y0; y < y1; y++)
		pixels.fill(colour, y * width + x0, y * width + x1);
}

/**
 * @param {Raster} raster
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 * @param {number} kind
 */
function fillKind(raster, x0, y0, x1, y1, kind) {
	if (kind === KIND_HAS) {
		fillPlain(raster, x0, y0, x1, y1, raster.palette.has);
		return;
	}
	const rows = kind === KIND_WAIT ? raster.waiting : raster.unknown;
	for (let y = y0; y < y1; y++) {
		const row = rows[y % rows.length];
		const offset = y * raster.width;
		if (x1 - x0 > 32)
			raster.pixels.set(row.subarray(x0, x1), offset + x0);
		else
			for (let x = x0; x < x1; x++)
				raster.pixels[offset + x] = row[x];
	}
}

/**
 * One column of pixels, each kind as high as its share of the column's time.
 * @param {Raster} raster
 * @param {number} x
 * @param {number} top
 * @param {number} bottom
 * @param {import('./lanes.js').Sums} sums
 * @param {number} column_ns
 */
function fillColumn(raster, x, top, bottom, sums, column_ns) {
	const height = bottom - top;
	/** @param {number} ns */
	const share = (ns) => {
		if (ns <= 0)
			return 0;
		return Math.max(raster.smallest, Math.round((ns / column_ns) * height));
	};
	let y = bottom;
	for (const [kind, ns] of /** @type {const} */ ([
		[KIND_HAS, sums.has],
		[KIND_WAIT, sums.wait],
		[KIND_UNKNOWN, sums.unknown],
	])) {
		const next = Math.max(top, y - share(ns));
		if (next < y)
			fillKind(raster, x, next, x + 1, y, kind);
		y = next;
	}
}

/**
 * Draws what LANE did in the range of VIEW between the rows TOP and BOTTOM: blocks over the columns
 * that one interval covers whole, and the columns between them by their sums.
 * @param {Raster} raster
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Lane} lane
 * @param {import('./view.js').View} view
 * @param {number} top
 * @param {number} bottom
 */
export function drawLane(raster, intervals, lane, view, top, bottom) {
	const { start, end, kind } = intervals;
	const { width } = raster;
	/* All before this moment has been drawn. */
	let done = view.from;
	let i = firstEndingAfter(intervals, lane.first, lane.last, view.from);

	while (i < lane.last && start[i] < view.to) {
		const x = Math.floor(pixelAt(view, Math.max(start[i], done)) + ROUNDING);
		if (x >= width)
			break;
		const from = timeAt(view, x);
		const to = timeAt(view, x + 1);
		if (start[i] <= from && end[i] >= to) {
			const x1 = Math.min(width, Math.floor(pixelAt(view, end[i]) + ROUNDING));
			fillKind(raster, x, top, Math.max(x + 1, x1), bottom, kind[i]);
			done = Math.max(to, timeAt(view, x1));
			if (end[i] <= done)
				i++;
			continue;
		}
		const behind = firstEndingAfter(intervals, i, lane.last, to);
		drawColumn(raster, intervals, x, top, bottom, i, behind, lane.last, from, to);
		done = to;
		i = behind;
	}
}

/**
 * Draws the column X, which shows the time from FROM to TO. The intervals [I, BEHIND) end in it, and
 * BEHIND, if it is not LAST, may begin in it.
 * @param {Raster} raster
 * @param {import('./lanes.js').Intervals} intervals
 * @param {number} x
 * @param {number} top
 * @param {number} bottom
 * @param {number} i
 * @param {number} behind
 * @param {number} last
 * @param {number} from
 * @param {number} to
 */
function drawColumn(raster, intervals, x, top, bottom, i, behind, last, from, to) {
	const { start, end, kind } = intervals;
	const sums = { has: 0, wait: 0, unknown: 0 };
	const wide = BLOCK_PIXELS * (to - from);
	const reaches = behind < last && start[behind] < to;
	const touching = behind - i + (reaches ? 1 : 0);

	addSums(intervals, i, behind, sums);
	if (behind > i && start[i] < from)
		addPart(sums, kind[i], start[i] - from);
	if (reaches)
		addPart(sums, kind[behind], to - Math.max(start[behind], from));

	/* Where nothing but blocks begins or ends, the edge is sharp: the greatest share has it. */
	let sharp = touching <= 2;
	for (let k = i; sharp && k < i + touching; k++)
		sharp = end[k] - start[k] >= wide;
	if (!sharp) {
		fillColumn(raster, x, top, bottom, sums, to - from);
		return;
	}
	const no = to - from - sums.has - sums.wait - sums.unknown;
	const most = Math.max(no, sums.has, sums.wait, sums.unknown);
	if (most === sums.has)
		fillKind(raster, x, top, x + 1, bottom, KIND_HAS);
	else if (most === sums.wait)
		fillKind(raster, x, top, x + 1, bottom, KIND_WAIT);
	else if (most === sums.unknown)
		fillKind(raster, x, top, x + 1, bottom, KIND_UNKNOWN);
}
