// SPDX-License-Identifier: MIT
/* One frame of the timeline: the rows that are on the screen, drawn into one image. */

import { drawBarLabels } from './bar_labels.js';
import { tellChange } from './changes.js';
import { byId } from './dom.js';
import { formatDuration } from './format.js';
import { columnsOfIntervals, columnsOfParts, hasFew } from './gil_columns.js';
import { drawHolders, drawWaiters } from './gil_draw.js';
import { OTHERS } from './gils.js';
import { placeLabels } from './labels.js';
import { drawMemory } from './memory.js';
import { mutedBrushes } from './palette.js';
import { drawLane, fillPlain } from './raster.js';
import { HOLDERS_BAR, MEMORY_BAR, WAITERS_BAR, barOf, rowsBetween } from './rows.js';
import { drawRuler, roundStep, tickTimes } from './ruler.js';
import { stateLabel } from './states.js';
import { nameText } from './thread_names.js';
import { pixelAt } from './view.js';

/* A bar of this width has room for a label. */
const LABEL_WIDTH = 26;
const HOLDER_LABEL_WIDTH = 44;
const TICK_DISTANCE = 96;

/** @param {import('./timeline.js').Timeline} timeline */
export function drawFrame(timeline) {
	const { view, scale, raster, image, filter } = timeline;
	if (!raster || !image || !timeline.brushes)
		return;
	const canvas = /** @type {HTMLCanvasElement} */ (byId('pixels'));
	const context = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
	if (!context)
		return;
	const scroll = byId('scroller').scrollTop;
	const step = roundStep(((view.to - view.from) / view.width) * TICK_DISTANCE * scale);
	const ticks = tickTimes(view.from, view.to, step);
	const { background } = raster.palette;
	const brushes = filter ? mutedBrushes(timeline, timeline.brushes, background) : timeline.brushes;
	const visible = rowsBetween(timeline.rows, scroll, scroll + raster.height / scale);
	const gilCount = visible.filter((row) => row.gil).length;
	/** @type {import('./bar_labels.js').BarLabel[]} */
	const labels = [];
	/**
	 * @param {import('./rows.js').Row} row
	 * @param {{top: number, height: number}} bar
	 */
	const edges = (row, bar) => [
		Math.round((row.top + bar.top - scroll) * scale),
		Math.round((row.top + bar.top + bar.height - scroll) * scale),
	];
	/** @param {number[]} rows */
	const clip = ([top, bottom]) => /** @type {const} */ ([Math.max(0, top), Math.min(raster.height, bottom)]);

	/** @param {readonly [number, number]} rows */
	const fillAlive = ([top, bottom]) => fillPlain(raster, 0, top, raster.width, bottom, raster.palette.alive);

	raster.pixels.fill(background);
	const bars = visible.flatMap((row) => barsOf(timeline, row, brushes)).map((bar) => ({
		...bar,
		edges: clip(edges(bar.row, bar.box)),
	}));
	for (const { span, edges: [top, bottom] } of bars) {
		const x0 = Math.max(0, Math.floor(pixelAt(view, span.start)));
		const x1 = Math.min(raster.width, Math.ceil(pixelAt(view, span.end)));
		if (x0 < x1)
			fillPlain(raster, x0, top, x1, bottom, raster.palette.alive);
	}
	for (const row of visible)
		if (row.gil)
			fillAlive(clip(edges(row, HOLDERS_BAR)));
	for (const time of ticks) {
		const x = Math.min(raster.width - 1, Math.round(pixelAt(view, time)));
		fillPlain(raster, x, 0, x + 1, raster.height, raster.palette.grid);
	}
	for (const row of visible) {
		if (row.gil)
			labels.push(
				...drawGil(timeline, brushes, row.gil, edges(row, WAITERS_BAR), clip(edges(row, HOLDERS_BAR)), gilCount),
			);
		const memory = row.kind === 'memory' && timeline.memories.find(({ process }) => process === row.process);
		if (memory) {
			const [top, bottom] = edges(row, MEMORY_BAR);
			drawMemory(raster, memory, view, top, bottom);
		}
	}
	for (const { brush, list, span, row, edges: [top, bottom] } of bars) {
		if (!list)
			continue;
		const wide = list === timeline.states && bottom - top >= 10 * scale ? LABEL_WIDTH * scale : Infinity;
		for (const { index, x0, x1 } of drawLane(raster, brush, list, span, view, top, bottom, wide))
			labels.push({
				text: stateLabel(timeline.report.state_kinds?.[list.kind[index] - 1]),
				x0,
				x1,
				middle: (top + bottom) / 2,
				cut: false,
			});
		const filtered = list === timeline.intervals && row.lane && filter?.spans[row.lane.index];
		if (filter && filtered)
			drawLane(raster, timeline.brushes.gil, filter.intervals, filtered, view, top, bottom);
	}
	context.putImageData(image, 0, 0);
	drawBarLabels(context, getComputedStyle(byId('window')), scale, labels);
	drawRuler(/** @type {HTMLCanvasElement} */ (byId('ruler')), view, scale, ticks, step);
	placeLabels(timeline, scroll, scroll + raster.height / scale);
	placeMark(timeline);
	byId('range').textContent =
		`${formatDuration(view.to - view.from)} of ${formatDuration(view.duration)}`;
	tellChange(timeline, 'view');
}

