// SPDX-License-Identifier: MIT
/*
 * The whole trace at a glance, above the ruler: how many wait for GILs, and below that how much of the time
 * they were held; where nobody watched GILs, how many run. A frame on it is what the lanes show.
 */

import { onChange } from './changes.js';
import { byId } from './dom.js';
import { sumBefore } from './gils.js';
import { askFrame, showRange } from './timeline.js';
import { zoomAt } from './view.js';

const MOVE_PIXELS = 3;
/* Of CSS: the frame is never narrower, and can be taken this far from it. */
const LEAST_FRAME = 4;
/* Of CSS: the strip of holding below. */
const STRIP = 4;
/* States are counted in so many columns, once. */
const STATE_COLUMNS = 2048;

/** @param {import('./timeline.js').Timeline} timeline */
export function showMinimap(timeline) {
	const draw = () => drawMinimap(timeline);
	onChange(timeline, ['view'], () => placeFrame(timeline));
	onChange(timeline, ['rows'], draw);
	new ResizeObserver(draw).observe(byId('minimap'));
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
	listenToMinimap(timeline);
	draw();
}

/**
 * Of the map, in pixels of CSS: to ask for it in each frame would have the page laid out twice.
 * @type {WeakMap<import('./timeline.js').Timeline, number>}
 */
const mapWidths = new WeakMap();

/** @param {import('./timeline.js').Timeline} timeline */
function placeFrame(timeline) {
	const { view } = timeline;
	const width = mapWidths.get(timeline) ?? byId('minimap').clientWidth;
	const from = (view.from / view.duration) * width || 0;
	const to = (view.to / view.duration) * width || width;
	const frame = byId('minimap-frame');
	const length = Math.max(LEAST_FRAME, to - from);
	frame.style.left = Math.min(from, width - length) + 'px';
	frame.style.width = length + 'px';
	byId('minimap-before').style.width = from + 'px';
	byId('minimap-behind').style.left = to + 'px';
	frame.dataset.from = String(view.from);
	frame.dataset.to = String(view.to);
}

/** @type {WeakMap<import('./lanes.js').Intervals, Float64Array>} */
const runningOf = new WeakMap();

/**
 * How many threads run, in equal parts of the trace.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./lanes.js').Intervals} states
 */
function countRunning(timeline, states) {
	const known = runningOf.get(states);
	if (known)
		return known;
	const { state_kinds: kinds = [], duration_ns: duration } = timeline.report;
	const running = kinds.findIndex((kind) => kind.state === 'running') + 1;
	const { start, end, kind } = states;
	const scale = STATE_COLUMNS / duration;
	const parts = new Float64Array(STATE_COLUMNS + 1);
	const whole = new Float64Array(STATE_COLUMNS + 1);
	for (let i = 0; i < start.length; i++) {
		if (kind[i] !== running)
			continue;
		const a = start[i] * scale;
		const z = Math.min(STATE_COLUMNS, end[i] * scale);
		const x0 = Math.floor(a);
		const x1 = Math.floor(z);
		if (x0 === x1) {
			parts[x0] += z - a;
			continue;
		}
		parts[x0] += x0 + 1 - a;
		parts[x1] += z - x1;
		whole[x0 + 1]++;
		whole[x1]--;
	}
	let through = 0;
	const counts = parts.subarray(0, STATE_COLUMNS).map((part, x) => part + (through += whole[x]));
	runningOf.set(states, counts);
	return counts;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} width
 * @returns {{area: Float64Array, strip: Float64Array | null} | null} null: nothing is known yet
 */
function columnsOfAll(timeline, width) {
	const { gilLanes, states, hasGil, report } = timeline;
	const area = new Float64Array(width);
	if (!hasGil) {
		if (!states)
			return null;
		const counts = countRunning(timeline, states);
		for (let x = 0; x < width; x++)
			area[x] = counts[Math.floor((x / width) * STATE_COLUMNS)];
		return { area, strip: null };
	}
	const strip = new Float64Array(width);
	const ns = report.duration_ns / width;
	for (const { parts } of gilLanes) {
		if (!parts)
			return null;
		/** @param {Float64Array} sums @param {Float64Array} into @param {number} weight */
		const add = (sums, into, weight) => {
			let before = 0;
			for (let x = 0; x < width; x++) {
				const behind = sumBefore(parts, sums, (x + 1) * ns);
				into[x] += ((behind - before) / ns) * weight;
				before = behind;
			}
		};
		add(parts.waited, area, 1);
		for (const sums of parts.held)
			add(sums, strip, 1 / gilLanes.length);
	}
	return { area, strip };
}

