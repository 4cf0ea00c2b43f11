// SPDX-License-Identifier: MIT
/* What is said about the place in the timeline under the pointer. */

import { make } from './dom.js';
import { formatCount, formatDuration, formatMoment, formatName, formatShare } from './format.js';
import {
	KIND_HAS,
	KIND_UNKNOWN,
	KIND_WAIT,
	firstEndingAfter,
	holdersDuring,
	intervalAt,
	isMerged,
	sumRange,
} from './lanes.js';
import { stackList } from './stacks.js';
import { stateTexts } from './states.js';

/**
 * How kinds are called: the swatch's class, of one interval, of many. 0: what lies between.
 * @type {Record<number, [string, string, string]>}
 */
const KINDS = {
	0: ['no', 'Neither has nor wants the GIL', 'neither'],
	[KIND_HAS]: ['has', 'Holds the GIL', 'held'],
	[KIND_WAIT]: ['wait', 'Waits for the GIL', 'waiting'],
	[KIND_UNKNOWN]: ['unknown', 'Unknown: its events are missing', 'unknown'],
};

const MAX_HOLDERS = 6;
/* Beside the pointer. */
const MAX_FRAMES = 14;
/* Read out. */
const MAX_SPOKEN = 5;

/**
 * The same of states.
 * @param {import('./report.js').ReportMeta} report
 */
function textsOfStates(report) {
	return [undefined, ...(report.state_kinds ?? [])].map(stateTexts);
}

/** @param {import('./lanes.js').Lane | null} lane */
export function laneName(lane) {
	return lane ? `${formatName(lane.thread.name)} (${lane.thread.tid})` : 'nobody';
}

/**
 * @param {string} term
 * @param {string} text
 */
export function line(term, text) {
	return make('div', 'pair', make('span', 'term', term), make('span', 'value', text));
}

/**
 * What is read out. The space between a term and its value is the style sheet's, and so are the lines of a
 * stack, of which the innermost will do.
 * @param {HTMLElement[]} nodes
 */
export function spokenText(nodes) {
	return nodes
		.map((node) => {
			const parts = [...node.children].map((child) => child.textContent).filter(Boolean);
			if (node.classList.contains('pair'))
				return parts.join(' ');
			return node.classList.contains('stack') ? parts.slice(0, MAX_SPOKEN).join(', ') : node.textContent;
		})
		.join(', ');
}

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Lane[]} lanes
 * @param {import('./lanes.js').Lane} lane
 * @param {number} from of the pixel under the pointer
 * @param {number} to
 * @returns {{nodes: Node[], interval: number, from: number, to: number} | null}
 */
export function describePlace(report, intervals, lanes, lane, from, to) {
	const middle = (from + to) / 2;
	if (middle < lane.start || middle > lane.end)
		return null;
	const pixel = sumRange(intervals, lane, from, to);
	if (pixel.count > 1)
		return { nodes: describeMany(KINDS, lane, pixel, from, to), interval: -1, from, to };

	const interval = findInterval(intervals, lane, from, to);
	if (interval < 0)
		return describeNothing(KINDS, intervals, lane, lane, middle);
	return {
		nodes: describeInterval(report, intervals, lanes, lane, interval),
		interval,
		from: intervals.start[interval],
		to: intervals.end[interval],
	};
}

/**
 * The one interval that the pixel from FROM to TO shows; -1 when there is none.
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Span} span
 * @param {number} from
 * @param {number} to
 */
export function findInterval(intervals, span, from, to) {
	const interval = intervalAt(intervals, span, (from + to) / 2);
	if (interval >= 0)
		return interval;
	const next = firstEndingAfter(intervals, span.first, span.last, from);
	return next < span.last && intervals.start[next] < to ? next : -1;
}

/**
 * What is said about a place of the bar of states.
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Intervals} states
 * @param {import('./stacks.js').Stacks | null} stacks
 * @param {import('./lanes.js').Lane} lane
 * @param {import('./lanes.js').Span} span of its states
 * @param {number} from of the pixel under the pointer
 * @param {number} to
 */
export function describeStates(report, states, stacks, lane, span, from, to) {
	const middle = (from + to) / 2;
	const texts = textsOfStates(report);
	if (middle < span.start || middle > span.end)
		return null;
	const pixel = sumRange(states, span, from, to);
	if (pixel.count > 1)
		return { nodes: describeMany(texts, lane, pixel, from, to), interval: -1, from, to };
	const interval = findInterval(states, span, from, to);
	if (interval < 0)
		return describeNothing(texts, states, lane, span, middle);
	return {
		nodes: describeState(report, states, stacks, lane, interval, MAX_FRAMES),
		interval,
		from: states.start[interval],
		to: states.end[interval],
	};
}

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Intervals} states
 * @param {import('./stacks.js').Stacks | null} stacks
 * @param {import('./lanes.js').Lane} lane
 * @param {number} index
 * @param {number} frames how many to show at most
 */
