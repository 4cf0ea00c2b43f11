// SPDX-License-Identifier: MIT
/*
 * The timeline: labels, ruler and lanes. A change of the view asks for a frame; a frame draws the
 * lanes that are on the screen into one image.
 */

import { tellChange } from './changes.js';
import { laneName } from './details.js';
import { byId, make } from './dom.js';
import { formatBytes, formatDuration, formatName, formatShare, visibleText } from './format.js';
import { drawMemory } from './memory.js';
import { knownStateTime, knownTime, watchesGil } from './report.js';
import { drawLane, fillPlain, makeRaster, parseColour } from './raster.js';
import { fullLabel, roundStep, tickBase, tickLabel, tickTimes } from './ruler.js';
import { legendOf, lookOf, stateLabel } from './states.js';
import { panBy, pixelAt, setRange, timeAt, zoomAt } from './view.js';

/* Of CSS. The style sheet has the same. */
const LANE_HEIGHT = 28;
const BAR_TOP = 4;
const BAR_HEIGHT = 20;
/* The bar of states, where there is one: it makes each lane so much higher. */
const STATE_TOP = 26;
const STATE_HEIGHT = 14;
const STATE_EXTRA = 18;
/* Without a bar of the GIL above it, it has the place of both. */
const STATE_ALONE_HEIGHT = STATE_TOP + STATE_HEIGHT - BAR_TOP;
export const HEADING_HEIGHT = 26;
const MEMORY_HEIGHT = 34;
const MEMORY_TOP = 3;
/* A bar of this width has room for a label. */
const LABEL_WIDTH = 26;
const TICK_DISTANCE = 96;

/**
 * @typedef {object} Row
 * @property {import('./lanes.js').Lane} lane
 * @property {number} top
 * @property {HTMLElement} label
 */

/**
 * @typedef {object} MemoryRow
 * @property {import('./report.js').Process} process
 * @property {number} top
 * @property {HTMLElement} label
 * @property {import('./memory.js').Memory | null} memory null until it has been read
 */

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
 * @property {import('./lanes.js').Intervals | null} intervals null until they have been decoded
 * @property {import('./lanes.js').Intervals | null} states null until then, and when there are none
 * @property {import('./stacks.js').Stacks | null} stacks of the states, likewise
 * @property {boolean} hasGil whether there are bars of the GIL
 * @property {number} laneHeight
 * @property {import('./view.js').View} view
 * @property {Row[]} rows by lane
 * @property {MemoryRow[]} memoryRows
 * @property {number} height of all rows
 * @property {number} scale device pixels for one of CSS
 * @property {number} chosen lane, or -1
 * @property {number} interval chosen, or -1
 * @property {number} state chosen, or -1
 * @property {{from: number, to: number} | null} selection the range that the table is about; null: all
 * @property {WaitFilter | null} filter the waits that alone are shown; null: all
 * @property {import('./changes.js').Listeners} listeners
 * @property {boolean} waiting for a frame
 * @property {import('./raster.js').Raster | null} raster
 * @property {ImageData | null} image
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Lane[]} lanes
 * @param {(index: number) => void} choose what a click at a lane's label does
 */
export function makeTimeline(report, lanes, choose) {
	/** @type {Timeline} */
	const timeline = {
		report,
		lanes,
		intervals: null,
		states: null,
		stacks: null,
		hasGil: watchesGil(report),
		laneHeight: LANE_HEIGHT + (report.states === undefined ? 0 : STATE_EXTRA),
		view: { from: 0, to: 1, width: 1, duration: report.duration_ns },
		rows: [],
		memoryRows: [],
		height: 0,
		scale: 1,
		chosen: -1,
		interval: -1,
		state: -1,
		selection: null,
		filter: null,
		listeners: new Map(),
		waiting: false,
		raster: null,
		image: null,
	};
	byId('plot').classList.toggle('with-states', report.states !== undefined);
	byId('legend-states').hidden = report.states === undefined;
	byId('keys-states').hidden = report.states === undefined;
	for (const id of ['legend-gil', 'corner-waits'])
		byId(id).hidden = !timeline.hasGil;
	showLegend(timeline);
	fitView(timeline);
	makeLabels(timeline, choose);
	const observer = new ResizeObserver(() => resize(timeline));
	observer.observe(byId('window'));
	byId('scroller').addEventListener('scroll', () => askFrame(timeline));
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => resize(timeline));
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
	for (const row of timeline.memoryRows) {
		row.memory = memories.find((memory) => memory.process === row.process) ?? null;
		if (row.memory)
			row.label.append(make('span', 'most', `≤ ${formatBytes(row.memory.most)}`));
	}
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

