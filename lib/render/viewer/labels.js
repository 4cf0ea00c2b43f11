// SPDX-License-Identifier: MIT
/* The labels of the rows. Only those near the window are made, and all headings: these can be tabbed to. */

import { laneName } from './details.js';
import { byId, make } from './dom.js';
import { formatBytes, formatCount, formatName, formatShare, visibleText } from './format.js';
import { NO_COLOUR, OTHERS } from './gils.js';
import { knownStateTime, knownTime } from './report.js';
import { rowsBetween } from './rows.js';

/* Rows so far outside of the window have labels: of CSS. */
const LABEL_MARGIN = 160;

/**
 * @typedef {object} Labels
 * @property {Map<string, HTMLElement>} elements by key of the row
 * @property {boolean} stale whether any may tell something old
 * @property {number} from of the rows that have labels
 * @property {number} to
 */

/** @returns {Labels} */
export function makeLabels() {
	return { elements: new Map(), stale: true, from: 0, to: -1 };
}

/**
 * Makes the labels between two heights, and takes away the others.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} from
 * @param {number} to
 */
export function placeLabels(timeline, from, to) {
	const { labels, rows } = timeline;
	if (!labels.stale && from >= labels.from && to <= labels.to)
		return;
	const parent = byId('labels');
	labels.from = from - LABEL_MARGIN;
	labels.to = to + LABEL_MARGIN;
	const near = new Set(rowsBetween(rows, labels.from, labels.to));
	/** @type {Map<string, HTMLElement>} */
	const elements = new Map();
	/** @type {Element | null} */
	let next = parent.firstElementChild;

	/* What is in its place stays there: it may have the focus. */
	for (const row of rows) {
		if (row.kind !== 'process' && !near.has(row))
			continue;
		const known = labels.elements.get(row.key);
		const element = known ?? makeLabel(timeline, row);
		elements.set(row.key, element);
		element.style.top = row.top + 'px';
		element.style.height = row.height + 'px';
		if (row.kind === 'process')
			tellHeading(timeline, element);
		element.classList.toggle('thin', row.thin);
		element.classList.toggle('chosen', row.lane !== null && row.lane.index === timeline.chosen);
		element.classList.toggle('found', row.lane !== null && timeline.found.has(row.lane.index));
		if (element === next)
			next = next.nextElementSibling;
		else
			parent.insertBefore(element, next);
	}
	for (const [key, element] of labels.elements)
		if (elements.get(key) !== element)
			removeLabel(element);
	labels.elements = elements;
	labels.stale = false;
	byId('lanes').style.height = timeline.height + 'px';
}

/**
 * The timeline has the focus that a label had: keys go on working when it is scrolled away.
 * @param {HTMLElement} element
 */
function removeLabel(element) {
	if (element.contains(document.activeElement))
		byId('plot').focus({ preventScroll: true });
	element.remove();
}

/**
 * Lets the labels of some rows be made anew.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./rows.js').Row['kind']} kind
 */
