// SPDX-License-Identifier: MIT
/*
 * The figures of threads in a range of the trace, from their intervals: what the summary says, had the
 * trace been no longer. Of the whole trace they are the summary's own.
 */

import { KIND_HAS, KIND_UNKNOWN, KIND_WAIT, firstEndingAfter, noSums, sumRange } from './lanes.js';
import { watchesGil } from './report.js';

/* So many intervals are counted before others have their turn. */
const TURN = 1 << 16;
/** @type {Float64Array} */
const NOTHING = new Float64Array(0);

/**
 * @typedef {object} Data
 * @property {import('./report.js').ReportMeta} report
 * @property {import('./lanes.js').Lane[]} lanes
 * @property {import('./lanes.js').Intervals} intervals
 * @property {import('./lanes.js').Intervals | null} states
 */

/** @typedef {{from: number, to: number}} Range */
/** @typedef {import('./thread_columns.js').Figures} Figures */

/**
 * What cannot be summed up, but is counted, interval by interval.
 * @typedef {object} Counts
 * @property {number} acquired
 * @property {number} contended
 * @property {number | null} p50 null: it has not waited
 * @property {number | null} p99
 * @property {number | null} max
 * @property {number} sleepGil
 */

/**
 * The part of a thread's life in the range.
 * @param {import('./lanes.js').Span} span
 * @param {Range} range
 * @returns {Range}
 */
function lifeIn(span, { from, to }) {
	const start = Math.max(from, span.start);
	return { from: start, to: Math.max(start, Math.min(to, span.end)) };
}

/**
 * Time by kind; of a range that is empty, none.
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Span} span
 * @param {Range} life
 */
function sumLife(intervals, span, { from, to }) {
	return from < to ? sumRange(intervals, span, from, to).sums : noSums(intervals.kinds);
}

/**
 * On and off CPU in the range; what the summary does not know is not known here either.
 * @param {Data} data
 * @param {import('./lanes.js').Lane} lane
 * @param {Range} life
 * @param {Counts | null} counts
 */
function stateFigures({ report, states }, lane, life, counts) {
	const { state } = lane.thread;
	if (!state || !states || !lane.states)
		return { state: null, reasons: [] };
	const sums = sumLife(states, lane.states, life);
	/** @type {Map<string, number>} */
	const byState = new Map();
	/** @type {[string, number][]} */
	const reasons = [];
	(report.state_kinds ?? []).forEach((kind, place) => {
		const ns = sums[place + 1];
		byState.set(kind.state, (byState.get(kind.state) ?? 0) + ns);
		if (kind.state === 'sleeping' && kind.reason && ns > 0)
			reasons.push([kind.reason, ns]);
	});
	/** @param {string} name */
	const sum = (name) => byState.get(name) ?? 0;
	const awake = sum('running') + sum('runnable') + sum('unknown') + sum('uninterruptible');
	const forGil = watchesGil(report)
		? (counts?.sleepGil ?? null)
		: (reasons.find(([name]) => name === 'GIL')?.[1] ?? 0);
	return {
		state: {
			running_ns: sum('running'),
			runnable_ns: sum('runnable'),
			/* Sleeps of which nothing is known are not in the list. */
			sleep_ns: life.to - life.from - awake,
			sleep_gil_ns: state.sleep_gil_ns === null ? null : forGil,
			disk_ns: state.disk_ns === null ? null : sum('uninterruptible'),
			unknown_ns: sum('unknown'),
		},
		reasons,
	};
}

/**
 * The figures of a thread in the range. Sums cost the same whatever the range.
 * @param {Data} data
 * @param {import('./lanes.js').Lane} lane
 * @param {Range} range
 * @param {Counts | null} counts null: not yet
 * @param {string} [unknowable] why there will be none
 * @returns {Figures}
 */
export function rangeFigures(data, lane, range, counts, unknowable) {
	const { thread } = lane;
	const life = lifeIn(lane, range);
	const total_ns = life.to - life.from;
	const sums = sumLife(data.intervals, lane, life);
	const isKnown = thread.has_gil_ns !== null;
	const isRough = thread.unknown_ns || data.report.summary.inferred > 0;
	return {
		...thread,
		total_ns,
		has_gil_ns: isKnown ? sums[KIND_HAS] : null,
		gil_wait_ns: isKnown ? sums[KIND_WAIT] : null,
		no_gil_ns: isKnown ? total_ns - sums[KIND_HAS] - sums[KIND_WAIT] - sums[KIND_UNKNOWN] : null,
		unknown_ns: thread.unknown_ns === null ? null : sums[KIND_UNKNOWN],
		acquired: isKnown && counts ? counts.acquired : null,
		contended: isKnown && counts ? counts.contended : null,
		switched: null,
		wait_p50_ns: isKnown && counts ? counts.p50 : null,
		wait_p99_ns: isKnown && counts ? counts.p99 : null,
		wait_max_ns: isKnown && counts ? counts.max : null,
		...stateFigures(data, lane, life, counts),
		pending: isKnown && !counts,
		rough: isRough ? 'About so many: events are missing, and some holds only follow from others.' : undefined,
		unknowable,
	};
}