/** @param {Timeline} timeline */
export function fitView(timeline) {
	showRange(timeline, 0, timeline.report.duration_ns);
}

/**
 * @param {Timeline} timeline
 * @param {(index: number) => void} choose
 */
function makeLabels(timeline, choose) {
	const labels = byId('labels');
	let top = 0;
	/** @type {import('./report.js').Process | null} */
	let process = null;
	for (const lane of timeline.lanes) {
		if (lane.process !== process) {
			process = lane.process;
			const { pid, command } = process;
			labels.append(
				make('div', 'process', make('bdi', '', visibleText(command)), ` pid ${pid}`),
			);
			top += HEADING_HEIGHT;
			top = makeMemoryLabel(timeline, process, top);
		}
		const { thread } = lane;
		const label = make(
			'div',
			'lane',
			make(
				'div',
				'line',
				make('bdi', 'name', formatName(thread.name)),
				make('span', 'tid', (thread.main ? '* ' : '') + thread.tid),
				make('span', 'share', timeline.hasGil ? formatShare(thread.gil_wait_ns, knownTime(thread)) : ''),
			),
		);
		label.title = laneName(lane);
		if (timeline.hasGil)
			label.title +=
				`: held ${formatShare(thread.has_gil_ns, knownTime(thread))}, ` +
				`waited ${formatShare(thread.gil_wait_ns, knownTime(thread))}`;
		if (thread.state) {
			const running = formatShare(thread.state.running_ns, knownStateTime(thread));
			label.append(make('div', 'line cpu', `on CPU ${running}`));
			label.title += `${timeline.hasGil ? ',' : ':'} was on a CPU ${running}`;
		}
		label.dataset.lane = String(lane.index);
		label.addEventListener('click', () => choose(lane.index));
		labels.append(label);
		timeline.rows.push({ lane, top, label });
		top += timeline.laneHeight;
	}
	timeline.height = top;
	byId('lanes').style.height = top + 'px';
}

/**
 * @param {Timeline} timeline
 * @param {import('./report.js').Process} process
 * @param {number} top
 * @returns {number} where the next row is
 */
