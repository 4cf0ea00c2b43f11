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
} from './details.js';
import { byId } from './dom.js';
import { formatMoment } from './format.js';
import { hideHover, showHover } from './hover.js';
import { firstEndingAfter, sumRange } from './lanes.js';
import { describeMemory } from './memory.js';
import { hidePanel, showPanel } from './panel.js';
import { HEADING_HEIGHT, askFrame, drawFrame, placeAt } from './timeline.js';
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
	const { lane, memory, span, from, to } = placeAt(timeline, x, y);
	const place = memory
		? describeMemory(memory, from, to)
		: lane && span && states
			? describeStates(report, states, stacks, lane, span, from, to)
			: lane && intervals
				? describePlace(report, intervals, lanes, lane, from, to)
				: null;
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
 * @param {number} index
 */
export function chooseLane(timeline, index) {
	const scroller = byId('scroller');
	if (timeline.rows.length === 0)
		return;
	timeline.chosen = Math.min(timeline.rows.length - 1, Math.max(0, index));
	timeline.interval = timeline.state = -1;
	const { top, lane } = timeline.rows[timeline.chosen];
	for (const row of timeline.rows)
		row.label.classList.toggle('chosen', row.lane === lane);
	if (top - HEADING_HEIGHT < scroller.scrollTop)
		scroller.scrollTop = top - HEADING_HEIGHT;
	else if (top + timeline.laneHeight > scroller.scrollTop + scroller.clientHeight)
		scroller.scrollTop = top + timeline.laneHeight - scroller.clientHeight;
	byId('place').textContent = laneName(lane);
	showPanel(timeline.report, lane, null);
	tellChange(timeline, 'choice');
	askFrame(timeline);
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
	const { lane } = timeline.rows[timeline.chosen];
	const nodes = describeState(report, states, stacks, lane, index, MOST_FRAMES);
	timeline.interval = -1;
	timeline.state = index;
	bringIntoView(timeline, states.start[index], states.end[index]);
	byId('place').textContent = nodes.map((node) => node.textContent).join(', ');
	showPanel(report, lane, nodes);
	tellChange(timeline, 'choice');
	askFrame(timeline);
}

/**
 * Marks the lane at a place of the window, and the state there if it is one that can be told.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} x
 * @param {number} y
 */
export function chooseAt(timeline, x, y) {
	const { lane, span, from, to } = placeAt(timeline, x, y);
	if (!lane)
		return;
	chooseLane(timeline, lane.index);
	if (!span || !timeline.states || sumRange(timeline.states, span, from, to).count > 1)
		return;
	const index = findInterval(timeline.states, span, from, to);
	if (index >= 0)
		chooseState(timeline, index);
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
 * Marks an interval of the chosen lane, moves the view to it when it is out of sight, and tells it.
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
	const lane = timeline.rows[timeline.chosen].lane;
	const nodes = describeInterval(report, intervals, lanes, lane, interval);
	byId('place').textContent = nodes.map((node) => node.textContent).join(', ');
	drawFrame(timeline);
	tellChange(timeline, 'choice');

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
 * @param {import('./timeline.js').Timeline} timeline
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
 * The same for the states of the chosen lane.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} direction
 */
export function stepState(timeline, direction) {
	const { states, view } = timeline;
	if (!states || timeline.rows.length === 0)
		return;
	if (timeline.chosen < 0)
		chooseLane(timeline, 0);
	const span = timeline.rows[timeline.chosen].lane.states;
	if (!span)
		return;
	const next =
		timeline.state < 0
			? firstEndingAfter(states, span.first, span.last, view.from)
			: timeline.state + direction;
	if (next >= span.first && next < span.last)
		chooseState(timeline, next);
}
