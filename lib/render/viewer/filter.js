// SPDX-License-Identifier: MIT
/*
 * Waits of some threads for one holder, which the timeline then shows alone: the pieces of their waits during
 * which it held the GIL that they wait for. Their sum is what the summary blames it for.
 */

import { tellChange } from './changes.js';
import { formatDuration } from './format.js';
import { KIND_HAS, KIND_WAIT, firstEndingAfter, makeIntervals, sumRange } from './lanes.js';
import { nameText, threadNames } from './thread_names.js';
import { askFrame, showRange } from './timeline.js';

/* As in lanes.js: what intervals of the GIL can be. */
const KINDS_OF_GIL = 4;
/* About one wait, so much of the view is the wait itself. */
const PART_OF_VIEW = 0.6;

/**
 * Which waits are meant.
 * @typedef {object} WaitChoice
 * @property {number} pid
 * @property {number | '*'} waiter a tid; '*': whoever
 * @property {number | '*' | 'none'} holder a tid; 'none': nobody held it; '*': the whole of each wait
 */

/** The holds of one GIL, in order: they do not overlap. @typedef {{start: Float64Array, end: Float64Array}} GilHolds */

/**
 * A wait of the filter, which may be of several pieces.
 * @typedef {object} FilteredWait
 * @property {import('./lanes.js').Lane} lane of the waiter
 * @property {number} wait number of the interval
 * @property {number} ns of it that the filter shows
 */

/** @param {WaitChoice} choice */
export function filterKey({ pid, waiter, holder }) {
	return `${pid}.${waiter}-${holder}`;
}

/**
 * @param {string} key
 * @returns {WaitChoice | null} null when it is none
 */
export function parseFilterKey(key) {
	const match = /^(\d{1,10})\.(\*|\d{1,10})-(\*|none|\d{1,10})$/.exec(key);
	if (!match)
		return null;
	const [, pid, waiter, holder] = match;
	return {
		pid: Number(pid),
		waiter: waiter === '*' ? '*' : Number(waiter),
		holder: holder === '*' || holder === 'none' ? holder : Number(holder),
	};
}

/**
 * The holds of some lanes, by GIL. Where these do not overlap, starts and ends that are sorted for
 * themselves still belong together.
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Lane[]} holders
 * @returns {Map<number, GilHolds>}
 */
function holdsByGil({ start, end, kind, gil }, holders) {
	/** @type {Map<number, {start: number[], end: number[]}>} */
	const lists = new Map();
	for (const lane of holders)
		for (let i = lane.first; i < lane.last; i++) {
			if (kind[i] !== KIND_HAS || gil[i] === 0)
				continue;
			let list = lists.get(gil[i]);
			if (!list)
				lists.set(gil[i], (list = { start: [], end: [] }));
			list.start.push(start[i]);
			list.end.push(end[i]);
		}
	return new Map(
		[...lists].map(([number, list]) => [
			number,
			{ start: Float64Array.from(list.start).sort(), end: Float64Array.from(list.end).sort() },
		]),
	);
}

/**
 * Gives the pieces of the time from FROM to TO during which somebody of HOLDS held it, or during which
 * nobody did.
 * @param {GilHolds | undefined} holds
 * @param {number} cursor the first hold that can matter
 * @param {number} from
 * @param {number} to
 * @param {boolean} held
 * @param {(from: number, to: number) => void} give
 * @returns {number} the cursor for a later time
 */
function cutWait(holds, cursor, from, to, held, give) {
	let at = from;
	if (holds) {
		cursor = firstEndingAfter(holds, cursor, holds.end.length, from);
		for (let i = cursor; i < holds.end.length && holds.start[i] < to; i++) {
			const start = Math.max(holds.start[i], at);
			const end = Math.min(holds.end[i], to);
			if (held && start < end)
				give(start, end);
			else if (!held && at < start)
				give(at, start);
			at = Math.max(at, end);
		}
	}
	if (!held && at < to)
		give(at, to);
	return cursor;
}

/**
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Lane[]} lanes
 * @param {WaitChoice} choice
 * @returns {Pick<import('./timeline.js').WaitFilter, 'intervals' | 'spans' | 'waits'>}
 */
