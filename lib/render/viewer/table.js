// SPDX-License-Identifier: MIT
/* The summary: one row a thread, grouped by process. */

import { byId, make } from './dom.js';
import { formatCount, formatDuration, formatName, formatShare, visibleText } from './format.js';
import { shownProcesses } from './head.js';
import { knownStateTime, knownTime } from './report.js';

/** @typedef {import('./report.js').Thread} Thread */

/** @type {[string, string, keyof Thread, string][]} kind, heading, key, explanation */
const SHARES = [
	['has', 'has', 'has_gil_ns', 'held the GIL'],
	['wait', 'waits', 'gil_wait_ns', 'waited for the GIL'],
	['no', 'neither', 'no_gil_ns', 'neither had nor wanted the GIL'],
	['unknown', 'unknown', 'unknown_ns', 'its events are missing'],
];

/** @param {Thread} thread */
function bar(thread) {
	const element = make('div', 'bar');
	const texts = [];
	for (const [kind, , key, explanation] of SHARES) {
		const ns = /** @type {number | null} */ (thread[key]);
		if (!ns || thread.total_ns === 0)
			continue;
		const part = make('span', kind);
		part.style.width = (100 * ns) / thread.total_ns + '%';
		part.title = `${formatDuration(ns)}: ${explanation}`;
		element.append(part);
		texts.push(`${formatShare(ns, thread.total_ns)} ${explanation}`);
	}
	element.setAttribute('role', 'img');
	element.setAttribute('aria-label', texts.join(', '));
	return element;
}

/**
 * A cell with the number itself in data-value, as the summary has it.
 * @param {string} text
 * @param {number | null} value
 * @param {string} [className]
 */
function cell(text, value, className) {
	const element = make('td', className ?? 'number', text);
	element.dataset.value = String(value);
	return element;
}

/** @type {[keyof import('./report.js').State, string][]} */
const STATE_PARTS = [
	['running_ns', 'on a CPU'],
	['runnable_ns', 'could have run, and had no CPU'],
	['sleep_ns', 'asleep'],
	['sleep_gil_ns', 'of that for the GIL'],
	['unknown_ns', 'unknown'],
];

/**
 * How much a thread was on a CPU; beside the number, what it did the rest of its life.
 * @param {Thread} thread
 */
function stateCell(thread) {
	const { state } = thread;
	const running = state ? state.running_ns : null;
	const element = cell(formatShare(running, knownStateTime(thread)), running);
	element.title = STATE_PARTS.filter(([key]) => state?.[key])
		.map(([key, text]) => `${formatDuration(state?.[key] ?? null)}: ${text}`)
		.join('\n');
	return element;
}

/**
 * @param {Thread} thread
 * @param {boolean} unknown whether there is a column for it
 * @param {boolean} states likewise
 */
function row(thread, unknown, states) {
	const name = make('th', 'thread', make('bdi', '', formatName(thread.name)));
	name.scope = 'row';
	if (thread.main)
		name.append(make('span', 'main', '* main'));
	const element = make('tr', '', name, cell(String(thread.tid), thread.tid), make('td', '', bar(thread)));
	for (const [kind, , key] of SHARES) {
		if (kind === 'unknown' && !unknown)
			continue;
		const ns = /** @type {number | null} */ (thread[key]);
		const whole = kind === 'unknown' ? thread.total_ns : knownTime(thread);
		const share = cell(formatShare(ns, whole), ns, 'number share ' + kind);
		share.title = formatDuration(ns);
		element.append(share);
	}
	if (states)
		element.append(stateCell(thread));
	const contended = cell(formatCount(thread.contended), thread.contended);
	if (thread.contended)
		contended.append(
			make('span', 'part', ` · ${formatShare(thread.contended, thread.acquired ?? 0)}`),
		);
	element.append(
		cell(formatDuration(thread.total_ns), thread.total_ns),
		cell(formatCount(thread.acquired), thread.acquired),
		contended,
	);
	for (const key of /** @type {const} */ (['wait_p50_ns', 'wait_p99_ns', 'wait_max_ns']))
		element.append(cell(thread.has_gil_ns === null ? '–' : formatDuration(thread[key]), thread[key]));
	return element;
}

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {(process: import('./report.js').Process, thread: Thread) => void} choose
 */
export function showTable(report, choose) {
	const shown = shownProcesses(report);
	const unknown = shown.some((process) => process.threads.some((thread) => thread.unknown_ns));
	const states = report.states !== undefined;
	const table = byId('threads');
	/** @type {[string, string][]} */
	const headings = [
		['Thread', ''],
		['tid', 'number'],
		['Share of its life', 'wide'],
		...SHARES.filter(([kind]) => kind !== 'unknown' || unknown).map(
			([, heading]) => /** @type {[string, string]} */ ([heading, 'number']),
		),
		...(states ? [/** @type {[string, string]} */ (['on CPU', 'number'])] : []),
		['total', 'number'],
		['acquired', 'number'],
		['contended', 'number'],
		['wait p50', 'number'],
		['p99', 'number'],
		['max', 'number'],
	];
	const head = make('tr', '');
	for (const [text, className] of headings) {
		const heading = make('th', className, text);
		heading.scope = 'col';
		head.append(heading);
	}
	table.append(make('thead', '', head));
	for (const process of shown) {
		const body = make('tbody', '');
		const version = process.python?.version;
		const heading = make(
			'th',
			'process',
			make('bdi', '', visibleText(process.command)),
			make('span', 'pid', ` pid ${process.pid}${version ? ` · Python ${version}` : ''}`),
		);
		heading.colSpan = headings.length;
		heading.scope = 'rowgroup';
		body.append(make('tr', 'group', heading));
		for (const thread of process.threads) {
			const element = row(thread, unknown, states);
			element.addEventListener('click', () => choose(process, thread));
			body.append(element);
		}
		table.append(body);
	}
	if (shown.length === 0)
		byId('summary').append(make('p', 'empty', 'No process with a GIL was seen.'));
}