/**
 * The bars of a thread's row.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./rows.js').Row} row
 * @param {import('./palette.js').Brushes} brushes
 */
function barsOf(timeline, row, brushes) {
	const { lane } = row;
	if (!lane)
		return [];
	const gilBox = barOf(timeline, row, 'gil');
	const stateBox = barOf(timeline, row, 'states');
	return [
		...(gilBox ? [{ row, box: gilBox, brush: brushes.gil, span: lane, list: timeline.intervals }] : []),
		...(stateBox && lane.states
			? [{ row, box: stateBox, brush: brushes.states, span: lane.states, list: timeline.states }]
			: []),
	];
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./palette.js').Brushes} brushes
 * @param {import('./gils.js').GilLane} gilLane
 * @param {number[]} chart its edges
 * @param {readonly [number, number]} bar its edges
 * @param {number} count of GILs that are drawn
 * @returns {import('./bar_labels.js').BarLabel[]}
 */
function drawGil(timeline, brushes, gilLane, chart, bar, count) {
	const { raster, columns, intervals, view, scale, colours, lanes } = timeline;
	if (!raster || !columns || !intervals)
		return [];
	const { parts } = gilLane;
	if (hasFew(gilLane, intervals, view, count))
		columnsOfIntervals(columns, gilLane, intervals, colours, view);
	else if (parts)
		columnsOfParts(columns, parts, view);
	else
		return [];
	const most = Math.max(1, parts?.peak ?? gilLane.lanes.length - 1);
	drawWaiters(raster, columns, most, chart[0], chart[1], brushes.waiters, brushes.waitersMost);
	const runs = drawHolders(raster, brushes.holders, columns, bar[0], bar[1], HOLDER_LABEL_WIDTH * scale);
	if (bar[1] - bar[0] < 12 * scale)
		return [];
	return runs.map(({ colour, holder, x0, x1 }) => {
		const lane =
			colour < OTHERS ? gilLane.lanes.find(({ index }) => colours[index] === colour) : lanes[holder - 1];
		const name = lane && timeline.nameOf(lane.process.pid, lane.thread.tid);
		return {
			text: name ? nameText(name) : '',
			/* Nobody else of its process is called main. */
			short: name && name.main && !name.named ? name.name : name?.number,
			x0,
			x1,
			middle: (bar[0] + bar[1]) / 2,
			cut: true,
		};
	});
}

/** @param {import('./timeline.js').Timeline} timeline */
function placeMark(timeline) {
	const mark = byId('mark');
	const { chosen, view, scale } = timeline;
	const isState = timeline.state >= 0;
	const list = isState ? timeline.states : timeline.intervals;
	const marked = isState ? timeline.state : timeline.interval;
	const row = chosen < 0 ? null : timeline.rowOfLane[chosen];
	const bar = row && barOf(timeline, row, isState ? 'states' : 'gil');
	mark.hidden = marked < 0 || !list || !bar;
	if (!list || !bar || mark.hidden)
		return;
	const x0 = Math.max(-4, pixelAt(view, list.start[marked]) / scale);
	const x1 = Math.min(view.width / scale + 4, pixelAt(view, list.end[marked]) / scale);
	mark.hidden = x1 < x0;
	mark.style.left = x0 - 1 + 'px';
	mark.style.width = Math.max(2, x1 - x0) + 2 + 'px';
	mark.style.top = row.top + bar.top - 2 - byId('scroller').scrollTop + 'px';
	mark.style.height = bar.height + 4 + 'px';
}
