// SPDX-License-Identifier: MIT
/*
 * Which rows the timeline has, in which order, and how high they are. A process has a heading, its
 * memory, a row for each GIL, and its threads; it can be folded down to its GILs, and threads can be
 * thin, hidden, and moved.
 */

import { tellChange } from './changes.js';

/* Of CSS. The style sheet has the same. */
export const HEADING_HEIGHT = 26;
const LANE_HEIGHT = 28;
/* The bar of states, where there is one, makes each lane so much higher. */
const STATE_EXTRA = 18;
const THIN_HEIGHT = 14;
const MEMORY_HEIGHT = 34;
const GIL_HEIGHT = 50;

const BAR = { top: 4, height: 20 };
const STATE_BAR = { top: 26, height: 14 };
/* Without a bar of the GIL above it, it has the place of both. */
const STATE_BAR_ALONE = { top: 4, height: 36 };
const THIN_BAR = { top: 2, height: 10 };
/* In the row of a GIL: how many wait, above who holds it. */
export const WAITERS_BAR = { top: 4, height: 19 };
export const HOLDERS_BAR = { top: 25, height: 20 };
/* In the row of memory. */
export const MEMORY_BAR = { top: 3, height: MEMORY_HEIGHT - 6 };

/**
 * @typedef {object} Row
 * @property {'process' | 'memory' | 'gil' | 'lane'} kind
 * @property {string} key that no other row has
 * @property {import('./report.js').Process} process
 * @property {number} top
 * @property {number} height
 * @property {import('./lanes.js').Lane | null} lane of a thread
 * @property {import('./gils.js').GilLane | null} gil
 * @property {boolean} thin
 */

/**
 * What people have made of the rows; all of it by index of the lane or of the process.
 * @typedef {object} Arrangement
 * @property {number[]} order all lanes, those of a process beside each other
 * @property {Set<number>} hidden lanes
 * @property {Set<number>} thin lanes
 * @property {Set<number>} folded processes
 */

/** @typedef {'start' | 'waiting' | 'holding'} Sorting */

/* More threads than this do not fit on a screen: those that wait most are then seen first. */
const MANY_LANES = 12;

/**
 * How the threads are sorted when the page opens.
 * @param {import('./lanes.js').Lane[]} lanes
 * @returns {Sorting}
 */
export function firstSorting(lanes) {
	/** @type {Map<import('./report.js').Process, number>} */
	const counts = new Map();
	for (const { process } of lanes)
		counts.set(process, (counts.get(process) ?? 0) + 1);
	const waited = lanes.some(({ thread }) => (thread.gil_wait_ns ?? 0) > 0);
	return waited && [...counts.values()].some((count) => count > MANY_LANES) ? 'waiting' : 'start';
}

/**
 * All lanes in an order: processes stay where they are, and the main thread of each comes first.
 * @param {import('./lanes.js').Lane[]} lanes
 * @param {Sorting} by
 * @returns {number[]}
 */
export function sortedLanes(lanes, by) {
	/** @type {Map<import('./report.js').Process, number>} */
	const places = new Map();
	for (const { process } of lanes)
		if (!places.has(process))
			places.set(process, places.size);
	/** @param {import('./lanes.js').Lane} lane */
	const place = ({ process }) => places.get(process) ?? 0;
	/** @param {import('./lanes.js').Lane} lane */
	const length = ({ thread }) =>
		(by === 'waiting' ? thread.gil_wait_ns : by === 'holding' ? thread.has_gil_ns : null) ?? 0;
	return [...lanes]
		.sort(
			(a, b) =>
				place(a) - place(b) ||
				Number(b.thread.main) - Number(a.thread.main) ||
				length(b) - length(a) ||
				a.index - b.index,
		)
		.map(({ index }) => index);
}

/**
 * The order in which the page opens.
 * @param {import('./lanes.js').Lane[]} lanes
 */
export function firstOrder(lanes) {
	return sortedLanes(lanes, firstSorting(lanes));
}

/**
 * @param {import('./lanes.js').Lane[]} lanes
 * @returns {Arrangement}
 */
export function makeArrangement(lanes) {
	return {
		order: firstOrder(lanes),
		hidden: new Set(),
		thin: new Set(),
		folded: new Set(),
	};
}

/**
 * Places all rows anew.
 * @param {import('./timeline.js').Timeline} timeline
 */
export function layRows(timeline) {
	const { report, lanes, gilLanes, arrangement } = timeline;
	const { order, hidden, thin, folded } = arrangement;
	const laneHeight = LANE_HEIGHT + (report.states === undefined ? 0 : STATE_EXTRA);
	/** @type {Row[]} */
	const rows = [];
	let top = 0;
	/** @type {import('./report.js').Process | null} */
	let process = null;
	/** @param {Pick<Row, 'kind' | 'key' | 'height'> & Partial<Row>} row */
	const add = (row) => {
		rows.push({
			lane: null,
			gil: null,
			thin: false,
			.../** @type {{process: import('./report.js').Process}} */ ({ process }),
			...row,
			top,
		});
		top += row.height;
	};

	timeline.rowOfLane = new Array(lanes.length).fill(null);
	for (const index of order) {
		const lane = lanes[index];
		if (lane.process !== process) {
			process = lane.process;
			const number = report.summary.processes.indexOf(process);
			add({ kind: 'process', key: `process ${number}`, height: HEADING_HEIGHT });
			if (report.memory?.some((part) => part.process === number))
				add({ kind: 'memory', key: `memory ${number}`, height: MEMORY_HEIGHT });
			for (const gil of gilLanes)
				if (gil.process === process)
					add({ kind: 'gil', key: `gil ${gil.id}`, height: GIL_HEIGHT, gil });
		}
		if (hidden.has(index) || folded.has(report.lanes[index].process))
			continue;
		const isThin = thin.has(index);
		add({
			kind: 'lane',
			key: `lane ${index}`,
			height: isThin ? THIN_HEIGHT : laneHeight,
			lane,
			thin: isThin,
		});
		timeline.rowOfLane[index] = rows[rows.length - 1];
	}
	timeline.rows = rows;
	timeline.height = top;
}

