// SPDX-License-Identifier: MIT
/* The summary: one row a thread, grouped by process. */

import { byId, make } from './dom.js';
import { formatCount, formatDuration, formatName, formatShare, visibleText } from './format.js';
import { shownProcesses } from './head.js';
import { knownStateTime, knownTime, watchesGil } from './report.js';

/* What more there are, is told when one points at them. */
const MOST_REASONS = 3;

/** @typedef {import('./report.js').Thread} Thread */
/** @typedef {import('./report.js').Process} Process */
/** What a click at a thread does. @typedef {(process: Process, thread: Thread) => void} Choose */

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

/**
 * The cells that say which thread a row is about.
 * @param {Thread} thread
 */
function threadCells(thread) {
	const name = make('th', 'thread', make('bdi', '', formatName(thread.name)));
	name.scope = 'row';
	if (thread.main)
		name.append(make('span', 'main', '* main'));
	return [name, cell(String(thread.tid), thread.tid)];
}

/**
 * @param {Thread} thread
 * @param {boolean} unknown whether there is a column for it
 */
function row(thread, unknown) {
	const element = make('tr', '', ...threadCells(thread), make('td', '', bar(thread)));
	for (const [kind, , key] of SHARES) {
		if (kind === 'unknown' && !unknown)
			continue;
		const ns = /** @type {number | null} */ (thread[key]);
		const whole = kind === 'unknown' ? thread.total_ns : knownTime(thread);
		const share = cell(formatShare(ns, whole), ns, 'number share ' + kind);
		share.title = formatDuration(ns);
		element.append(share);
	}
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
 * Fills a table: one row a thread, below its process.
 * @param {HTMLTableElement} table
 * @param {[string, string][]} headings text and class
 * @param {Process[]} processes
 * @param {(thread: Thread) => HTMLTableRowElement} makeRow
 * @param {Choose} choose
 */
function fillTable(table, headings, processes, makeRow, choose) {
	const head = make('tr', '');
	for (const [text, className] of headings) {
		const heading = make('th', className, text);
		heading.scope = 'col';
		head.append(heading);
	}
	table.append(make('thead', '', head));
	for (const process of processes) {
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
			const element = makeRow(thread);
			element.addEventListener('click', () => choose(process, thread));
			body.append(element);
		}
		table.append(body);
	}
}

/** @type {[string, string][]} */
const THREAD_HEADINGS = [
	['Thread', ''],
	['tid', 'number'],
	['Share of its life', 'wide'],
];

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {Choose} choose
 */
export function showTable(report, choose) {
	const shown = shownProcesses(report);
	const unknown = shown.some((process) => process.threads.some((thread) => thread.unknown_ns));
	/** @type {[string, string][]} */
	const headings = [
		...THREAD_HEADINGS,
		...SHARES.filter(([kind]) => kind !== 'unknown' || unknown).map(
			([, heading]) => /** @type {[string, string]} */ ([heading, 'number']),
		),
		['total', 'number'],
		['acquired', 'number'],
		['contended', 'number'],
		['wait p50', 'number'],
		['p99', 'number'],
		['max', 'number'],
	];
	byId('gil-table').hidden = !watchesGil(report) && report.states !== undefined;
	fillTable(
		/** @type {HTMLTableElement} */ (byId('threads')),
		headings,
		shown,
		(thread) => row(thread, unknown),
		choose,
	);
	if (shown.length === 0)
		byId('gil-table').append(make('p', 'empty', 'No process with a GIL was seen.'));
}

/** @type {[keyof import('./report.js').State, string, string, string][]} key, heading, swatch, explanation */
const STATE_SHARES = [
	['running_ns', 'on CPU', 'running', 'on a CPU'],
	['runnable_ns', 'could run', 'runnable', 'could have run, and had no CPU'],
	['sleep_ns', 'sleeps', 'no', 'asleep'],
	['sleep_gil_ns', 'for the GIL', 'sleep-gil', 'of that for the GIL'],
	['disk_ns', 'disk', 'sleep-disk', 'asleep for a disk, or what cannot be interrupted'],
	['unknown_ns', 'unknown', 'unknown', 'not known'],
];