export function describeState(report, states, stacks, lane, index, frames) {
	const start = states.start[index];
	const end = states.end[index];
	const [swatch, text, many] = stateTexts(report.state_kinds?.[states.kind[index] - 1]);
	if (isMerged(report, end - start))
		return describeMerged(report, lane, swatch, many, start, end);
	/** @type {HTMLElement[]} */
	const nodes = [
		heading(swatch, text),
		line('thread', laneName(lane)),
		line('lasts', formatDuration(end - start)),
		line('since', formatMoment(start, (end - start) / 100)),
	];
	if (stacks && states.stack[index] > 0)
		nodes.push(
			make('div', 'subject', 'Stack, innermost first'),
			stackList(stacks, states.stack[index], frames),
		);
	return nodes;
}

/**
 * @param {string} kind
 * @param {string} text
 */
function heading(kind, text) {
	return make('div', 'what', make('span', 'swatch ' + kind), text);
}

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Lane[]} lanes
 * @param {import('./lanes.js').Lane} lane
 * @param {number} interval
 */
export function describeInterval(report, intervals, lanes, lane, interval) {
	const { start, end, kind, gil } = intervals;
	const length = end[interval] - start[interval];
	const [name, text, many] = KINDS[kind[interval]];
	if (isMerged(report, length))
		return describeMerged(report, lane, name, many, start[interval], end[interval]);
	const nodes = [
		heading(name, text),
		line('thread', laneName(lane)),
		line('lasts', formatDuration(length)),
		line('since', formatMoment(start[interval], length / 100)),
	];
	if (gil[interval] > 0)
		nodes.push(line('GIL', report.gils[gil[interval] - 1]));
	if (kind[interval] === KIND_WAIT) {
		const holders = holdersDuring(intervals, lanes, lane, interval);
		nodes.push(make('div', 'subject', 'Held meanwhile by'));
		for (const holder of holders.slice(0, MAX_HOLDERS))
			nodes.push(
				line(
					laneName(holder.lane),
					`${formatDuration(holder.ns)} · ${formatShare(holder.ns, length)}`,
				),
			);
		if (holders.length > MAX_HOLDERS)
			nodes.push(line(`${holders.length - MAX_HOLDERS} more`, ''));
	}
	return nodes;
}

/**
 * What is to be said of a length of time that may be of many slices, of a page that could not have them all.
 * @param {import('./report.js').ReportMeta} report
 * @param {number} length
 */
export function mergedHint(report, length) {
	if (!isMerged(report, length))
		return [];
	const quantum = formatDuration(report.folded?.quantum_ns ?? 0);
	return [make('div', 'hint', `What is shorter than ${quantum} is not told apart in this page.`)];
}

/**
 * What may be many, of a page that could not have them all.
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Lane} lane
 * @param {string} swatch
 * @param {string} text what all of them are
 * @param {number} start
 * @param {number} end
 */
function describeMerged(report, lane, swatch, text, start, end) {
	return [
		heading(swatch, `Merged slices: ${text}`),
		line('thread', laneName(lane)),
		line('together', formatDuration(end - start)),
		line('around', formatMoment(start, end - start)),
		...mergedHint(report, end - start),
	];
}

/**
 * @param {Record<number, [string, string, string]>} kinds by number
 * @param {import('./lanes.js').Lane} lane
 * @param {{sums: import('./lanes.js').Sums, count: number}} pixel
 * @param {number} from
 * @param {number} to
 */
function describeMany(kinds, lane, pixel, from, to) {
	const { sums, count } = pixel;
	const length = to - from;
	const nodes = [
		make('div', 'what', `${formatCount(count)} intervals in one pixel`),
		line('thread', laneName(lane)),
		line('around', formatMoment(from, length)),
		line('pixel', formatDuration(length)),
	];
	/* Most first; what lies between is the rest. */
	for (const kind of [...sums.keys()].sort((a, b) => sums[b] - sums[a]))
		if (sums[kind] > 0)
			nodes.push(
				line(kinds[kind][2], `${formatShare(sums[kind], length)} · ${formatDuration(sums[kind])}`),
			);
	nodes.push(make('div', 'hint', 'Zoom in to tell them apart.'));
	return nodes;
}

/**
 * @param {Record<number, [string, string, string]>} kinds by number
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Lane} lane
 * @param {import('./lanes.js').Span} span
 * @param {number} time
 */
function describeNothing(kinds, intervals, lane, span, time) {
	const next = firstEndingAfter(intervals, span.first, span.last, time);
	const from = next > span.first ? intervals.end[next - 1] : span.start;
	const to = next < span.last ? intervals.start[next] : span.end;
	const nodes = [
		heading(kinds[0][0], kinds[0][1]),
		line('thread', laneName(lane)),
		line('lasts', formatDuration(to - from)),
		line('since', formatMoment(from, (to - from) / 100)),
	];
	return { nodes, interval: -1, from, to };
}