export function forgetLabels(timeline, kind) {
	const { labels, rows } = timeline;
	for (const row of rows) {
		const element = row.kind === kind && labels.elements.get(row.key);
		if (!element)
			continue;
		removeLabel(element);
		labels.elements.delete(row.key);
	}
	labels.stale = true;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./rows.js').Row} row
 * @returns {HTMLElement}
 */
function makeLabel(timeline, row) {
	if (row.lane)
		return makeLaneLabel(timeline, row.lane);
	if (row.gil)
		return makeGilLabel(timeline, row.gil);
	if (row.kind === 'memory')
		return makeMemoryLabel(timeline, row.process);
	return makeProcessLabel(timeline, row.process);
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./report.js').Process} process
 */
function makeProcessLabel(timeline, process) {
	const { pid, command } = process;
	const fold = make('button', 'fold', make('bdi', '', visibleText(command)), ` pid ${pid}`);
	const show = make('button', 'show-hidden');
	fold.type = show.type = 'button';
	const heading = make('div', 'process', fold, show);
	heading.dataset.process = String(timeline.report.summary.processes.indexOf(process));
	return heading;
}

/**
 * What is folded and hidden now.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {HTMLElement} heading
 */
function tellHeading(timeline, heading) {
	const { report, arrangement } = timeline;
	const number = Number(heading.dataset.process);
	const folded = arrangement.folded.has(number);
	const hidden = [...arrangement.hidden].filter((index) => report.lanes[index].process === number).length;
	const [fold, show] = heading.children;
	fold.setAttribute('aria-expanded', String(!folded));
	/** @type {HTMLElement} */ (fold).title = folded ? 'Show the threads of this process' : 'Hide the threads of this process';
	/** @type {HTMLElement} */ (show).hidden = hidden === 0;
	const text = `${formatCount(hidden)} ${hidden === 1 ? 'thread' : 'threads'} hidden · show`;
	if (show.textContent !== text)
		show.textContent = text;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./gils.js').GilLane} gilLane
 */
function makeGilLabel(timeline, gilLane) {
	const { gil, parts } = gilLane;
	const held = formatShare(gil.held_ns, timeline.report.duration_ns);
	const label = make(
		'div',
		'gil-label',
		make(
			'div',
			'line waiters',
			make('span', '', 'how many wait'),
			make('span', 'most', parts ? `max ${parts.peak}` : '…'),
		),
		make(
			'div',
			'line holders',
			make('span', 'name', 'GIL, by holder'),
			make('span', 'most', `held ${held}`),
		),
	);
	label.title = `GIL ${gil.address}: held ${held} of the time of the trace`;
	if (parts)
		label.title += `, at most ${parts.peak} waited for it at once`;
	if (gilLane.lanes.some(({ index }) => timeline.colours[index] === OTHERS))
		label.title += `. The ${OTHERS} that held it longest have a colour each, all others are grey: point at them to read who`;
	label.dataset.gil = String(gilLane.id);
	return label;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./report.js').Process} process
 */
function makeMemoryLabel(timeline, process) {
	const label = make('div', 'memory-label', make('span', '', 'resident memory'));
	const memory = timeline.memories.find((candidate) => candidate.process === process);
	if (memory)
		label.append(make('span', 'most', `max ${formatBytes(memory.most)}`));
	return label;
}

/**
 * @param {string} className
 * @param {string} text
 * @param {string} title
 */
function laneButton(className, text, title) {
	const button = make('button', className, text);
	button.type = 'button';
	button.title = title;
	button.setAttribute('aria-label', title);
	/* There may be thousands: the keyboard has keys for them. */
	button.tabIndex = -1;
	return button;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./lanes.js').Lane} lane
 */
function makeLaneLabel(timeline, lane) {
	const { hasGil, colours } = timeline;
	const { thread } = lane;
	const colour = colours[lane.index];
	const label = make(
		'div',
		'lane',
		make(
			'div',
			'line',
			...(hasGil ? [make('span', 'swatch ' + (colour === NO_COLOUR ? 'never' : `holder-${colour}`))] : []),
			make('bdi', 'name', formatName(thread.name)),
			make('span', 'tid', (thread.main ? '* ' : '') + thread.tid),
			make('span', 'share', hasGil ? formatShare(thread.gil_wait_ns, knownTime(thread)) : ''),
		),
	);
	label.title = laneName(lane);
	if (hasGil)
		label.title +=
			`: held ${formatShare(thread.has_gil_ns, knownTime(thread))}, ` +
			`waited ${formatShare(thread.gil_wait_ns, knownTime(thread))}`;
	if (thread.state) {
		const running = formatShare(thread.state.running_ns, knownStateTime(thread));
		label.append(make('div', 'line cpu', `on CPU ${running}`));
		label.title += `${hasGil ? ',' : ':'} was on a CPU ${running}`;
	}
	label.append(
		make(
			'div',
			'lane-buttons',
			laneButton('make-thin', '▁', 'Make this thread a thin row, or a full one again (t)'),
			laneButton('hide', '×', 'Hide this thread (h)'),
		),
	);
	label.dataset.lane = String(lane.index);
	return label;
}