/** @param {Thread} thread */
function stateBar(thread) {
	const { state } = thread;
	const element = make('div', 'bar');
	const texts = [];
	/* What is nothing but asleep comes last, and is left empty. */
	const parts = [...STATE_SHARES].sort((a, b) => Number(a[0] === 'sleep_ns') - Number(b[0] === 'sleep_ns'));
	for (const [key, , swatch, explanation] of parts) {
		const ns = state?.[key];
		if (!state || !ns || thread.total_ns === 0)
			continue;
		texts.push(`${formatShare(ns, thread.total_ns)} ${explanation}`);
		const part = make('span', swatch);
		/* That for the GIL is a part of all sleep. */
		const shown = key === 'sleep_ns' ? ns - (state.sleep_gil_ns ?? 0) : ns;
		part.style.width = (100 * shown) / thread.total_ns + '%';
		part.title = `${formatDuration(ns)}: ${explanation}`;
		element.append(part);
	}
	element.setAttribute('role', 'img');
	element.setAttribute('aria-label', texts.join(', '));
	return element;
}

/**
 * What a thread slept for, most first.
 * @param {Thread} thread
 * @param {[string, number][]} reasons
 */
function reasonCell(thread, reasons) {
	const known = knownStateTime(thread);
	const texts = reasons
		.filter(([name, ns]) => name !== 'GIL' && ns >= known / 1000)
		.sort((a, b) => b[1] - a[1])
		.map(([name, ns]) => `${name} ${formatShare(ns, known)}`);
	const element = make('td', 'reasons', texts.slice(0, MOST_REASONS).join(' · '));
	element.title = texts.join('\n');
	return element;
}

/**
 * The table of being on and off CPU, where that was recorded.
 * @param {import('./report.js').ReportMeta} report
 * @param {Choose} choose
 */
export function showStates(report, choose) {
	const shown = shownProcesses(report);
	const threads = shown.flatMap((process) => process.threads);
	/* Without stacks nobody knows of a disk; without stacks and probes, of the GIL. */
	const shares = STATE_SHARES.filter(
		([key]) =>
			key === 'running_ns' ||
			threads.some(({ state }) => (key === 'unknown_ns' ? state?.[key] : (state?.[key] ?? null) !== null)),
	);
	const hasReasons = report.lanes.some((lane) => lane.reasons?.some(([name]) => name !== 'GIL'));
	const reasons = new Map(
		report.lanes.map((lane) => [
			report.summary.processes[lane.process].threads[lane.thread],
			lane.reasons ?? [],
		]),
	);

	byId('states').hidden = report.states === undefined;
	if (report.states === undefined)
		return;
	fillTable(
		/** @type {HTMLTableElement} */ (byId('states-table')),
		[
			...THREAD_HEADINGS,
			...shares.map(([, heading]) => /** @type {[string, string]} */ ([heading, 'number'])),
			...(hasReasons ? [/** @type {[string, string]} */ (['sleeps mostly for', 'reasons'])] : []),
			['total', 'number'],
		],
		shown,
		(thread) => {
			const element = make('tr', '', ...threadCells(thread), make('td', '', stateBar(thread)));
			for (const [key] of shares) {
				const ns = thread.state?.[key] ?? null;
				const share = cell(formatShare(ns, knownStateTime(thread)), ns, 'number share');
				share.title = formatDuration(ns);
				element.append(share);
			}
			if (hasReasons)
				element.append(reasonCell(thread, reasons.get(thread) ?? []));
			element.append(cell(formatDuration(thread.total_ns), thread.total_ns));
			return element;
		},
		choose,
	);
}
