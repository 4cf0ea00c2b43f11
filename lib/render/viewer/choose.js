// SPDX-License-Identifier: MIT
/* What is pointed at, and what is chosen in the timeline: a lane, an interval or a state of it. */

import { tellChange } from './changes.js';
import {
	describeInterval,
	describePlace,
	describeState,
	describeStates,
	findInterval,
	laneName,
	spokenText,
} from './details.js';
import { byId } from './dom.js';
import { formatMoment } from './format.js';
import { describeGil, holdingIn } from './gil_details.js';
import { hideHover, showHover } from './hover.js';
import { firstEndingAfter, sumRange } from './lanes.js';
import { describeMemory } from './memory.js';
import { hidePanel, showPanel } from './panel.js';
import { HEADING_HEIGHT, laneBeside, reveal } from './rows.js';
import { askFrame, placeAt } from './timeline.js';
import { setRange } from './view.js';

/* In the panel: all that one wants to read. */
const MOST_FRAMES = 1000;

/**
 * Shows what is at a place of the window, beside the pointer.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} x
 * @param {number} y
 */
export function hoverAt(timeline, x, y) {
	const { report, intervals, states, stacks, lanes } = timeline;
	const { lane, gil, memory, span, from, to } = placeAt(timeline, x, y);
	/** @type {{nodes: Node[]} | null} */
	let place = null;
	if (memory)
		place = describeMemory(memory, from, to);
	else if (gil)
		place = describeGil(timeline, gil, from, to);
	else if (lane && span && states)
		place = describeStates(report, states, stacks, lane, span, from, to);
	else if (lane && intervals && timeline.hasGil)
		place = describePlace(report, intervals, lanes, lane, from, to);
	const cursor = byId('cursor');

	cursor.hidden = false;
	cursor.style.left = x + 'px';
	cursor.dataset.time = formatMoment(from, to - from);
	cursor.classList.toggle('flipped', x > byId('window').clientWidth - 130);
	if (!place) {
		hideHover();
		return;
	}
	const box = byId('window').getBoundingClientRect();
	showHover(place.nodes, box.left + x, box.top + y);
}

export function hoverEnd() {
	byId('cursor').hidden = true;
	hideHover();
}

/**
 * Marks a lane and brings it into the window.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} index -1: none
 */
export function chooseLane(timeline, index) {
	const scroller = byId('scroller');
	if (timeline.lanes.length === 0)
		return;
	timeline.chosen = Math.min(timeline.lanes.length - 1, index);
	timeline.interval = timeline.state = -1;
	if (timeline.chosen < 0) {
		chooseNothing(timeline);
		return;
	}
	reveal(timeline, timeline.chosen);
	const row = timeline.rowOfLane[timeline.chosen];
	const lane = timeline.lanes[timeline.chosen];
	if (row && row.top - HEADING_HEIGHT < scroller.scrollTop)
		scroller.scrollTop = row.top - HEADING_HEIGHT;
	else if (row && row.top + row.height > scroller.scrollTop + scroller.clientHeight)
		scroller.scrollTop = row.top + row.height - scroller.clientHeight;
	byId('place').textContent = laneName(lane);
	showPanel(timeline, lane, null);
	tellChange(timeline, 'choice');
	askFrame(timeline);
}

/**
 * Chooses the lane above (DIRECTION -1) or below (1) of those that are seen.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} direction
 */
export function stepLane(timeline, direction) {
	const next = laneBeside(timeline, timeline.chosen, direction);
	if (next >= 0)
		chooseLane(timeline, next);
}

/**
 * Moves the view to a part of the trace when it is out of sight.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} start
 * @param {number} end
 */
function bringIntoView(timeline, start, end) {
	const { view } = timeline;
	if (start >= view.from && end <= view.to)
		return;
	const length = Math.max(view.to - view.from, (end - start) * 1.2);
	setRange(view, (start + end - length) / 2, (start + end + length) / 2);
}