/**
 * The value that would be at RANK if the first COUNT values were in order (Hoare's quickselect).
 * @param {Float64Array} values
 * @param {number} count
 * @param {number} rank
 */
function selectRank(values, count, rank) {
	let low = 0;
	let high = count - 1;
	while (low < high) {
		const pivot = values[(low + high) >>> 1];
		let i = low;
		let j = high;
		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			const value = values[i];
			values[i++] = values[j];
			values[j--] = value;
		}
		if (rank <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[rank];
}

/**
 * Nearest rank: the smallest value that at least PERCENT of all do not exceed.
 * @param {Float64Array} values
 * @param {number} count
 * @param {number} percent
 */
function percentile(values, count, percent) {
	return count === 0 ? null : selectRank(values, count, Math.floor((count * percent + 99) / 100) - 1);
}

/**
 * How far a thread's intervals have been walked through.
 * @typedef {object} Walk
 * @property {import('./lanes.js').Lane} lane
 * @property {number} next interval that has not been walked through
 * @property {number} nextEnd likewise, where the ends of holds are collected
 * @property {number} last behind the last that begins in the range
 * @property {number} since when it has been waiting for its first acquisition
 * @property {number} lastKind of the interval before; 0: neither had nor wanted it
 * @property {number} lastEnd of it
 * @property {number} pending what it has waited since its hold before
 * @property {number} want since when it has been waiting without a break
 * @property {number} acquired
 * @property {number} contended
 * @property {Float64Array} waits
 * @property {number} waitCount
 */

/**
 * Starts where a thread had the GIL last before the range: its next acquisition has waited since.
 * @param {Data} data
 * @param {import('./lanes.js').Lane} lane
 * @param {Range} range
 * @returns {Walk}
 */
function startWalk({ intervals }, lane, range) {
	const { start, kind } = intervals;
	let first = firstEndingAfter(intervals, lane.first, lane.last, range.from);
	let last = firstEndingAfter(intervals, first, lane.last, range.to);
	if (last < lane.last && start[last] < range.to)
		last++;
	let since = range.from;
	while (first > lane.first && kind[first - 1] === KIND_WAIT)
		first--;
	if (first < last && kind[first] === KIND_WAIT)
		since = Math.min(since, start[first]);
	if (first > lane.first)
		first--;
	/* Its life may end with a wait, besides. */
	let holds = 1;
	for (let i = first; i < last; i++)
		holds += Number(kind[i] === KIND_HAS);
	return {
		lane,
		next: first,
		nextEnd: first,
		last,
		since,
		lastKind: 0,
		lastEnd: lane.start,
		pending: 0,
		want: lane.start,
		acquired: 0,
		contended: 0,
		waits: new Float64Array(holds),
		waitCount: 0,
	};
}

/**
 * The ends of holds until a moment, in order, of each GIL: of those before, the last only.
 * @param {Data} data
 * @param {Walk[]} walks
 * @param {Map<number, Float64Array>} before
 * @param {number} until
 */
function collectEnds({ intervals }, walks, before, until) {
	const { end, kind, gil } = intervals;
	/** @type {Map<number, number[]>} */
	const ends = new Map();
	for (const [number, list] of before)
		ends.set(number, [list[list.length - 1]]);
	for (const walk of walks)
		for (; walk.nextEnd < walk.last && end[walk.nextEnd] <= until; walk.nextEnd++) {
			if (kind[walk.nextEnd] !== KIND_HAS)
				continue;
			const list = ends.get(gil[walk.nextEnd]);
			if (list)
				list.push(end[walk.nextEnd]);
			else
				ends.set(gil[walk.nextEnd], [end[walk.nextEnd]]);
		}
	return new Map([...ends].map(([number, list]) => [number, Float64Array.from(list).sort()]));
}

/**
 * The place in ENDS behind the last that is not behind TIME, which is at FROM or behind it. Cheap when it is
 * near.
 * @param {Float64Array} ends
 * @param {number} from
 * @param {number} time
 */
function behindLast(ends, from, time) {
	let low = from;
	let step = 1;
	while (low + step <= ends.length && ends[low + step - 1] <= time) {
		low += step;
		step *= 2;
	}
	let high = Math.min(ends.length, low + step - 1);
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (ends[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/**
 * Walks through the intervals of a thread that begin before UNTIL, and counts from the range's start on.
 * What an acquisition has waited is all waiting since the thread's hold before; what comes out of a gap is
 * none. It was contended when somebody's hold of the same GIL ended while it waited.
 * @param {Data} data
 * @param {Walk} walk
 * @param {number} from
 * @param {number} until
 * @param {Map<number, Float64Array>} ends
 */
function walkUntil({ intervals }, walk, from, until, ends) {
	const { start, end, kind, gil } = intervals;
	const { lane } = walk;
	let current = -1;
	let list = NOTHING;
	let place = 0;
	for (; walk.next < walk.last && start[walk.next] < until; walk.next++) {
		const i = walk.next;
		const isAdjacent = start[i] === walk.lastEnd;
		const lastKind = isAdjacent ? walk.lastKind : 0;
		if (kind[i] === KIND_WAIT) {
			if (lastKind !== KIND_WAIT)
				walk.want = start[i];
			walk.pending += end[i] - start[i];
		} else {
			if (kind[i] === KIND_HAS && start[i] >= from) {
				/* What a child of fork() is born with, nobody has given to it. */
				const isGiven = start[i] > lane.start;
				if (isGiven)
					walk.acquired++;
				if (isGiven && lastKind !== KIND_HAS && lastKind !== KIND_UNKNOWN)
					walk.waits[walk.waitCount++] = walk.pending;
				/* Nobody knows since when it wanted it, if that was before its events begin. */
				if (lastKind === KIND_WAIT && walk.want > lane.start) {
					if (gil[i] !== current) {
						current = gil[i];
						list = ends.get(current) ?? NOTHING;
						place = 0;
					}
					place = behindLast(list, place, start[i]);
					if (place > 0 && list[place - 1] > walk.want)
						walk.contended++;
				}
			}
			walk.pending = 0;
		}
		walk.lastKind = kind[i];
		walk.lastEnd = end[i];
	}
}

/**
 * How long a thread slept while it waited for the GIL.
 * @param {Data} data
 * @param {import('./lanes.js').Lane} lane
 * @param {Range} range
 */
function sumSleepForGil({ report, intervals, states }, lane, range) {
	const span = lane.states;
	const life = lifeIn(lane, range);
	if (!states || !span || !lane.thread.state || life.from >= life.to)
		return 0;
	const isSleep = [true, ...(report.state_kinds ?? []).map(({ state }) => state === 'sleeping')];
	let i = firstEndingAfter(intervals, lane.first, lane.last, life.from);
	let j = firstEndingAfter(states, span.first, span.last, life.from);
	let sum = 0;
	for (; i < lane.last && intervals.start[i] < life.to; i++) {
		if (intervals.kind[i] !== KIND_WAIT)
			continue;
		const from = Math.max(intervals.start[i], life.from);
		const to = Math.min(intervals.end[i], life.to);
		sum += to - from;
		j = firstEndingAfter(states, j, span.last, from);
		for (let k = j; k < span.last && states.start[k] < to; k++)
			if (!isSleep[states.kind[k]])
				sum -= Math.min(states.end[k], to) - Math.max(states.start[k], from);
	}
	return sum;
}

/**
 * @param {Data} data
 * @param {Walk} walk
 * @param {Range} range
 * @returns {Counts}
 */
function finishWalk(data, walk, range) {
	const { lane, waits } = walk;
	/* It never got it: its life ended with a wait. */
	const isWaiting = walk.next === lane.last && walk.lastKind === KIND_WAIT && walk.lastEnd === lane.end;
	if (isWaiting && lane.end > range.from && lane.end <= range.to)
		waits[walk.waitCount++] = walk.pending;
	const count = walk.waitCount;
	return {
		acquired: walk.acquired,
		contended: walk.contended,
		p50: percentile(waits, count, 50),
		p99: percentile(waits, count, 99),
		max: percentile(waits, count, 100),
		sleepGil: sumSleepForGil(data, lane, range),
	};
}

/**
 * Counts, in turns: each step does as much as does not hold up others. The result has its place by lane.
 * @param {Data} data
 * @param {Range} range
 * @returns {Generator<void, Counts[]>}
 */
export function* countRange(data, range) {
	/** @type {Counts[]} */
	const counts = [];
	/** @type {Map<import('./report.js').Process, Walk[]>} */
	const processes = new Map();
	for (const lane of data.lanes) {
		const walks = processes.get(lane.process) ?? [];
		const walk = startWalk(data, lane, range);
		walks.push(walk);
		processes.set(lane.process, walks);
		if (walk.last - walk.next > TURN)
			yield;
	}
	for (const walks of processes.values()) {
		/* Whatever hold may have ended while one of them waited. */
		const since = walks.reduce((least, walk) => Math.min(least, walk.since), range.from);
		for (const walk of walks)
			walk.nextEnd = firstEndingAfter(data.intervals, walk.lane.first, walk.last, since);
		const size = walks.reduce((sum, walk) => sum + walk.last - walk.next, 0);
		const turns = Math.ceil(size / TURN) + 1;
		/** @type {Map<number, Float64Array>} */
		let ends = new Map();
		for (let turn = 1; turn <= turns; turn++) {
			const until = turn < turns ? range.from + ((range.to - range.from) * turn) / turns : range.to;
			ends = collectEnds(data, walks, ends, until);
			for (const walk of walks)
				walkUntil(data, walk, range.from, until, ends);
			yield;
		}
		for (const walk of walks) {
			counts[walk.lane.index] = finishWalk(data, walk, range);
			if (walk.waitCount > TURN / 8)
				yield;
			walk.waits = NOTHING;
		}
	}
	return counts;
}
