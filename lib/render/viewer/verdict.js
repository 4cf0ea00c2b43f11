// SPDX-License-Identifier: MIT
/* What the numbers say, in a few sentences. */

import { formatDuration, formatList, formatShare } from './format.js';
import { knownTime } from './report.js';
import { nameText, threadNames } from './thread_names.js';

/* Less waiting than this part of a life is nothing to speak of. */
const NOTICED = 0.02;
/* Who waited less than this part of what the first did, is told apart from it. */
const ALIKE = 0.5;
/* So much of the waiting makes one thread the one to blame. */
const BLAMED = 0.6;
/* So much of it makes a few threads those who take turns. */
const MOSTLY = 0.8;
/* So much of it that nobody held it for is worth a word. */
const NOTABLY = 0.3;
/* When so many of those who wait are those who hold it, they wait for each other. */
const ALMOST_ALL = 0.6;
const MOST_NAMES = 4;
const MOST_TURNS = 3;
/* A thread that runs Python code is asked for the GIL after this time, unless told otherwise. */
const SWITCH_NS = 5e6;

/* Who has no CPU for this part of the time in which it could run, is slow for that reason. */
const STARVED = 0.25;

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** @typedef {import('./report.js').Thread} Thread */
/** @typedef {import('./report.js').Process} Process */
/** @typedef {(visit: import('./report.js').VisitBlame) => void} EachBlame */
/** How long a thread holds the GIL, as far as it is known. @typedef {(process: Process, thread: Thread) => import('./report.js').Holds | undefined} HoldsOf */

/** @param {number} count */
function inWords(count) {
	return WORDS[count] ?? String(count);
}