/** @param {import('./timeline.js').Timeline} timeline */
function drawMinimap(timeline) {
	const box = byId('minimap');
	const canvas = /** @type {HTMLCanvasElement} */ (byId('minimap-pixels'));
	const context = canvas.getContext('2d');
	const scale = devicePixelRatio || 1;
	const width = Math.max(1, Math.round(box.clientWidth * scale));
	const height = Math.max(1, Math.round(box.clientHeight * scale));
	if (!context)
		return;
	mapWidths.set(timeline, box.clientWidth);
	canvas.width = width;
	canvas.height = height;
	canvas.style.width = width / scale + 'px';
	canvas.style.height = height / scale + 'px';
	placeFrame(timeline);
	const columns = columnsOfAll(timeline, width);
	if (!columns)
		return;
	const style = getComputedStyle(canvas);
	const { area, strip } = columns;
	const bottom = height - (strip ? Math.round((STRIP + 1) * scale) : 0);
	const top = Math.round(2 * scale);
	const highest = area.reduce((most, value) => Math.max(most, value), 0);
	context.fillStyle = style.getPropertyValue(strip ? '--wait-stripe' : '--running');
	for (let x = 0; x < width; x++) {
		const high = highest > 0 ? (area[x] / highest) * (bottom - top) : 0;
		if (high > 0)
			context.fillRect(x, bottom - Math.max(1, high), 1, Math.max(1, high));
	}
	if (!strip)
		return;
	context.fillStyle = style.getPropertyValue('--has');
	for (let x = 0; x < width; x++) {
		context.globalAlpha = Math.min(1, strip[x]);
		context.fillRect(x, height - STRIP * scale, 1, STRIP * scale);
	}
	context.globalAlpha = 1;
}

/** @param {import('./timeline.js').Timeline} timeline */
function listenToMinimap(timeline) {
	const { view } = timeline;
	const box = byId('minimap');
	const range = byId('minimap-range');
	/** @param {MouseEvent} event */
	const timeOf = (event) => {
		const { left, width } = box.getBoundingClientRect();
		return Math.min(1, Math.max(0, (event.clientX - left) / width)) * view.duration;
	};
	/** @type {{x: number, time: number, from: number, pans: boolean, moved: boolean} | null} */
	let drag = null;

	box.addEventListener('pointerdown', (event) => {
		if (event.button !== 0)
			return;
		const time = timeOf(event);
		const near = (LEAST_FRAME / box.clientWidth) * view.duration;
		const isAll = view.to - view.from >= view.duration;
		const pans = !isAll && time >= view.from - near && time <= view.to + near;
		box.setPointerCapture(event.pointerId);
		drag = { x: event.clientX, time, from: view.from, pans, moved: false };
	});
	box.addEventListener('pointermove', (event) => {
		if (!drag)
			return;
		if (Math.abs(event.clientX - drag.x) > MOVE_PIXELS)
			drag.moved = true;
		if (!drag.moved)
			return;
		const time = timeOf(event);
		if (drag.pans) {
			const from = drag.from + time - drag.time;
			showRange(timeline, from, from + view.to - view.from);
			return;
		}
		range.hidden = false;
		range.style.left = (100 * Math.min(time, drag.time)) / view.duration + '%';
		range.style.width = (100 * Math.abs(time - drag.time)) / view.duration + '%';
	});
	/** @param {PointerEvent} event */
	const end = (event) => {
		const time = timeOf(event);
		const length = view.to - view.from;
		range.hidden = true;
		if (drag && event.type === 'pointerup' && !drag.pans)
			if (drag.moved)
				showRange(timeline, Math.min(time, drag.time), Math.max(time, drag.time));
			else
				showRange(timeline, time - length / 2, time + length / 2);
		drag = null;
	};
	box.addEventListener('pointerup', end);
	box.addEventListener('pointercancel', end);
	box.addEventListener(
		'wheel',
		(event) => {
			event.preventDefault();
			const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
			const turn = Math.max(-300, Math.min(300, event.deltaY * lines));
			const anchor = Math.min(view.to, Math.max(view.from, timeOf(event)));
			zoomAt(view, Math.exp(turn * (event.ctrlKey ? 0.01 : 0.002)), anchor);
			askFrame(timeline);
		},
		{ passive: false },
	);
}
