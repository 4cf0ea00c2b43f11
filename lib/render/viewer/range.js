// SPDX-License-Identifier: MIT
/*
 * The tables of the selected range. Sums of the rows on the screen are shown at once, also while the range
 * is dragged; what has to be counted, and the other rows, follow.
 */

import { onChange } from './changes.js';
import { byId } from './dom.js';
import { formatDuration, formatMoment } from './format.js';
import { countRange, rangeFigures } from './range_figures.js';
import { clearSelection } from './selection.js';
import { fillSteps, setOrder, wholeFigures } from './table.js';
import { showRange } from './timeline.js';

/* What is not at once begins when the range has been the same for a while. */
const QUIET_MS = 120;
const TURN_MS = 8;
/* Filling the tables takes no more than this part of the time. */
const SHARE = 0.25;

/**
 * @typedef {object} RangeTables
 * @property {import('./timeline.js').Timeline} timeline
 * @property {import('./table.js').ThreadTable[]} tables
 * @property {string} [unknowable] why nothing can be counted in a range
 * @property {Iterator<void> | null} work that is still to be done, in turns
 * @property {ReturnType<typeof setTimeout> | undefined} timer of the next turn
 * @property {ReturnType<typeof setTimeout> | undefined} filling
 * @property {number} free when the rows that are seen may be filled again
 */

/** @param {{from: number, to: number}} range */
function rangeText({ from, to }) {
	const resolution = (to - from) / 100;
	const moments = `${formatMoment(from, resolution)} – ${formatMoment(to, resolution)}`;
	return `Range ${moments} (${formatDuration(to - from)})`;
}

/** @param {RangeTables} shown */
function showBar({ timeline: { selection, report } }) {
	byId('range-bar').hidden = !selection;
	byId('range-text').textContent = selection && `${rangeText(selection)}: the table is about it`;
	document.body.classList.toggle('of-range', selection !== null && report.lanes.length > 0);
}

/**
 * The figures of the selection, once for each thread that is asked for.
 * @param {RangeTables} shown
 * @param {import('./range_figures.js').Counts[] | null} counts null: not yet
 */
function figuresOfRange({ timeline, unknowable }, counts) {
	const { report, lanes, intervals, states, selection } = timeline;
	if (!selection || !intervals)
		return wholeFigures(report);
	const data = { report, lanes, intervals, states };
	const laneOf = new Map(lanes.map((lane) => [lane.thread, lane]));
	/** @type {Map<import('./report.js').Thread, import('./table.js').Figures>} */
	const known = new Map();
	/** @param {import('./report.js').Thread} thread */
	return (thread) => {
		let figures = known.get(thread);
		if (!figures) {
			const lane = /** @type {import('./lanes.js').Lane} */ (laneOf.get(thread));
			figures = rangeFigures(data, lane, selection, counts?.[lane.index] ?? null, unknowable);
			known.set(thread, figures);
		}
		return figures;
	};
}

/**
 * Fills what is on the screen; the others have their turn when the range has been the same for a while.
 * @param {RangeTables} shown
 */
function fillSeen(shown) {
	const started = performance.now();
	for (const fill of fillSteps(shown.tables, figuresOfRange(shown, null)).seen)
		fill();
	const ended = performance.now();
	shown.free = ended + (ended - started) / SHARE;
}

/**
 * Counts, fills all rows, puts them in order, and says that it is done.
 * @param {RangeTables} shown
 * @returns {Generator<void, void>}
 */
function* finishTables(shown) {
	const { timeline, tables, unknowable } = shown;
	const { report, lanes, intervals, states, selection } = timeline;
	const counts =
		selection && intervals && !unknowable
			? yield* countRange({ report, lanes, intervals, states }, selection)
			: null;
	const { seen, rest } = fillSteps(tables, figuresOfRange(shown, counts));
	for (const fill of seen)
		fill();
	for (const fill of rest) {
		yield;
		fill();
	}
	for (const table of tables)
		if (table.order)
			setOrder(table, table.order);
	byId('range-said').textContent = selection
		? `${rangeText(selection)}: the table is about it`
		: 'The table is about the whole trace';
	byId('summary').ariaBusy = 'false';
}

/**
 * Works for as long as nobody notices, and then goes on later.
 * @param {RangeTables} shown
 */
function work(shown) {
	const started = performance.now();
	while (shown.work && performance.now() - started < TURN_MS)
		if (shown.work.next().done)
			shown.work = null;
	if (shown.work)
		shown.timer = setTimeout(() => work(shown), 0);
}

/** @param {RangeTables} shown */
function follow(shown) {
	clearTimeout(shown.timer);
	clearTimeout(shown.filling);
	shown.work = null;
	showBar(shown);
	if (!shown.timeline.intervals)
		return;
	byId('summary').ariaBusy = 'true';
	const start = () => {
		shown.work = finishTables(shown);
		work(shown);
	};
	const fill = () => {
		fillSeen(shown);
		shown.timer = setTimeout(start, QUIET_MS);
	};
	shown.filling = setTimeout(fill, Math.max(0, shown.free - performance.now()));
}

/**
 * Keeps TABLES about the range that is selected.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./table.js').ThreadTable[]} tables
 * @param {string} [unknowable] why nothing can be counted in a range, when that is so
 */
export function listenToRange(timeline, tables, unknowable) {
	/** @type {RangeTables} */
	const shown = {
		timeline,
		tables,
		unknowable,
		work: null,
		timer: undefined,
		filling: undefined,
		free: 0,
	};
	onChange(timeline, ['selection'], () => follow(shown));
	byId('range-zoom').addEventListener('click', () => {
		if (timeline.selection)
			showRange(timeline, timeline.selection.from, timeline.selection.to);
	});
	byId('range-clear').addEventListener('click', () => {
		clearSelection(timeline);
		byId('plot').focus({ preventScroll: true });
	});
}
