// SPDX-License-Identifier: MIT
/* The part of the trace that is on the screen: a range of time over a width in device pixels. */

const SHORTEST_NS = 50;

/**
 * @typedef {object} View
 * @property {number} from first moment shown, ns since the start of the trace
 * @property {number} to
 * @property {number} width in device pixels
 * @property {number} duration of the whole trace
 */

/**
 * Moves and scales the range so that it is not shorter than can be told apart, not longer than the
 * trace, and inside of it.
 * @param {View} view
 * @param {number} from
 * @param {number} to
 */
export function setRange(view, from, to) {
	const longest = Math.max(view.duration, SHORTEST_NS);
	const length = Math.min(longest, Math.max(SHORTEST_NS, to - from));
	const start = Math.min(Math.max(0, from), longest - length);
	view.from = start;
	view.to = start + length;
}

/**
 * @param {View} view
 * @param {number} factor below 1: closer
 * @param {number} anchor the moment that stays where it is
 */
export function zoomAt(view, factor, anchor) {
	const length = view.to - view.from;
	const longest = Math.max(view.duration, SHORTEST_NS);
	const scaled = Math.min(longest, Math.max(SHORTEST_NS, length * factor));
	const from = anchor - ((anchor - view.from) / length) * scaled;
	setRange(view, from, from + scaled);
}

/**
 * @param {View} view
 * @param {number} part of the visible length
 */
export function panBy(view, part) {
	const shift = (view.to - view.from) * part;
	setRange(view, view.from + shift, view.to + shift);
}

/** @param {View} view @param {number} x in device pixels */
export function timeAt(view, x) {
	return view.from + (x / view.width) * (view.to - view.from);
}

/** @param {View} view @param {number} time */
export function pixelAt(view, time) {
	return ((time - view.from) / (view.to - view.from)) * view.width;
}