export function findWaits(intervals, lanes, choice) {
	const { start, end, kind, gil } = intervals;
	const mine = lanes.filter((lane) => lane.process.pid === choice.pid);
	/** @param {number | '*' | 'none'} tid */
	const some = (tid) => mine.filter((lane) => typeof tid !== 'number' || lane.thread.tid === tid);
	const whole = choice.holder === '*';
	const held = typeof choice.holder === 'number';
	const holds = whole ? new Map() : holdsByGil(intervals, some(choice.holder));
	/** @type {{start: number[], end: number[], gil: number[], waits: number[]}} */
	const list = { start: [], end: [], gil: [], waits: [] };
	/** @type {(import('./lanes.js').Span | null)[]} */
	const spans = new Array(lanes.length).fill(null);

	for (const lane of some(choice.waiter)) {
		const first = list.start.length;
		/** @type {Map<number, number>} by GIL */
		const cursors = new Map();
		for (let i = lane.first; i < lane.last; i++) {
			if (kind[i] !== KIND_WAIT)
				continue;
			/** @param {number} from @param {number} to */
			const give = (from, to) => {
				list.start.push(from);
				list.end.push(to);
				list.gil.push(gil[i]);
				list.waits.push(i);
			};
			if (whole)
				give(start[i], end[i]);
			else
				cursors.set(
					gil[i],
					cutWait(holds.get(gil[i]), cursors.get(gil[i]) ?? 0, start[i], end[i], held, give),
				);
		}
		if (list.start.length > first)
			spans[lane.index] = { start: lane.start, end: lane.end, first, last: list.start.length };
	}
	return {
		intervals: makeIntervals(
			Float64Array.from(list.start),
			Float64Array.from(list.end),
			new Uint8Array(list.start.length).fill(KIND_WAIT),
			Uint32Array.from(list.gil),
			KINDS_OF_GIL,
		),
		spans,
		waits: Uint32Array.from(list.waits),
	};
}

/**
 * What people call these waits.
 * @param {import('./report.js').ReportMeta} report
 * @param {WaitChoice} choice
 */
export function filterTitle(report, { pid, waiter, holder }) {
	const nameOf = threadNames(report.summary.processes, true);
	/** @param {number} tid */
	const name = (tid) => {
		const thread = nameOf(pid, tid);
		/* Nothing of it shall change the order of the words around it. */
		return `\u2068${/^\d+$/.test(thread.name) ? `thread ${thread.name}` : nameText(thread)}\u2069`;
	};
	const whose = waiter === '*' ? 'waits' : `waits of ${name(waiter)}`;
	const where = waiter === '*' && report.summary.processes.length > 1 ? ` in process ${pid}` : '';
	if (holder === '*')
		return whose + where;
	return whose + (holder === 'none' ? ' while nobody held it' : ` for ${name(holder)}`) + where;
}

/**
 * Shows only the waits that KEY names, as filterKey makes it. What is not known changes nothing.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {string} key
 * @returns {boolean} whether it is known
 */
export function applyFilterKey(timeline, key) {
	const { report, lanes, intervals } = timeline;
	const choice = parseFilterKey(key);
	/** @param {number | '*' | 'none'} tid */
	const isKnown = (tid) =>
		typeof tid !== 'number' ||
		lanes.some((lane) => lane.process.pid === choice?.pid && lane.thread.tid === tid);
	if (
		!choice ||
		!intervals ||
		!isKnown(choice.waiter) ||
		!isKnown(choice.holder) ||
		!lanes.some((lane) => lane.process.pid === choice.pid)
	)
		return false;
	const title = filterTitle(report, choice);
	timeline.filter = { key: filterKey(choice), title, ...findWaits(intervals, lanes, choice) };
	tellChange(timeline, 'filter');
	bringFilterIntoView(timeline);
	askFrame(timeline);
	return true;
}

/** @param {import('./timeline.js').Timeline} timeline */
export function clearFilter(timeline) {
	if (!timeline.filter)
		return;
	timeline.filter = null;
	tellChange(timeline, 'filter');
	askFrame(timeline);
}

/**
 * How long the waits of the filter are in all, and how many.
 * @param {import('./timeline.js').WaitFilter} filter
 */