/**
 * Where in its row a bar of a thread is: that of the GIL, or of the states.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {Row} row of a thread
 * @param {'gil' | 'states'} which
 * @returns {{top: number, height: number} | null} null: it has none
 */
export function barOf(timeline, row, which) {
	if (which === 'gil' ? !timeline.hasGil : !row.lane?.states)
		return null;
	if (row.thin)
		return which === 'gil' || !timeline.hasGil ? THIN_BAR : null;
	if (which === 'gil')
		return BAR;
	return timeline.hasGil ? STATE_BAR : STATE_BAR_ALONE;
}

/**
 * The rows that are between two heights.
 * @param {Row[]} rows
 * @param {number} from
 * @param {number} to
 */
export function rowsBetween(rows, from, to) {
	let low = 0;
	let high = rows.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (rows[middle].top + rows[middle].height <= from)
			low = middle + 1;
		else
			high = middle;
	}
	let last = low;
	while (last < rows.length && rows[last].top < to)
		last++;
	return rows.slice(low, last);
}

/**
 * The hidden lanes, for links.
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {Set<number>}
 */
export function hiddenLanes(timeline) {
	return new Set(timeline.arrangement.hidden);
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {Iterable<number>} lanes all that shall be hidden; others are shown
 */
export function setHidden(timeline, lanes) {
	timeline.arrangement.hidden = new Set([...lanes].filter((index) => timeline.lanes[index]));
	tellChange(timeline, 'rows');
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {number[]}
 */
export function laneOrder(timeline) {
	return [...timeline.arrangement.order];
}

/**
 * Puts lanes into an order. Processes stay where they are, and what is not told comes last.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number[]} order
 */
export function setLaneOrder(timeline, order) {
	const { lanes, report, arrangement } = timeline;
	const places = new Map(order.map((index, place) => [index, place]));
	/** @param {number} index */
	const place = (index) => places.get(index) ?? lanes.length + index;
	arrangement.order = lanes
		.map((lane) => lane.index)
		.sort((a, b) => report.lanes[a].process - report.lanes[b].process || place(a) - place(b));
	tellChange(timeline, 'rows');
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {Sorting} by
 */
export function sortRows(timeline, by) {
	setLaneOrder(timeline, sortedLanes(timeline.lanes, by));
}

/**
 * Moves a lane by one place among those of its process that are seen.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} index
 * @param {number} direction -1: up
 * @returns {boolean} whether it moved
 */
export function moveLane(timeline, index, direction) {
	const { lanes, arrangement } = timeline;
	const { order, hidden } = arrangement;
	const from = order.indexOf(index);
	let to = from + direction;
	while (hidden.has(order[to]))
		to += direction;
	if (from < 0 || lanes[order[to]]?.process !== lanes[index].process)
		return false;
	order.splice(from, 1);
	order.splice(to, 0, index);
	tellChange(timeline, 'rows');
	return true;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} index
 */
export function hideLane(timeline, index) {
	timeline.arrangement.hidden.add(index);
	tellChange(timeline, 'rows');
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} process index
 */
export function showHidden(timeline, process) {
	const { report, arrangement } = timeline;
	for (const index of [...arrangement.hidden])
		if (report.lanes[index].process === process)
			arrangement.hidden.delete(index);
	tellChange(timeline, 'rows');
}

/**
 * @param {Set<number>} set
 * @param {number} value
 */
function toggle(set, value) {
	if (!set.delete(value))
		set.add(value);
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} index
 */
export function toggleThin(timeline, index) {
	toggle(timeline.arrangement.thin, index);
	tellChange(timeline, 'rows');
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} process index
 */
export function toggleFolded(timeline, process) {
	toggle(timeline.arrangement.folded, process);
	tellChange(timeline, 'rows');
}

/**
 * Makes a lane have a row, if it was hidden or its process folded.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} index
 */
export function reveal(timeline, index) {
	const { arrangement, report } = timeline;
	const wasHidden = arrangement.hidden.delete(index);
	if (arrangement.folded.delete(report.lanes[index].process) || wasHidden)
		tellChange(timeline, 'rows');
}

/**
 * The lane above or below another among those that are seen.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} index -1: before the first
 * @param {number} direction
 */
export function laneBeside(timeline, index, direction) {
	const seen = timeline.rows.flatMap((row) => row.lane ?? []);
	const at = seen.findIndex((lane) => lane.index === index);
	const place = at < 0 ? 0 : Math.min(seen.length - 1, Math.max(0, at + direction));
	return seen[place]?.index ?? -1;
}