function makeMemoryLabel(timeline, process, top) {
	const { memory, summary } = timeline.report;
	if (!memory?.some((part) => summary.processes[part.process] === process))
		return top;
	const label = make('div', 'memory-label', make('span', '', 'resident memory'));
	byId('labels').append(label);
	timeline.memoryRows.push({ process, top, label, memory: null });
	return top + MEMORY_HEIGHT;
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
	const style = getComputedStyle(document.documentElement);
	/** @param {string} name */
	const colour = (name) => parseColour(style.getPropertyValue(name));

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
	timeline.raster = makeRaster(
		width,
		height,
		scale,
		{
			background: colour('--plot'),
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
		timeline.image.data.buffer,
		(timeline.report.state_kinds ?? []).map((kind) => lookOf(kind).swatch),
	);
	askFrame(timeline);
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

/** @param {Timeline} timeline */
export function drawFrame(timeline) {
	const { view, scale, raster, image } = timeline;
	if (!raster || !image)
		return;
	const canvas = /** @type {HTMLCanvasElement} */ (byId('pixels'));
	const context = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
	if (!context)
		return;
	const scroll = byId('scroller').scrollTop;
	const step = roundStep(((view.to - view.from) / view.width) * TICK_DISTANCE * scale);
	const ticks = tickTimes(view.from, view.to, step);

	raster.pixels.fill(raster.palette.background);
	const visible = timeline.rows.filter(
		(row) => row.top + timeline.laneHeight > scroll && (row.top - scroll) * scale < raster.height,
	);
	/**
	 * @param {Row} row
	 * @param {number} from
	 * @param {number} height
	 */
	const edges = (row, from, height) => [
		Math.max(0, Math.round((row.top + from - scroll) * scale)),
		Math.min(raster.height, Math.round((row.top + from + height - scroll) * scale)),
	];
	/** @param {Row} row */
	const bars = (row) => [
		...(timeline.hasGil
			? [
					{
						edges: edges(row, BAR_TOP, BAR_HEIGHT),
						brush: raster.gil,
						span: row.lane,
						list: timeline.intervals,
					},
				]
			: []),
		...(row.lane.states
			? [
					{
						edges: timeline.hasGil
							? edges(row, STATE_TOP, STATE_HEIGHT)
							: edges(row, BAR_TOP, STATE_ALONE_HEIGHT),
						brush: raster.states,
						span: row.lane.states,
						list: timeline.states,
					},
				]
			: []),
	];
	for (const bar of visible.flatMap(bars)) {
		const [top, bottom] = bar.edges;
		const x0 = Math.max(0, Math.floor(pixelAt(view, bar.span.start)));
		const x1 = Math.min(raster.width, Math.ceil(pixelAt(view, bar.span.end)));
		if (x0 < x1)
			fillPlain(raster, x0, top, x1, bottom, raster.palette.alive);
	}
	for (const time of ticks) {
		const x = Math.min(raster.width - 1, Math.round(pixelAt(view, time)));
		fillPlain(raster, x, 0, x + 1, raster.height, raster.palette.grid);
	}
	for (const { memory, top } of timeline.memoryRows)
		if (memory && top + MEMORY_HEIGHT > scroll && (top - scroll) * scale < raster.height)
			drawMemory(
				raster,
				memory,
				view,
				Math.round((top + MEMORY_TOP - scroll) * scale),
				Math.round((top + MEMORY_HEIGHT - MEMORY_TOP - scroll) * scale),
			);
	/** @type {{block: import('./raster.js').Block, middle: number}[]} */
	const labels = [];
	for (const { brush, list, span, edges: [top, bottom] } of visible.flatMap(bars)) {
		if (!list)
			continue;
		const wide = list === timeline.states && bottom - top >= 10 * scale ? LABEL_WIDTH * scale : Infinity;
		for (const block of drawLane(raster, brush, list, span, view, top, bottom, wide))
			labels.push({ block, middle: (top + bottom) / 2 });
	}
	context.putImageData(image, 0, 0);
	drawLabels(timeline, context, labels);
	drawRuler(timeline, ticks, step);
	placeMark(timeline);
	byId('range').textContent =
		`${formatDuration(view.to - view.from)} of ${formatDuration(view.duration)}`;
	tellChange(timeline, 'view');
}

/**
 * Writes the reasons of sleeps into their bars.
 * @param {Timeline} timeline
 * @param {CanvasRenderingContext2D} context
 * @param {{block: import('./raster.js').Block, middle: number}[]} labels
 */
function drawLabels(timeline, context, labels) {
	const { states, scale, report } = timeline;
	const style = getComputedStyle(byId('window'));
	const paper = style.getPropertyValue('--plot');
	const ink = style.getPropertyValue('--ink');
	const height = 11 * scale;

	context.font = `${9.5 * scale}px ${style.fontFamily}`;
	context.textBaseline = 'middle';
	for (const { block, middle } of labels) {
		const text = stateLabel(report.state_kinds?.[(states?.kind[block.index] ?? 0) - 1]);
		const width = text && context.measureText(text).width + 5 * scale;
		if (!text || Number(width) > block.x1 - block.x0 - 4 * scale)
			continue;
		const x = block.x0 + 3 * scale;
		context.fillStyle = paper;
		context.fillRect(x, Math.round(middle - height / 2), Number(width), Math.round(height));
		context.fillStyle = ink;
		context.fillText(text, x + 2.5 * scale, middle + 0.5 * scale);
	}
}

/**
 * @param {Timeline} timeline
 * @param {number[]} ticks
 * @param {number} step
 */
function drawRuler(timeline, ticks, step) {
	const { view, scale } = timeline;
	const canvas = /** @type {HTMLCanvasElement} */ (byId('ruler'));
	const context = canvas.getContext('2d');
	if (!context)
		return;
	const style = getComputedStyle(canvas);
	context.clearRect(0, 0, canvas.width, canvas.height);
	context.font = `${11 * scale}px ${style.fontFamily}`;
	context.textBaseline = 'middle';
	let right = 0;
	const base = tickBase(view.from, step);
	if (base > 0) {
		const label = fullLabel(base, step >= 1e3 ? 1e3 : 1);
		context.fillStyle = style.getPropertyValue('--ink');
		context.fillText(label, 6 * scale, canvas.height / 2);
		right = context.measureText(label).width + 14 * scale;
	}
	for (const time of ticks) {
		const x = Math.min(canvas.width - 1, Math.round(pixelAt(view, time)));
		const label = tickLabel(time, step, view.duration);
		const left = x + 5 * scale;
		context.fillStyle = style.getPropertyValue('--rule');
		context.fillRect(x, canvas.height - 7 * scale, Math.max(1, Math.round(scale)), 7 * scale);
		context.fillStyle = style.color;
		if (left > right && left + context.measureText(label).width < canvas.width)
			context.fillText(label, left, canvas.height / 2);
	}
}

/**
 * The lane at a height of the window, whether its states are there, and the time of the pixel at X, both
 * in pixels of CSS.
 * @param {Timeline} timeline
 * @param {number} x
 * @param {number} y
 */
export function placeAt(timeline, x, y) {
	const height = y + byId('scroller').scrollTop;
	const row = timeline.rows.find(
		(candidate) => height >= candidate.top && height < candidate.top + timeline.laneHeight,
	);
	const memoryRow = timeline.memoryRows.find(
		({ top }) => height >= top && height < top + MEMORY_HEIGHT,
	);
	const pixel = Math.floor(x * timeline.scale);
	return {
		lane: row ? row.lane : null,
		memory: memoryRow?.memory ?? null,
		span: row && (!timeline.hasGil || height >= row.top + STATE_TOP) ? row.lane.states : null,
		from: timeAt(timeline.view, pixel),
		to: timeAt(timeline.view, pixel + 1),
	};
}

/** @param {Timeline} timeline */
function placeMark(timeline) {
	const mark = byId('mark');
	const { chosen, view, scale, hasGil } = timeline;
	const isState = timeline.state >= 0;
	const list = isState ? timeline.states : timeline.intervals;
	const marked = isState ? timeline.state : timeline.interval;
	mark.hidden = marked < 0 || !list;
	if (mark.hidden || !list)
		return;
	const x0 = Math.max(-4, pixelAt(view, list.start[marked]) / scale);
	const x1 = Math.min(view.width / scale + 4, pixelAt(view, list.end[marked]) / scale);
	const top = isState && hasGil ? STATE_TOP : BAR_TOP;
	const height = isState ? (hasGil ? STATE_HEIGHT : STATE_ALONE_HEIGHT) : BAR_HEIGHT;
	mark.hidden = x1 < x0;
	mark.style.left = x0 - 1 + 'px';
	mark.style.width = Math.max(2, x1 - x0) + 2 + 'px';
	mark.style.top = timeline.rows[chosen].top + top - 2 - byId('scroller').scrollTop + 'px';
	mark.style.height = height + 4 + 'px';
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
