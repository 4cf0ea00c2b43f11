// SPDX-License-Identifier: MIT
/*
 * Draws lanes into an array of pixels. What covers whole pixels is drawn as a block of the lane's full
 * height; what is narrower is summed up by columns of pixels, in which the heights are the shares of
 * the time: held below, waiting above it. So the work depends on the pixels and not on the number of
 * intervals, and nothing that happened is invisible.
 *
 * Kinds differ by texture as well as by colour: held and running are plain, waiting is striped aslant,
 * runnable upright, a sleep for the GIL lies in lines, one for a lock is striped the other way, other
 * sleeps are dashed, chequered or a grid, unknown is dotted.
 */

import {
	KIND_HAS,
	KIND_UNKNOWN,
	KIND_WAIT,
	firstEndingAfter,
	firstEndingFar,
	makeTally,
	tallyPart,
} from './lanes.js';
import { timeAt } from './view.js';

/* An interval of at least so many pixels has sharp edges. */
const BLOCK_PIXELS = 1.5;
/* Among so many intervals, one is found in a few steps. */
const FEW_A_COLUMN = 32;
/* Moments that were made from a pixel shall lead back to it. */
const ROUNDING = 1e-6;

/**
 * @typedef {object} Raster
 * @property {Uint32Array} pixels
 * @property {number} width
 * @property {number} height
 * @property {Brush} gil
 * @property {Brush} states
 * @property {Palette} palette
 * @property {number} smallest pixels that the smallest share is high
 */

/**
 * How the intervals of a list are drawn.
 * @typedef {object} Brush
 * @property {number[]} order kinds from the bottom of a column to its top
 * @property {Uint32Array[][]} rows by kind: rows of pixels, repeated downwards; one row is plain
 * @property {import('./lanes.js').Tally} tally room for the sums of a column
 */

/**
 * A bar that is wide enough for a label: columns of pixels.
 * @typedef {{index: number, x0: number, x1: number}} Block
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
 * @property {number} running
 * @property {number} runnable
 * @property {number} runnableStripe
 * @property {number} sleepGil
 * @property {number} sleepGilLine
 * @property {number} sleepLock
 * @property {number} sleepLockStripe
 * @property {number} sleepPause
 * @property {number} sleepPauseDash
 * @property {number} sleepIo
 * @property {number} sleepIoCheck
 * @property {number} sleepDisk
 * @property {number} sleepDiskGrid
 * @property {number} memory
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
 * @param {string[]} [looks] of the kinds of states, from 1 on: the swatches that they look like
 * @returns {Raster}
 */
