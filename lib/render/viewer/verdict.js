// SPDX-License-Identifier: MIT
/* What the numbers say, in a sentence or two. */

import { formatDuration, formatList, formatName, formatShare } from './format.js';
import { knownTime } from './report.js';

/* Less waiting than this part of a life is nothing to speak of. */
const NOTICED = 0.02;
/* So much of a process's waiting makes one thread the one to blame. */
const BLAMED = 0.6;
const MOST_NAMES = 3;

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** @param {number} count */
function inWords(count) {
	return WORDS[count] ?? String(count);
}

/** @param {string} text */
function capital(text) {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * A thread that was given no name has its process's.
 * @param {import('./report.js').Process} process
 * @param {import('./report.js').Thread} thread
 */
function threadLabel(process, thread) {
	if (thread.main)
		return 'the main thread';
	if (thread.name === process.command)
		return `thread ${thread.tid}`;
	return `“${formatName(thread.name)}” (${thread.tid})`;
}

/**
 * @param {import('./report.js').Thread[]} threads
 * @param {(thread: import('./report.js').Thread) => number} part
 */
function shareRange(threads, part) {
	const shares = threads.map((thread) => part(thread) / knownTime(thread));
	const low = Math.round(Math.min(...shares) * 100);
	const high = Math.round(Math.max(...shares) * 100);
	return low === high ? `${low}\u202f%` : `${low} to ${high}\u202f%`;
}

/**
 * @param {import('./report.js').Summary} summary
 * @param {import('./report.js').Process[]} shown
 * @returns {string[]} sentences
 */
export function verdict(summary, shown) {
	if (summary.probe === 'none')
		return ['The GIL was not watched in this run.'];
	if (summary.events === 0 || shown.length === 0)
		return ['No thread took the GIL while it was watched.'];

	/** @param {import('./report.js').Process} process */
	const waited = (process) =>
		process.threads.reduce((sum, thread) => sum + (thread.gil_wait_ns ?? 0), 0);
	const worst = shown.reduce((a, b) => (waited(b) > waited(a) ? b : a));
	const waiters = worst.threads.filter(
		(thread) => knownTime(thread) > 0 && (thread.gil_wait_ns ?? 0) >= NOTICED * knownTime(thread),
	);
	if (waiters.length === 0) {
		const most = Math.max(
			...shown.flatMap((process) =>
				process.threads.map((thread) => thread.wait_max_ns ?? 0),
			),
		);
		return [
			'Nobody had to wait for the GIL to speak of' +
				(most > 0 ? `: the longest wait was ${formatDuration(most)}.` : '.'),
		];
	}

	const where = shown.length > 1 ? ` of process ${worst.pid}` : '';
	const names = waiters.length <= MOST_NAMES ? formatList(waiters.map((thread) => threadLabel(worst, thread))) : '';
	const who = names || `${inWords(waiters.length)} threads`;
	const share = shareRange(waiters, (thread) => thread.gil_wait_ns ?? 0);
	const each = waiters.length > 1 ? ' each' : '';
	const life = waiters.length > 1 ? 'their lives' : 'its life';
	const first = `${who}${where}${each} spent ${share} of ${life} waiting for the GIL.`;
	return [capital(first), ...holderSentence(summary, worst)];
}

/**
 * @param {import('./report.js').Summary} summary
 * @param {import('./report.js').Process} process
 * @returns {string[]}
 */
function holderSentence(summary, process) {
	const blame = summary.blame.filter((entry) => entry.pid === process.pid);
	/* The smallest parts may not be in the page. */
	const total = process.threads.reduce((sum, thread) => sum + (thread.gil_wait_ns ?? 0), 0);
	/** @type {Map<number | null, number>} */
	const holders = new Map();
	for (const { holder, ns } of blame)
		holders.set(holder, (holders.get(holder) ?? 0) + ns);
	const nobody = holders.get(null) ?? 0;
	holders.delete(null);
	const [top] = [...holders].sort((a, b) => b[1] - a[1]);
	if (total > 0 && nobody >= BLAMED * total)
		return [`For ${formatShare(nobody, total)} of that time nobody held it: it was being handed over.`];
	if (!top)
		return [];
	const share = formatShare(top[1], total);
	const thread = process.threads.find((candidate) => candidate.tid === top[0]);
	const name = thread ? threadLabel(process, thread) : `thread ${top[0]}`;
	if (top[1] >= BLAMED * total)
		return [`For ${share} of that time ${name} held it.`];
	const held = process.threads.filter(
		(candidate) => (candidate.has_gil_ns ?? 0) >= 0.05 * candidate.total_ns,
	);
	/* Among many threads none has much of it. */
	const count = held.length > 1 ? held.length : holders.size;
	return [`${capital(inWords(count))} threads took turns: no single one of them is to blame.`];
}