/** @param {string} text */
function capital(text) {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What the threads of a process are called: of thousands, once. @type {WeakMap<Process, import('./thread_names.js').NameOf>} */
const namesOf = new WeakMap();

/**
 * How a sentence calls a thread.
 * @param {Process} process
 * @param {number} tid
 */
function calls(process, tid) {
	const names = namesOf.get(process) ?? threadNames([process]);
	namesOf.set(process, names);
	const thread = names(process.pid, tid);
	if (thread.main)
		return 'the main thread';
	if (!thread.named)
		return `thread ${tid}`;
	/* A name of letters that run from right to left shall not turn the sentence around. */
	const text = nameText({ ...thread, number: '' });
	const name = /^[ -~]*$/.test(text) ? text : `\u2068${text}\u2069`;
	return `“${name}”` + (thread.number ? ` (${thread.number})` : '');
}

/**
 * @param {Process} process
 * @param {number[]} tids
 */
function callAll(process, tids) {
	const names = tids.map((tid) => calls(process, tid));
	if (tids.length > 1 && names.every((name) => name.startsWith('thread ')))
		return `threads ${formatList(tids.map(String))}`;
	return formatList(names);
}

/**
 * A share in whole percent.
 * @param {number} part
 * @param {number} whole
 */
function percent(part, whole) {
	const share = (100 * part) / whole;
	if (share > 0 && share < 1)
		return `less than 1\u202f%`;
	return `${share > 99 && share < 100 ? 99 : Math.round(share)}\u202f%`;
}

/** @param {number} part @param {number} whole */
function during(part, whole) {
	return part === whole ? 'All that time' : `For ${percent(part, whole)} of that time`;
}

/**
 * A length as one says it: 40 ms, 5.2 ms.
 * @param {number} ns
 */
export function roundly(ns) {
	/** @type {[number, string][]} */
	const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
	const [scale, unit] = units.find(([size]) => ns >= 0.9995 * size) ?? units[3];
	return `${Number((ns / scale).toPrecision(2))}\u202f${unit}`;
}

/** @param {Thread[]} threads @param {(thread: Thread) => number} part */
function total(threads, part) {
	return threads.reduce((sum, thread) => sum + part(thread), 0);
}

/**
 * There may be more threads than a call has room for arguments.
 * @param {Thread[]} threads
 * @param {(thread: Thread) => number} part
 */
function greatest(threads, part) {
	return threads.reduce((most, thread) => Math.max(most, part(thread)), 0);
}

/** @param {import('./report.js').Summary} summary @returns {EachBlame} */
function blameOf(summary) {
	return (visit) => summary.blame.forEach(({ pid, waiter, holder, ns }) => visit(pid, waiter, holder, ns));
}

/** @param {Thread} thread */
function waitOf(thread) {
	return thread.gil_wait_ns ?? 0;
}

/** @param {Thread} thread */
function longestWait(thread) {
	return thread.wait_max_ns ?? 0;
}

/**
 * @param {import('./report.js').Summary} summary
 * @param {Process[]} shown
 * @param {HoldsOf} [holdsOf]
 * @param {EachBlame} [visitBlame]
 * @returns {string[]} sentences, the first of which says the most
 */
export function verdict(summary, shown, holdsOf = () => undefined, visitBlame = blameOf(summary)) {
	const threads = shown.flatMap((process) => process.threads);
	if (summary.probe === 'none')
		return ['The GIL was not watched in this run.', ...sleepSentence(threads)];
	if (summary.events === 0 || shown.length === 0)
		return ['No thread took the GIL while it was watched.'];
	if (total(threads, (thread) => (thread.has_gil_ns ?? 0) + waitOf(thread) + (thread.unknown_ns ?? 0)) === 0)
		return ['No thread ever held the GIL: it is off in this Python (a free-threaded build).'];

	/** @param {Process} process */
	const waited = (process) => total(process.threads, waitOf);
	const worst = shown.reduce((a, b) => (waited(b) > waited(a) ? b : a));
	/** @param {Thread} thread */
	const share = (thread) => waitOf(thread) / knownTime(thread);
	const waiters = worst.threads
		.filter((thread) => knownTime(thread) > 0 && waitOf(thread) >= NOTICED * knownTime(thread))
		.sort((a, b) => share(b) - share(a));
	if (waiters.length === 0) {
		const longest = greatest(threads, longestWait);
		return [
			'Nobody had to wait for the GIL to speak of' +
				(longest > 0 ? `: the longest wait was ${formatDuration(longest)}.` : '.'),
			...unknownSentence(threads),
		];
	}
	/* One that lived for a moment, and waited through it, is not what the run was about. */
	const most = greatest(waiters, waitOf);
	const first = waiters.find((thread) => waitOf(thread) >= 0.1 * most) ?? waiters[0];
	/* As the table has them: their order would else be that of small differences. */
	const known = new Set(waiters);
	const alike = worst.threads.filter((thread) => known.has(thread) && share(thread) >= ALIKE * share(first));
	const less = waiters.slice(alike.length);
	const where = shown.length > 1 ? ` of process ${worst.pid}` : '';
	const who =
		alike.length <= MOST_NAMES
			? callAll(worst, alike.map(({ tid }) => tid))
			: `${inWords(alike.length)} threads`;
	const life = alike.length > 1 ? 'their lives' : 'its life';
	const spent = percent(total(alike, waitOf), total(alike, knownTime));
	const others = less.length
		? `${inWords(less.length)} ${less.length > 1 ? 'others waited less, up to' : 'other waited less,'} ` +
			`${percent(share(less[0]), 1)}.`
		: '';
	return [
		capital(`${who}${where} spent ${spent} of ${life} waiting for the GIL.`),
		...holderSentences(worst, alike, holdsOf, visitBlame),
		...(others ? [capital(others)] : []),
		...(shown.length > 1 ? [`It is the one of ${inWords(shown.length)} processes whose threads waited most.`] : []),
		...unknownSentence(threads),
	];
}

/**
 * Who held it while some threads of a process waited, and for how long each time.
 * @param {Process} process
 * @param {Thread[]} waiters
 * @param {HoldsOf} holdsOf
 * @param {EachBlame} visitBlame
 * @returns {string[]}
 */
function holderSentences(process, waiters, holdsOf, visitBlame) {
	const tids = new Set(waiters.map(({ tid }) => tid));
	/** @type {Map<number | null, number>} */
	const sums = new Map();
	visitBlame((pid, waiter, holder, ns) => {
		if (pid === process.pid && tids.has(waiter))
			sums.set(holder, (sums.get(holder) ?? 0) + ns);
	});
	/* The smallest parts may not be in the page. */
	const all = total(waiters, waitOf);
	const nobody = sums.get(null) ?? 0;
	sums.delete(null);
	const holders = /** @type {[number, number][]} */ ([...sums]).sort((a, b) => b[1] - a[1]);
	if (all > 0 && nobody >= BLAMED * all)
		return [
			`${during(nobody, all)} nobody held it: it was being handed over, ` +
				'and whoever was to have it next had yet to run.',
		];
	if (holders.length === 0)
		return [];
	/* Nobody waits longer than for the whole of a hold: longer ones had no waiter. */
	const longest = greatest(waiters, longestWait);
	const threads = new Map(process.threads.map((thread) => [thread.tid, thread]));
	/** @param {number[]} list */
	const threadsOf = (list) => list.flatMap((tid) => threads.get(tid) ?? []);
	/** @param {number} tid */
	const burst = (tid) => {
		const thread = threads.get(tid);
		const half = (thread && holdsOf(process, thread)?.hold_half_ns) ?? 0;
		return half <= longest ? half : 0;
	};
	const [[top, held]] = holders;
	if (held >= BLAMED * all) {
		const half = burst(top);
		const bursts = half > 0 ? `, mostly in bursts of about ${roundly(half)}` : '';
		return [
			`${during(held, all)} ${calls(process, top)} held it${bursts}.`,
			...(half >= 2 * SWITCH_NS ? longHoldSentences(threadsOf([top])) : []),
		];
	}
	/** @param {[number, number][]} list */
	const sum = (list) => list.reduce((added, [, ns]) => added + ns, 0);
	/* Where too much is not in the page, how long each held it at all has to do. */
	const isCut = sum(holders) + nobody < MOSTLY * all;
	const keepers = isCut
		? process.threads
				.map(({ tid, has_gil_ns: ns }) => /** @type {[number, number]} */ ([tid, ns ?? 0]))
				.sort((a, b) => b[1] - a[1])
		: holders;
	/* What nobody held is nobody's: it is told for itself. */
	const most = MOSTLY * sum(keepers);
	let few = 0;
	let part = 0;
	while (few < keepers.length && part < most)
		part += keepers[few++][1];
	const takers = keepers.slice(0, few).map(([tid]) => tid);
	const turn = middle(keepers.slice(0, few).map(([tid, ns]) => [burst(tid), ns]));
	const long =
		turn === 0
			? ''
			: turn >= 0.85 * SWITCH_NS && turn <= 1.4 * SWITCH_NS
				? ` of about ${roundly(turn)}, Python's switch interval`
				: ` of about ${roundly(turn)}`;
	const free =
		nobody >= NOTABLY * all
			? [`For ${percent(nobody, all)} nobody held it: it was being handed over.`]
			: [];
	const why = turn >= 2 * SWITCH_NS ? longHoldSentences(threadsOf(takers)) : [];
	const areWaiters = takers.every((tid) => tids.has(tid));
	if (few <= MOST_TURNS && !isCut && !(areWaiters && few === tids.size))
		return [
			`${during(part, all)} ${callAll(process, takers)} held it${few > 1 ? `, in turns${long}` : ''}.`,
			...free,
			...why,
		];
	const nobodys = `${long}: no single one of them is to blame.`;
	if (areWaiters && few >= ALMOST_ALL * tids.size)
		return [`They took turns${nobodys}`, ...free, ...why];
	if (isCut)
		return [`${capital(inWords(few))} threads took turns${nobodys}`, ...free, ...why];
	return [`${during(part, all)} ${inWords(few)} threads held it, in turns${nobodys}`, ...free, ...why];
}

/**
 * The middle of lengths, each of some weight.
 * @param {[number, number][]} lengths and their weights
 */
function middle(lengths) {
	const half = lengths.reduce((sum, [, weight]) => sum + weight, 0) / 2;
	let sum = 0;
	for (const [length, weight] of lengths.sort((a, b) => a[0] - b[0])) {
		sum += weight;
		if (sum >= half)
			return length;
	}
	return 0;
}

/**
 * Why threads hold the GIL for longer than Python code does when somebody waits.
 * @param {Thread[]} threads
 * @returns {string[]}
 */
function longHoldSentences(threads) {
	const known = threads.every(({ state }) => state !== null);
	const running = total(threads, ({ state }) => state?.running_ns ?? 0);
	const runnable = total(threads, ({ state }) => state?.runnable_ns ?? 0);
	if (known && runnable >= STARVED * (running + runnable) && runnable > 0) {
		const whose = threads.length > 1 ? 'they' : 'it';
		const part = percent(runnable, running + runnable);
		return [`For ${part} of the time in which ${whose} could have run, ${whose} had no CPU.`];
	}
	const because = known ? 'mostly C code that does not' : 'C code that does not, or had no CPU meanwhile';
	return [`Python code lets go after 5\u202fms when asked to: longer holds are ${because}.`];
}

/**
 * How much is not known.
 * @param {Thread[]} threads
 * @returns {string[]}
 */
function unknownSentence(threads) {
	const unknown = total(threads, (thread) => thread.unknown_ns ?? 0);
	if (unknown === 0)
		return [];
	const whole = total(threads, (thread) => thread.total_ns);
	return [`Events were lost: of ${formatShare(unknown, whole)} of the threads' time nothing is known.`];
}

/**
 * What the scheduler tells of the GIL when nobody watched it.
 * @param {Thread[]} threads
 * @returns {string[]}
 */
function sleepSentence(threads) {
	const slept = total(threads, (thread) => thread.state?.sleep_gil_ns ?? 0);
	if (slept === 0)
		return [];
	return [`By their stacks, its threads slept ${formatDuration(slept)} in all while they waited for it.`];
}
