// SPDX-License-Identifier: MIT
/* The part of the page about who kept whom waiting, and the waits that it lets one choose. */

import { onChange } from './changes.js';
import { byId, make } from './dom.js';
import { applyFilterKey, clearFilter, filterFigures } from './filter.js';
import { formatCount, formatDuration, visibleText } from './format.js';
import { MOST_ASKED, MOST_HOLDERS, MOST_WAITERS, makeMatrix, matrixOf } from './matrix.js';
import { watchesGil } from './report.js';
import { threadNames } from './thread_names.js';

/* Each is a table of its own. */
const MOST_PROCESSES = 3;
/* So much of the timeline must be in sight for a change of it to be seen. */
const SEEN_PIXELS = 120;

/** @param {import('./timeline.js').Timeline} timeline */
export function showBlame(timeline) {
	const { report } = timeline;
	const { blame } = report.summary;
	const tables = byId('blame-tables');
	byId('blame').hidden = !watchesGil(report);
	if (blame.length === 0) {
		tables.append(make('p', 'empty', 'Nobody waited.'));
		return;
	}
	const nameOf = threadNames(report.summary.processes);
	/** @type {Map<number, import('./report.js').Blame[]>} by pid */
	const byProcess = new Map();
	for (const entry of blame) {
		const list = byProcess.get(entry.pid);
		if (list)
			list.push(entry);
		else
			byProcess.set(entry.pid, [entry]);
	}
	/** @param {import('./report.js').Blame[]} entries */
	const sum = (entries) => entries.reduce((total, { ns }) => total + ns, 0);
	const processes = [...byProcess].sort((a, b) => sum(b[1]) - sum(a[1]));
	/** @type {Set<(key: string | null) => void>} of the tables that are there */
	const presses = new Set();

	/** @param {string} key */
	const choose = (key) => {
		if (timeline.filter?.key === key)
			clearFilter(timeline);
		else if (applyFilterKey(timeline, key))
			bringPlotIntoView();
	};
	/** @param {number} pid @param {import('./report.js').Blame[]} entries */
	const addProcess = (pid, entries) => {
		const process = report.summary.processes.find((candidate) => candidate.pid === pid);
		const caption =
			processes.length > 1 ? `${visibleText(process?.command ?? '')} pid ${pid}` : 'Times that threads waited, by who held the GIL';
		const scroll = make('div', 'table-scroll');
		scroll.tabIndex = -1;
		const place = make('div', processes.length > 1 ? 'process' : 'process alone', scroll);
		/** @param {import('./matrix.js').Matrix} matrix */
		const put = (matrix) => {
			const { table, press } = makeMatrix(matrix, pid, nameOf, caption, choose);
			scroll.replaceChildren(table);
			press(timeline.filter?.key ?? null);
			presses.add(press);
			return press;
		};
		const matrix = matrixOf(entries, MOST_WAITERS, MOST_HOLDERS);
		const first = put(matrix);
		const folded = matrix.foldedRows + matrix.foldedColumns;
		if (folded > 0) {
			const all = matrixOf(entries, MOST_ASKED, MOST_ASKED);
			const what = all.foldedRows + all.foldedColumns > 0 ? `Show the first ${MOST_ASKED}` : 'Show all threads';
			const more = make('button', 'more', what);
			more.type = 'button';
			more.addEventListener('click', () => {
				presses.delete(first);
				put(all);
				more.remove();
				scroll.querySelector('button')?.focus();
			});
			place.append(more);
		}
		tables.append(place);
	};
	for (const [pid, entries] of processes.slice(0, MOST_PROCESSES))
		addProcess(pid, entries);
	if (processes.length > MOST_PROCESSES) {
		const more = make('button', 'more', `Show ${processes.length - MOST_PROCESSES} more processes`);
		more.type = 'button';
		more.addEventListener('click', () => {
			more.remove();
			for (const [pid, entries] of processes.slice(MOST_PROCESSES))
				addProcess(pid, entries);
		});
		byId('blame-tables').after(more);
	}
	if (report.blame_left) {
		const { pairs, ns } = report.blame_left;
		const text = `Not in here: ${formatCount(pairs)} pairs of threads, ${formatDuration(ns)} in all.`;
		byId('blame-tables').after(make('p', 'empty', text));
	}
	onChange(timeline, ['filter'], () => {
		for (const press of presses)
			press(timeline.filter?.key ?? null);
	});
	showChip(timeline);
	onChange(timeline, ['selection'], () => {
		for (const note of document.querySelectorAll('.of-whole-trace'))
			/** @type {HTMLElement} */ (note).hidden = timeline.selection === null;
	});
}

/**
 * What alone is shown, where it is shown, and the way back.
 * @param {import('./timeline.js').Timeline} timeline
 */
function showChip(timeline) {
	const chips = [byId('filter-chip'), byId('blame-chip')];
	for (const chip of chips)
		chip.addEventListener('click', () => clearFilter(timeline));
	onChange(timeline, ['filter'], () => {
		const { filter } = timeline;
		for (const chip of chips) {
			/* It goes with what had the focus. */
			if (!filter && chip === document.activeElement)
				byId('plot').focus({ preventScroll: true });
			chip.hidden = !filter;
		}
		if (!filter)
			return;
		const figures = filterFigures(filter);
		byId('filter-chip').replaceChildren(
			make('span', 'what', `Only ${filter.title}`),
			make('span', 'figures', figures),
			make('span', 'close', '×'),
		);
		/* The table has the figures from before. */
		const folded = timeline.report.folded
			? ` Where the page merges what is shorter than ${formatDuration(timeline.report.folded.quantum_ns)}, this is not exact.`
			: '';
		byId('filter-chip').title =
			`Only ${filter.title}: ${figures}.${folded} n and p go to the next and the one before. ` +
			'Click or Escape: show all waits';
		byId('filter-chip').setAttribute('aria-label', `Only ${filter.title}, ${figures}. Show all waits`);
		byId('filter-say').textContent = `Only ${filter.title}, ${figures}`;
	});
}

/* The table may be far below it. */
function bringPlotIntoView() {
	const box = byId('plot').getBoundingClientRect();
	if (Math.min(box.bottom, window.innerHeight) - Math.max(box.top, 0) < Math.min(SEEN_PIXELS, box.height))
		byId('plot').scrollIntoView({ block: 'nearest' });
}
