// SPDX-License-Identifier: MIT
/*
 * The timeline: all that is known of it and chosen in it. A change of the view asks for a frame, which
 * draws the rows that are on the screen.
 */

import { onChange } from './changes.js';
import { byId, make } from './dom.js';
import { drawFrame } from './frame.js';
import { makeColumns } from './gil_columns.js';
import { makeHolderRows } from './gil_draw.js';
import { holderColours, makeGilLanes } from './gils.js';
import { forgetLabels, makeLabels, placeLabels } from './labels.js';
import { readColours } from './palette.js';
import { makeRaster } from './raster.js';
import { watchesGil } from './report.js';
import { barOf, layRows, makeArrangement, rowsBetween } from './rows.js';
import { legendOf, lookOf } from './states.js';
import { threadNames } from './thread_names.js';
import { panBy, setRange, timeAt, zoomAt } from './view.js';

/**
 * Waits of some threads, as far as some other held the GIL meanwhile.
 * @typedef {object} WaitFilter
 * @property {string} key names it in links
 * @property {string} title tells it to people
 * @property {import('./lanes.js').Intervals} intervals
 * @property {(import('./lanes.js').Span | null)[]} spans by lane: its part of them; null: none
 * @property {Uint32Array} waits of each: the interval that it is a piece of
 */

/**
 * @typedef {object} Timeline
 * @property {import('./report.js').ReportMeta} report
 * @property {import('./lanes.js').Lane[]} lanes
 * @property {import('./gils.js').GilLane[]} gilLanes
 * @property {Uint8Array} colours of holders, by lane
 * @property {import('./thread_names.js').NameOf} nameOf
 * @property {import('./lanes.js').Intervals | null} intervals null until they have been decoded
 * @property {import('./lanes.js').Intervals | null} states null until then, and when there are none
 * @property {import('./stacks.js').Stacks | null} stacks of the states, likewise
 * @property {import('./memory.js').Memory[]} memories likewise
 * @property {boolean} hasGil whether there are bars of the GIL
 * @property {import('./view.js').View} view
 * @property {import('./rows.js').Arrangement} arrangement
 * @property {import('./rows.js').Row[]} rows from above
 * @property {(import('./rows.js').Row | null)[]} rowOfLane null: it is hidden
 * @property {number} height of all rows
 * @property {import('./labels.js').Labels} labels
 * @property {number} scale device pixels for one of CSS
 * @property {number} chosen lane, or -1
 * @property {number} interval chosen, or -1
 * @property {number} state chosen, or -1
 * @property {Set<number>} found lanes that were searched for
 * @property {{from: number, to: number} | null} selection the range that the table is about; null: all
 * @property {WaitFilter | null} filter the waits that alone are shown; null: all
 * @property {import('./changes.js').Listeners} listeners
 * @property {boolean} waiting for a frame
 * @property {import('./raster.js').Raster | null} raster
 * @property {import('./palette.js').Brushes | null} brushes
 * @property {import('./palette.js').Brushes | null} muted null until they are needed
 * @property {import('./gil_columns.js').Columns | null} columns
 * @property {ImageData | null} image
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Lane[]} lanes
 */
export function makeTimeline(report, lanes) {
	const hasGil = watchesGil(report);
	/** @type {Timeline} */
	const timeline = {
		report,
		lanes,
		gilLanes: hasGil ? makeGilLanes(report, lanes) : [],
		colours: holderColours(lanes),
		nameOf: threadNames(report.summary.processes),
		intervals: null,
		states: null,
		stacks: null,
		memories: [],
		hasGil,
		view: { from: 0, to: 1, width: 1, duration: report.duration_ns },
		arrangement: makeArrangement(lanes),
		rows: [],
		rowOfLane: [],
		height: 0,
		labels: makeLabels(),
		scale: 1,
		chosen: -1,
		interval: -1,
		state: -1,
		found: new Set(),
		selection: null,
		filter: null,
		listeners: new Map(),
		waiting: false,
		raster: null,
		brushes: null,
		muted: null,
		columns: null,
		image: null,
	};
	byId('legend-states').hidden = report.states === undefined;
	byId('keys-states').hidden = report.states === undefined;
	for (const id of ['legend-gil', 'corner-waits', 'sort-rows', 'keys-intervals', 'keys-waits'])
		byId(id).hidden = !hasGil;
	if (!hasGil)
		byId('plot').ariaLabel =
			'Timeline of being on and off CPU, one lane a thread. Plus and minus zoom, left and right pan, up and ' +
			'down choose a thread, j and k go to its state before and after, slash finds a thread, the question ' +
			'mark tells all keys.';
	showLegend(timeline);
	fitView(timeline);
	layRows(timeline);
	byId('lanes').style.height = timeline.height + 'px';
	onChange(timeline, ['rows'], () => {
		layRows(timeline);
		timeline.labels.stale = true;
		byId('lanes').style.height = timeline.height + 'px';
		resize(timeline);
	});
	onChange(timeline, ['choice'], () => refreshLabels(timeline));
	const observer = new ResizeObserver(() => resize(timeline));
	observer.observe(byId('window'));
	byId('scroller').addEventListener('scroll', () => askFrame(timeline));
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
		timeline.raster = null;
		resize(timeline);
	});
	resize(timeline);
	return timeline;
}

