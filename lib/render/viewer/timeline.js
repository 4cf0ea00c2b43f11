// SPDX-License-Identifier: MIT
/*
 * The timeline: labels, ruler and lanes. A change of the view asks for a frame; a frame draws the
 * lanes that are on the screen into one image.
 */

import { describeInterval, describePlace, describeState, laneName } from './details.js';
import { byId, make } from './dom.js';
import { formatDuration, formatMoment, formatName, formatShare, visibleText } from './format.js';
import { firstEndingAfter } from './lanes.js';
import { knownStateTime, knownTime, watchesGil } from './report.js';
import { drawLane, fillPlain, makeRaster, parseColour } from './raster.js';
import { fullLabel, roundStep, tickBase, tickLabel, tickTimes } from './ruler.js';
import { panBy, pixelAt, setRange, timeAt, zoomAt } from './view.js';

/* Of CSS. The style sheet has the same. */
const LANE_HEIGHT = 28;
const BAR_TOP = 4;
const BAR_HEIGHT = 20;
/* The bar of states, where there is one: it makes each lane so much higher. */
const STATE_TOP = 26;
const STATE_HEIGHT = 12;
const STATE_EXTRA = 16;
/* Without a bar of the GIL above it, it has the place of both. */
const STATE_ALONE_HEIGHT = STATE_TOP + STATE_HEIGHT - BAR_TOP;
const HEADING_HEIGHT = 26;
const TICK_DISTANCE = 96;

/**
 * @typedef {object} Row
 * @property {import('./lanes.js').Lane} lane
 * @property {number} top
 * @property {HTMLElement} label
 */

/**
 * @typedef {object} Timeline
 * @property {import('./report.js').ReportMeta} report
 * @property {import('./lanes.js').Lane[]} lanes
 * @property {import('./lanes.js').Intervals | null} intervals null until they have been decoded
 * @property {import('./lanes.js').Intervals | null} states null until then, and when there are none
 * @property {boolean} hasGil whether there are bars of the GIL
 * @property {number} laneHeight
 * @property {import('./view.js').View} view
 * @property {Row[]} rows by lane
 * @property {number} height of all rows
 * @property {number} scale device pixels for one of CSS
 * @property {number} chosen lane, or -1
 * @property {number} interval chosen, or -1
 * @property {boolean} waiting for a frame
 * @property {import('./raster.js').Raster | null} raster
 * @property {ImageData | null} image
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Lane[]} lanes
 */
export function makeTimeline(report, lanes) {
	/** @type {Timeline} */
	const timeline = {
		report,
		lanes,
		intervals: null,
		states: null,
		hasGil: watchesGil(report),
		laneHeight: LANE_HEIGHT + (report.states === undefined ? 0 : STATE_EXTRA),
		view: { from: 0, to: 1, width: 1, duration: report.duration_ns },
		rows: [],
		height: 0,
		scale: 1,
		chosen: -1,
		interval: -1,
		waiting: false,
		raster: null,
		image: null,
	};
	byId('plot').classList.toggle('with-states', report.states !== undefined);
	byId('legend-states').hidden = report.states === undefined;
	for (const id of ['legend-gil', 'corner-waits', 'legend-sleep-gil'])
		byId(id).hidden = !timeline.hasGil;
	fitView(timeline);
	makeLabels(timeline);
	const observer = new ResizeObserver(() => resize(timeline));
	observer.observe(byId('window'));
	byId('scroller').addEventListener('scroll', () => askFrame(timeline));
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => resize(timeline));
	resize(timeline);
	return timeline;
}

/** @param {Timeline} timeline */
export function fitView(timeline) {
	setRange(timeline.view, 0, timeline.report.duration_ns);
	askFrame(timeline);
}

/** @param {Timeline} timeline */
function makeLabels(timeline) {
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
		label.addEventListener('click', () => chooseLane(timeline, lane.index));
		labels.append(label);
		timeline.rows.push({ lane, top, label });
		top += timeline.laneHeight;
	}
	timeline.height = top;
	byId('lanes').style.height = top + 'px';
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
		},
		timeline.image.data.buffer,
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
	for (const bar of visible.flatMap(bars))
		if (bar.list)
			drawLane(raster, bar.brush, bar.list, bar.span, view, bar.edges[0], bar.edges[1]);
	context.putImageData(image, 0, 0);
	drawRuler(timeline, ticks, step);
	placeMark(timeline);
	byId('range').textContent =
		`${formatDuration(view.to - view.from)} of ${formatDuration(view.duration)}`;
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
	const pixel = Math.floor(x * timeline.scale);
	return {
		lane: row ? row.lane : null,
		span: row && (!timeline.hasGil || height >= row.top + STATE_TOP) ? row.lane.states : null,
		from: timeAt(timeline.view, pixel),
		to: timeAt(timeline.view, pixel + 1),
	};
}

/**
 * Shows what is at a place of the window, beside the pointer.
 * @param {Timeline} timeline
 * @param {number} x
 * @param {number} y
 */
