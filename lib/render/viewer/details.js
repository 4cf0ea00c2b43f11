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
	sumRange,
} from './lanes.js';

/** @type {Record<number, [string, string]>} */
const KINDS = {
	[KIND_HAS]: ['has', 'Holds the GIL'],
	[KIND_WAIT]: ['wait', 'Waits for the GIL'],
	[KIND_UNKNOWN]: ['unknown', 'Unknown: events were lost'],
};

const MAX_HOLDERS = 6;

/** @param {import('./lanes.js').Lane | null} lane */
export function laneName(lane) {
	return lane ? `${formatName(lane.thread.name)} (${lane.thread.tid})` : 'nobody';
}

/**
 * @param {string} term
 * @param {string} text
 */
function line(term, text) {
	return make('div', 'pair', make('span', 'term', term), make('span', 'value', text));
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
		return { nodes: describeMany(lane, pixel, from, to), interval: -1, from, to };

	let interval = intervalAt(intervals, lane, middle);
	if (interval < 0 && pixel.count === 1)
		interval = firstEndingAfter(intervals, lane.first, lane.last, from);
	if (interval < 0)
		return describeNothing(intervals, lane, middle);
	return {
		nodes: describeInterval(report, intervals, lanes, lane, interval),
		interval,
		from: intervals.start[interval],
		to: intervals.end[interval],
	};
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
	const [name, text] = KINDS[kind[interval]];
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
 * @param {import('./lanes.js').Lane} lane
 * @param {import('./lanes.js').Sums & {count: number}} sums
 * @param {number} from
 * @param {number} to
 */
function describeMany(lane, sums, from, to) {
	const length = to - from;
	const nodes = [
		make('div', 'what', `${formatCount(sums.count)} intervals in one pixel`),
		line('thread', laneName(lane)),
		line('around', formatMoment(from, length)),
		line('pixel', formatDuration(length)),
	];
	/** @type {[string, number][]} */
	const shares = [
		['held', sums.has],
		['waiting', sums.wait],
		['unknown', sums.unknown],
	];
	for (const [name, ns] of shares)
		if (ns > 0)
			nodes.push(line(name, `${formatShare(ns, length)} · ${formatDuration(ns)}`));
	nodes.push(make('div', 'hint', 'Zoom in to tell them apart.'));
	return nodes;
}

/**
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Lane} lane
 * @param {number} time
 */
function describeNothing(intervals, lane, time) {
	const next = firstEndingAfter(intervals, lane.first, lane.last, time);
	const from = next > lane.first ? intervals.end[next - 1] : lane.start;
	const to = next < lane.last ? intervals.start[next] : lane.end;
	const nodes = [
		heading('no', 'Neither has nor wants the GIL'),
		line('thread', laneName(lane)),
		line('lasts', formatDuration(to - from)),
		line('since', formatMoment(from, (to - from) / 100)),
	];
	return { nodes, interval: -1, from, to };
}