export function makeRaster(width, height, scale, palette, buffer, looks = []) {
	const period = Math.round(6 * scale);
	const stripe = Math.max(1, Math.round(1.8 * scale));
	const half = Math.round(3 * scale);
	const dot = Math.max(1, Math.round(scale));
	/**
	 * @param {number} rows after which it repeats
	 * @param {(x: number, y: number) => number} colour
	 */
	const texture = (rows, colour) =>
		Array.from({ length: rows }, (_row, y) =>
			Uint32Array.from({ length: width }, (_pixel, x) => colour(x, y)),
		);
	/** @param {number} colour */
	const plain = (colour) => [new Uint32Array(width).fill(colour)];
	const unknown = texture(period, (x, y) => (x % period < dot && y < dot ? palette.unknownDot : palette.unknown));

	/** @type {Brush} */
	const gil = { order: [KIND_HAS, KIND_WAIT, KIND_UNKNOWN], rows: [], tally: makeTally(0) };
	gil.rows[KIND_HAS] = plain(palette.has);
	gil.rows[KIND_WAIT] = texture(period, (x, y) =>
		(x + y) % period < stripe ? palette.waitStripe : palette.wait,
	);
	gil.rows[KIND_UNKNOWN] = unknown;
	const dash = 2 * half;
	/** @type {Record<string, Uint32Array[]>} */
	const textures = {
		running: plain(palette.running),
		runnable: texture(1, (x) => (x % (half + dot) < stripe ? palette.runnableStripe : palette.runnable)),
		unknown,
		'sleep-gil': texture(half, (_, y) => (y < dot ? palette.sleepGilLine : palette.sleepGil)),
		'sleep-lock': texture(period, (x, y) =>
			(x + period - y) % period < stripe ? palette.sleepLockStripe : palette.sleepLock,
		),
		'sleep-pause': texture(dash, (x, y) =>
			y % half === 0 && (x + (y < half ? 0 : dash)) % (2 * dash) < dash
				? palette.sleepPauseDash
				: palette.sleepPause,
		),
		'sleep-io': texture(dash, (x, y) =>
			(Math.floor(x / half) + Math.floor(y / half)) % 2 ? palette.sleepIoCheck : palette.sleepIo,
		),
		'sleep-disk': texture(half + dot, (x, y) =>
			x % (half + dot) < dot || y < dot ? palette.sleepDiskGrid : palette.sleepDisk,
		),
		no: plain(palette.alive),
	};
	/** @type {Brush} */
	const states = { order: [], rows: [], tally: makeTally(0) };
	looks.forEach((look, place) => {
		states.rows[place + 1] = textures[look];
		/* What looks like nothing is not drawn where it is narrow. */
		if (look !== 'no')
			states.order.push(place + 1);
	});
	return {
		pixels: new Uint32Array(buffer),
		width,
		height,
		gil,
		states,
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
	if (x1 - x0 > 16) {
		for (let y = y0; y < y1; y++)
			pixels.fill(colour, y * width + x0, y * width + x1);
		return;
	}
	/* To call fill() takes longer than a few pixels. */
	for (let x = x0; x < x1; x++)
		for (let y = y0, at = y0 * width + x; y < y1; y++, at += width)
			pixels[at] = colour;
}

/**
 * @param {Raster} raster
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 * @param {Uint32Array[]} rows
 */
export function fillRows(raster, x0, y0, x1, y1, rows) {
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
 * The same for one column of pixels.
 * @param {Raster} raster
 * @param {number} x
 * @param {number} y0
 * @param {number} y1
 * @param {Uint32Array[]} rows
 */
function fillPixels(raster, x, y0, y1, rows) {
	const { pixels, width } = raster;
	let at = y0 * width + x;
	if (rows.length === 1) {
		const colour = rows[0][x];
		for (let y = y0; y < y1; y++, at += width)
			pixels[at] = colour;
		return;
	}
	for (let y = y0, row = y0 % rows.length; y < y1; y++, at += width) {
		pixels[at] = rows[row][x];
		if (++row === rows.length)
			row = 0;
	}
}

/**
 * One column of pixels, each kind as high as its share of the column's time.
 * @param {Raster} raster
 * @param {Brush} brush
 * @param {number} x
 * @param {number} top
 * @param {number} bottom
 * @param {number} column_ns
 */
function fillColumn(raster, brush, x, top, bottom, column_ns) {
	const { order, rows } = brush;
	const { sums } = brush.tally;
	const scale = (bottom - top) / column_ns;
	let y = bottom;
	for (let k = 0; k < order.length; k++) {
		const kind = order[k];
		if (sums[kind] <= 0)
			continue;
		const next = Math.max(top, y - Math.max(raster.smallest, Math.round(sums[kind] * scale)));
		fillPixels(raster, x, next, y, rows[kind]);
		y = next;
	}
}

/**
 * Draws the intervals of SPAN in the range of VIEW between the rows TOP and BOTTOM: blocks over the
 * columns that one interval covers whole, and the columns between them by their sums.
 * @param {Raster} raster
 * @param {Brush} brush
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Span} span
 * @param {import('./view.js').View} view
 * @param {number} top
 * @param {number} bottom
 * @param {number} [wide] columns of pixels that a block to be told has at least
 * @returns {Block[]} those
 */
export function drawLane(raster, brush, intervals, span, view, top, bottom, wide = Infinity) {
	const { start, end, kind } = intervals;
	const { width } = raster;
	const pixels_per_ns = view.width / (view.to - view.from);
	const first = view.from;
	/* All before this moment has been drawn. */
	let done = first;
	let i = firstEndingFar(intervals, span.first, span.last, first, 0);
	/** @type {Block[]} */
	const blocks = [];

	if (brush.tally.sums.length !== intervals.kinds)
		brush.tally = makeTally(intervals.kinds);
	brush.tally.at = -1;
	/* A column has about as many intervals as the one before. */
	let count = 0;
	while (i < span.last && start[i] < view.to) {
		const x = Math.floor((Math.max(start[i], done) - first) * pixels_per_ns + ROUNDING);
		if (x >= width)
			break;
		const from = timeAt(view, x);
		const to = timeAt(view, x + 1);
		if (start[i] <= from && end[i] >= to) {
			const x1 = Math.min(width, Math.floor((end[i] - first) * pixels_per_ns + ROUNDING));
			fillRows(raster, x, top, Math.max(x + 1, x1), bottom, brush.rows[kind[i]]);
			if (x1 - x >= wide)
				blocks.push({ index: i, x0: x, x1 });
			done = Math.max(to, timeAt(view, x1));
			if (end[i] <= done)
				i++;
			continue;
		}
		const behind =
			count > FEW_A_COLUMN
				? firstEndingFar(intervals, i, span.last, to, count)
				: firstEndingAfter(intervals, i, span.last, to);
		count = behind - i;
		drawColumn(raster, brush, intervals, x, top, bottom, i, behind, span.last, from, to);
		done = to;
		i = behind;
	}
	return blocks;
}

/**
 * Draws the column X, which shows the time from FROM to TO. The intervals [I, BEHIND) end in it, and
 * BEHIND, if it is not LAST, may begin in it.
 * @param {Raster} raster
 * @param {Brush} brush
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
function drawColumn(raster, brush, intervals, x, top, bottom, i, behind, last, from, to) {
	const { start, end, kind } = intervals;
	const { order, tally } = brush;
	const { sums } = tally;
	const wide = BLOCK_PIXELS * (to - from);
	const reaches = behind < last && start[behind] < to;
	const touching = behind - i + (reaches ? 1 : 0);

	tallyPart(intervals, tally, i, behind);
	if (behind > i && start[i] < from)
		sums[kind[i]] += start[i] - from;
	if (reaches)
		sums[kind[behind]] += to - Math.max(start[behind], from);

	/* Where nothing but blocks begins or ends, the edge is sharp: the greatest share has it. */
	let sharp = touching <= 2;
	for (let k = i; sharp && k < i + touching; k++)
		sharp = end[k] - start[k] >= wide;
	if (!sharp) {
		fillColumn(raster, brush, x, top, bottom, to - from);
		return;
	}
	let most = 0;
	let most_ns = to - from;
	for (let k = 0; k < order.length; k++)
		most_ns -= sums[order[k]];
	for (let k = 0; k < order.length; k++) {
		if (sums[order[k]] <= 0 || sums[order[k]] < most_ns)
			continue;
		most = order[k];
		most_ns = sums[most];
	}
	if (most > 0)
		fillPixels(raster, x, top, bottom, brush.rows[most]);
}