export function hoverAt(timeline, x, y) {
	const { report, intervals, states, lanes } = timeline;
	const { lane, span, from, to } = placeAt(timeline, x, y);
	const place =
		lane && span && states
			? describeState(states, lane, span, from, to)
			: lane && intervals
				? describePlace(report, intervals, lanes, lane, from, to)
				: null;
	const cursor = byId('cursor');
	const hover = byId('hover');

	cursor.hidden = false;
	cursor.style.left = x + 'px';
	cursor.dataset.time = formatMoment(from, to - from);
	cursor.classList.toggle('flipped', x > byId('window').clientWidth - 130);
	hover.hidden = place === null;
	if (!place)
		return;
	hover.replaceChildren(...place.nodes);
	const box = byId('window').getBoundingClientRect();
	const left = box.left + x + 16;
	const top = box.top + y + 18;
	const { innerWidth, innerHeight } = window;
	hover.style.left = Math.max(4, left + hover.offsetWidth > innerWidth - 8 ? left - hover.offsetWidth - 32 : left) + 'px';
	hover.style.top = Math.max(4, top + hover.offsetHeight > innerHeight - 8 ? top - hover.offsetHeight - 36 : top) + 'px';
}

export function hoverEnd() {
	byId('cursor').hidden = true;
	byId('hover').hidden = true;
}

/** @param {Timeline} timeline */
function placeMark(timeline) {
	const mark = byId('mark');
	const { intervals, interval, chosen, view, scale } = timeline;
	mark.hidden = interval < 0 || !intervals;
	if (mark.hidden || !intervals)
		return;
	const x0 = Math.max(-4, pixelAt(view, intervals.start[interval]) / scale);
	const x1 = Math.min(view.width / scale + 4, pixelAt(view, intervals.end[interval]) / scale);
	mark.hidden = x1 < x0;
	mark.style.left = x0 - 1 + 'px';
	mark.style.width = Math.max(2, x1 - x0) + 2 + 'px';
	mark.style.top = timeline.rows[chosen].top + BAR_TOP - 2 - byId('scroller').scrollTop + 'px';
}

/**
 * Marks a lane and brings it into the window.
 * @param {Timeline} timeline
 * @param {number} index
 */
export function chooseLane(timeline, index) {
	const scroller = byId('scroller');
	if (timeline.rows.length === 0)
		return;
	timeline.chosen = Math.min(timeline.rows.length - 1, Math.max(0, index));
	timeline.interval = -1;
	const { top, lane } = timeline.rows[timeline.chosen];
	for (const row of timeline.rows)
		row.label.classList.toggle('chosen', row.lane === lane);
	if (top - HEADING_HEIGHT < scroller.scrollTop)
		scroller.scrollTop = top - HEADING_HEIGHT;
	else if (top + timeline.laneHeight > scroller.scrollTop + scroller.clientHeight)
		scroller.scrollTop = top + timeline.laneHeight - scroller.clientHeight;
	byId('place').textContent = laneName(lane);
	askFrame(timeline);
}

/**
 * Marks an interval of the chosen lane, moves the view to it when it is out of sight, and tells it.
 * @param {Timeline} timeline
 * @param {number} interval
 */
function chooseInterval(timeline, interval) {
	const { intervals, view, report, lanes } = timeline;
	if (!intervals)
		return;
	const start = intervals.start[interval];
	const end = intervals.end[interval];
	timeline.interval = interval;
	if (start < view.from || end > view.to) {
		const length = Math.max(view.to - view.from, (end - start) * 1.2);
		setRange(view, (start + end - length) / 2, (start + end + length) / 2);
	}
	const lane = timeline.rows[timeline.chosen].lane;
	const nodes = describeInterval(report, intervals, lanes, lane, interval);
	byId('place').textContent = nodes.map((node) => node.textContent).join(', ');
	drawFrame(timeline);

	const hover = byId('hover');
	const mark = byId('mark').getBoundingClientRect();
	hover.replaceChildren(...nodes);
	hover.hidden = false;
	hover.style.left = Math.max(4, Math.min(mark.left, window.innerWidth - hover.offsetWidth - 8)) + 'px';
	hover.style.top =
		(mark.bottom + 8 + hover.offsetHeight < window.innerHeight
			? mark.bottom + 8
			: mark.top - 8 - hover.offsetHeight) + 'px';
}

/**
 * Goes to the next interval of the chosen lane (DIRECTION 1), or to the one before (-1).
 * @param {Timeline} timeline
 * @param {number} direction
 */
export function stepInterval(timeline, direction) {
	const { intervals, view } = timeline;
	if (!intervals || timeline.rows.length === 0)
		return;
	if (timeline.chosen < 0)
		chooseLane(timeline, 0);
	const { lane } = timeline.rows[timeline.chosen];
	const next =
		timeline.interval < 0
			? firstEndingAfter(intervals, lane.first, lane.last, view.from)
			: timeline.interval + direction;
	if (next >= lane.first && next < lane.last)
		chooseInterval(timeline, next);
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