function sumFilter({ intervals, spans, waits }) {
	let ns = 0;
	let count = 0;
	for (const span of spans)
		if (span)
			ns += sumRange(intervals, span, span.start, span.end).sums[KIND_WAIT];
	for (let i = 0; i < waits.length; i++)
		if (i === 0 || waits[i] !== waits[i - 1])
			count++;
	return { ns, count };
}

/**
 * Goes to where the filtered waits are, when none of them is in sight.
 * @param {import('./timeline.js').Timeline} timeline
 */
function bringFilterIntoView(timeline) {
	const { filter, view } = timeline;
	if (!filter || filter.waits.length === 0)
		return;
	const { intervals, spans } = filter;
	let from = Infinity;
	let to = 0;
	for (const span of spans) {
		if (!span)
			continue;
		if (sumRange(intervals, span, view.from, view.to).count > 0)
			return;
		from = Math.min(from, intervals.start[span.first]);
		to = Math.max(to, intervals.end[span.last - 1]);
	}
	const margin = ((to - from) * (1 / PART_OF_VIEW - 1)) / 2;
	showRange(timeline, from - margin, to + margin);
}

/**
 * Gives the waits of the filter, or all when there is none: each one's lane, its number, and how much of it
 * the filter shows.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {(lane: import('./lanes.js').Lane, wait: number, ns: number) => void} give
 */
function forEachWait({ filter, intervals, lanes }, give) {
	if (filter) {
		const { start, end } = filter.intervals;
		for (const [index, span] of filter.spans.entries()) {
			const last = span?.last ?? 0;
			for (let i = span?.first ?? 0; i < last;) {
				const wait = filter.waits[i];
				let ns = 0;
				for (; i < last && filter.waits[i] === wait; i++)
					ns += end[i] - start[i];
				give(lanes[index], wait, ns);
			}
		}
	} else if (intervals) {
		const { start, end, kind } = intervals;
		for (const lane of lanes)
			for (let i = lane.first; i < lane.last; i++)
				if (kind[i] === KIND_WAIT)
					give(lane, i, end[i] - start[i]);
	}
}

/**
 * The COUNT longest waits of the filter, or of all; longest first.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} count
 * @returns {FilteredWait[]}
 */
export function longestWaits(timeline, count) {
	/** @type {FilteredWait[]} */
	const longest = [];
	let least = 0;
	forEachWait(timeline, (lane, wait, ns) => {
		if (longest.length === count && ns <= least)
			return;
		const place = longest.findIndex((other) => other.ns < ns);
		longest.splice(place < 0 ? longest.length : place, 0, { lane, wait, ns });
		if (longest.length > count)
			longest.pop();
		least = longest[longest.length - 1].ns;
	});
	return longest;
}

/**
 * The wait of the filter that begins after the chosen interval, or before it; when none is chosen, the first
 * one in sight, or the last one. Null when there is none.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} direction 1: after; -1: before
 * @returns {FilteredWait | null}
 */
export function besideWait(timeline, direction) {
	const { intervals, interval, view } = timeline;
	if (!intervals || !timeline.filter)
		return null;
	const { start } = intervals;
	/* Those that begin together are in the order of their numbers. */
	const from = interval >= 0 ? start[interval] : direction > 0 ? view.from : view.to;
	const number = interval >= 0 ? interval : direction > 0 ? -1 : start.length;
	/** @type {FilteredWait | null} */
	let best = null;
	let bestStart = direction * Infinity;
	let bestWait = direction * Infinity;
	forEachWait(timeline, (lane, wait, ns) => {
		const after = (start[wait] - from || wait - number) * direction;
		const nearer = (bestStart - start[wait] || bestWait - wait) * direction;
		if (after > 0 && nearer > 0) {
			best = { lane, wait, ns };
			bestStart = start[wait];
			bestWait = wait;
		}
	});
	return best;
}

/**
 * What is said of the filter where it can be taken away.
 * @param {import('./timeline.js').WaitFilter} filter
 */
export function filterFigures(filter) {
	const { ns, count } = sumFilter(filter);
	return `${count}${count === 1 ? ' wait' : ' waits'}, ${formatDuration(ns)}`;
}