/**
 * Marks a state of the chosen lane, and tells it below the lanes, with its whole stack.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} index
 */
function chooseState(timeline, index) {
	const { states, stacks, report } = timeline;
	if (!states)
		return;
	const lane = timeline.lanes[timeline.chosen];
	const nodes = describeState(report, states, stacks, lane, index, MOST_FRAMES);
	timeline.interval = -1;
	timeline.state = index;
	bringIntoView(timeline, states.start[index], states.end[index]);
	byId('place').textContent = spokenText(nodes);
	showPanel(timeline, lane, nodes);
	tellChange(timeline, 'choice');
	askFrame(timeline);
}

/**
 * Marks the lane at a place of the window, and the interval or the state there if it is one that can be
 * told. At a place of a GIL's lane, that of its holder.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} x
 * @param {number} y
 */
export function chooseAt(timeline, x, y) {
	const { lane, gil, span, from, to } = placeAt(timeline, x, y);
	const { intervals, states, hasGil } = timeline;
	/* What it says is told in the panel from now on, and it would lie upon the arrows. */
	hideHover();
	if (gil && intervals) {
		const { holders, holds, hold } = holdingIn(gil, intervals, from, to);
		if (holders.length > 0)
			chooseLane(timeline, holders[0].lane.index);
		if (holds === 1)
			chooseInterval(timeline, hold);
		return;
	}
	if (!lane)
		return;
	chooseLane(timeline, lane.index);
	const list = span ? states : hasGil ? intervals : null;
	const part = span ?? lane;
	if (!list || sumRange(list, part, from, to).count > 1)
		return;
	const index = findInterval(list, part, from, to);
	if (index >= 0)
		(span ? chooseState : chooseInterval)(timeline, index);
}

/** @param {import('./timeline.js').Timeline} timeline */
export function chooseNothing(timeline) {
	timeline.interval = timeline.state = -1;
	hidePanel();
	hoverEnd();
	tellChange(timeline, 'choice');
	askFrame(timeline);
}

/**
 * Marks an interval of the chosen lane, moves the view to it when it is out of sight, and tells it below
 * the lanes.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} interval
 */
export function chooseInterval(timeline, interval) {
	const { intervals, report, lanes } = timeline;
	if (!intervals)
		return;
	timeline.interval = interval;
	timeline.state = -1;
	bringIntoView(timeline, intervals.start[interval], intervals.end[interval]);
	const lane = lanes[timeline.chosen];
	const nodes = describeInterval(report, intervals, lanes, lane, interval);
	byId('place').textContent = spokenText(nodes);
	showPanel(timeline, lane, nodes);
	tellChange(timeline, 'choice');
	askFrame(timeline);
}

/**
 * Goes to the next interval of the chosen lane (DIRECTION 1), or to the one before (-1).
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} direction
 */
export function stepInterval(timeline, direction) {
	const { intervals, view } = timeline;
	if (!intervals || timeline.lanes.length === 0 || !timeline.hasGil)
		return;
	if (timeline.chosen < 0)
		stepLane(timeline, 1);
	const lane = timeline.lanes[timeline.chosen];
	if (!lane)
		return;
	const next =
		timeline.interval < 0
			? firstEndingAfter(intervals, lane.first, lane.last, view.from)
			: timeline.interval + direction;
	if (next >= lane.first && next < lane.last)
		chooseInterval(timeline, next);
}

/**
 * The same for the states of the chosen lane.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} direction
 */
export function stepState(timeline, direction) {
	const { states, view } = timeline;
	if (!states || timeline.lanes.length === 0)
		return;
	if (timeline.chosen < 0)
		stepLane(timeline, 1);
	const span = timeline.lanes[timeline.chosen]?.states;
	if (!span)
		return;
	const next =
		timeline.state < 0
			? firstEndingAfter(states, span.first, span.last, view.from)
			: timeline.state + direction;
	if (next >= span.first && next < span.last)
		chooseState(timeline, next);
}
