// SPDX-License-Identifier: MIT
/* The colours of the lanes, from the style sheet, and what they are like when others are looked at. */

import { HOLDER_COLOURS } from './gils.js';
import { parseColour } from './raster.js';

/* How much is left of what is muted. */
const MUTED = 0.22;

/**
 * @typedef {object} HolderPalette
 * @property {number[]} colours
 * @property {number[]} lines of textures
 * @property {number} waiters
 * @property {number} waitersMost
 */

/**
 * How rows are drawn: with all their colours, or muted.
 * @typedef {object} Brushes
 * @property {import('./raster.js').Brush} gil
 * @property {import('./raster.js').Brush} states
 * @property {Uint32Array[][]} holders by colour
 * @property {number} waiters
 * @property {number} waitersMost
 */

/** The colours of now: they change with the theme. */
export function readColours() {
	const style = getComputedStyle(document.documentElement);
	/** @param {string} name */
	const colour = (name) => parseColour(style.getPropertyValue(name));
	/** @param {number} place */
	const holder = (place) => colour(`--holder-${place}`);
	const colours = Array.from({ length: HOLDER_COLOURS }, (_, place) => holder(place));
	const background = colour('--plot');

	return {
		palette: {
			background,
			alive: colour('--alive'),
			grid: colour('--grid'),
			has: colour('--has'),
			wait: colour('--wait'),
			waitStripe: colour('--wait-stripe'),
			unknown: colour('--unknown'),
			unknownDot: colour('--unknown-dot'),
			running: colour('--running'),
			runnable: colour('--runnable'),
			runnableStripe: colour('--runnable-stripe'),
			sleepGil: colour('--sleep-gil'),
			sleepGilLine: colour('--sleep-gil-line'),
			sleepLock: colour('--sleep-lock'),
			sleepLockStripe: colour('--sleep-lock-stripe'),
			sleepPause: colour('--sleep-pause'),
			sleepPauseDash: colour('--sleep-pause-dash'),
			sleepIo: colour('--sleep-io'),
			sleepIoCheck: colour('--sleep-io-check'),
			sleepDisk: colour('--sleep-disk'),
			sleepDiskGrid: colour('--sleep-disk-grid'),
			memory: colour('--memory'),
		},
		/** @type {HolderPalette} */
		holders: {
			colours,
			lines: colours.map((value) => blend(value, background, 0.45)),
			waiters: colour('--wait-stripe'),
			waitersMost: colour('--wait'),
		},
	};
}

/**
 * @param {number} colour
 * @param {number} other
 * @param {number} part of the first
 */
function blend(colour, other, part) {
	let mixed = 0xff000000;
	for (const shift of [0, 8, 16]) {
		const value = ((colour >>> shift) & 0xff) * part + ((other >>> shift) & 0xff) * (1 - part);
		mixed |= Math.round(value) << shift;
	}
	return mixed >>> 0;
}

/**
 * @param {Uint32Array[]} rows
 * @param {number} background
 */
function mute(rows, background) {
	/** @type {Map<number, number>} */
	const known = new Map();
	return rows.map((row) =>
		row.map((colour) => {
			const muted = known.get(colour) ?? blend(colour, background, MUTED);
			known.set(colour, muted);
			return muted;
		}),
	);
}

/**
 * What the filter leaves out is drawn with these.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {Brushes} brushes
 * @param {number} background
 */
export function mutedBrushes(timeline, brushes, background) {
	if (timeline.muted)
		return timeline.muted;
	/** @param {import('./raster.js').Brush} brush */
	const muteBrush = ({ order, rows, tally }) => ({ order, rows: rows.map((some) => mute(some, background)), tally });
	/** @param {number} colour */
	const muteColour = (colour) => mute([Uint32Array.of(colour)], background)[0][0];
	timeline.muted = {
		gil: muteBrush(brushes.gil),
		states: muteBrush(brushes.states),
		holders: brushes.holders.map((rows) => mute(rows, background)),
		waiters: muteColour(brushes.waiters),
		waitersMost: muteColour(brushes.waitersMost),
	};
	return timeline.muted;
}