/**
 * One entry for each look of states.
 * @param {Timeline} timeline
 */
function showLegend(timeline) {
	const kinds = timeline.report.state_kinds ?? [];
	/* Without stacks, sleeps are what lies between. */
	for (const { look, reasons } of legendOf(kinds, !timeline.report.stacks)) {
		/* The reasons are what is written into the bars. */
		const entry = make('li', '', make('span', 'swatch ' + look.swatch), reasons.join(', ') || look.legend);
		entry.title = look.text;
		byId('legend-states').append(entry);
	}
}

/**
 * What has been decoded.
 * @param {Timeline} timeline
 * @param {import('./memory.js').Memory[]} memories
 */
export function showMemory(timeline, memories) {
	timeline.memories = memories;
	forgetLabels(timeline, 'memory');
}

/**
 * @param {Timeline} timeline
 * @param {number} from
 * @param {number} to
 */
export function showRange(timeline, from, to) {
	setRange(timeline.view, from, to);
	askFrame(timeline);
}

/**
 * Marks the labels of lanes that were searched for.
 * @param {Timeline} timeline
 * @param {Iterable<number>} lanes
 */
export function showFound(timeline, lanes) {
	timeline.found = new Set(lanes);
	refreshLabels(timeline);
}

/**
 * Lets labels tell at once what has changed.
 * @param {Timeline} timeline
 */
function refreshLabels(timeline) {
	const { scrollTop, clientHeight } = byId('scroller');
	timeline.labels.stale = true;
	placeLabels(timeline, scrollTop, scrollTop + clientHeight);
}

/** @param {Timeline} timeline */
export function fitView(timeline) {
	showRange(timeline, 0, timeline.report.duration_ns);
}

/** @param {Timeline} timeline */
function resize(timeline) {
	const scroller = byId('scroller');
	const canvas = /** @type {HTMLCanvasElement} */ (byId('pixels'));
	const ruler = /** @type {HTMLCanvasElement} */ (byId('ruler'));
	const inside = byId('track').clientWidth;
	const scale = devicePixelRatio || 1;
	const width = Math.max(1, Math.round(inside * scale));
	const height = Math.max(1, Math.round(scroller.clientHeight * scale));
	const { raster } = timeline;

	askFrame(timeline);
	if (raster && raster.width === width && raster.height === height && timeline.scale === scale)
		return;
	byId('window').style.height = scroller.clientHeight + 'px';
	for (const [element, pixels] of /** @type {const} */ ([
		[canvas, height],
		[ruler, Math.round(ruler.clientHeight * scale)],
	])) {
		element.style.width = width / scale + 'px';
		element.width = width;
		element.height = pixels;
	}
	canvas.style.height = height / scale + 'px';
	timeline.scale = scale;
	timeline.view.width = width;
	timeline.image = new ImageData(width, height);
	const { palette, holders } = readColours();
	const made = makeRaster(
		width,
		height,
		scale,
		palette,
		timeline.image.data.buffer,
		(timeline.report.state_kinds ?? []).map((kind) => lookOf(kind).swatch),
	);
	timeline.raster = made;
	timeline.columns = makeColumns(width);
	timeline.brushes = {
		gil: made.gil,
		states: made.states,
		holders: makeHolderRows(width, scale, holders.colours, holders.lines),
		waiters: holders.waiters,
		waitersMost: holders.waitersMost,
	};
	timeline.muted = null;
}

/** @param {Timeline} timeline */
export function askFrame(timeline) {
	if (timeline.waiting)
		return;
	timeline.waiting = true;
	requestAnimationFrame(() => {
		timeline.waiting = false;
		drawFrame(timeline);
	});
}

/**
 * The row at a height of the window, whether its states are there, and the time of the pixel at X, both
 * in pixels of CSS.
 * @param {Timeline} timeline
 * @param {number} x
 * @param {number} y
 */
export function placeAt(timeline, x, y) {
	const height = y + byId('scroller').scrollTop;
	const row = rowsBetween(timeline.rows, height, height + 1e-6)[0] ?? null;
	const memory =
		row?.kind === 'memory' ? timeline.memories.find(({ process }) => process === row.process) : null;
	const pixel = Math.floor(x * timeline.scale);
	const states = row && barOf(timeline, row, 'states');
	return {
		row,
		lane: row?.lane ?? null,
		gil: row?.gil ?? null,
		memory: memory ?? null,
		span: states && (!timeline.hasGil || height >= row.top + states.top) ? (row.lane?.states ?? null) : null,
		from: timeAt(timeline.view, pixel),
		to: timeAt(timeline.view, pixel + 1),
	};
}

/**
 * @param {Timeline} timeline
 * @param {number} x in pixels of CSS
 * @param {number} factor
 */
export function zoomAtPixel(timeline, x, factor) {
	zoomAt(timeline.view, factor, timeAt(timeline.view, x * timeline.scale));
	askFrame(timeline);
}

/**
 * @param {Timeline} timeline
 * @param {number} part of the width
 */
export function pan(timeline, part) {
	panBy(timeline.view, part);
	askFrame(timeline);
}
