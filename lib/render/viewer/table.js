// SPDX-License-Identifier: MIT
/*
 * The summary: tables with one row a thread, below its process. They are sorted by their headings,
 * filtered by the input above them, and filled again with the figures of a range.
 */

import { onChange } from './changes.js';
import { byId, make } from './dom.js';
import { visibleText } from './format.js';
import { shownProcesses } from './head.js';
import { watchesGil } from './report.js';
import { nextOrder, sorted } from './sort.js';
import { addFigures, gilColumns, stateColumns } from './thread_columns.js';
import { matchesThread } from './thread_match.js';

/* As many rows as there is room for at first, see .table-scroll, are there when the page is painted first. */
const LEAST_ROW_HEIGHT = 20; /* in pixels of CSS */
const LEAST_BOX_HEIGHT = 180;
const BOX_SHARE = 0.36; /* of the window's height */

/** @typedef {import('./report.js').Thread} Thread */
/** @typedef {import('./report.js').Process} Process */
/** @typedef {import('./thread_columns.js').Column} Column */
/** @typedef {import('./thread_columns.js').Figures} Figures */
/** What a click at a thread does. @typedef {(process: Process, thread: Thread) => void} Choose */

/**
 * @typedef {object} ThreadRow
 * @property {Process} process
 * @property {Thread} thread
 * @property {Figures} figures what it shows
 * @property {HTMLTableRowElement} element
 */

/**
 * The rows of a process.
 * @typedef {object} Group
 * @property {Process} process
 * @property {Figures} figures of all its threads
 * @property {HTMLTableSectionElement} body
 * @property {HTMLTableRowElement} heading
 * @property {ThreadRow[]} rows as recorded
 */

/**
 * @typedef {object} ThreadTable
 * @property {HTMLTableElement} element
 * @property {Column[]} columns
 * @property {Group[]} groups as recorded
 * @property {boolean} hasSums whether processes have figures of their own
 * @property {import('./sort.js').Order | null} order
 * @property {ThreadRow | null} stop the row that the tabulator key leads to
 * @property {() => void} onOrder
 */

/**
 * @param {ThreadTable} table
 * @param {ThreadRow} row
 */
function makeCells({ columns }, { element, figures }) {
	element.classList.toggle('absent', figures.total_ns === 0);
	element.append(...columns.map(({ cell }) => cell(figures)));
}

/**
 * The row above those of a process, with sums where there are several.
 * @param {ThreadTable} table
 * @param {Process} process
 * @param {Figures} figures
 */
function makeHeading(table, process, figures) {
	const version = process.python?.version;
	const command = visibleText(process.command);
	const about = ` pid ${process.pid}${version ? ` · Python ${version}` : ''}`;
	const heading = make('th', 'process', make('bdi', '', command), make('span', 'pid', about));
	heading.scope = 'rowgroup';
	heading.title = command + about;
	heading.colSpan = table.columns.length;
	if (!table.hasSums)
		return make('tr', 'group', heading);
	const sums = table.columns.filter(({ key }) => key !== 'thread' && key !== 'tid');
	heading.colSpan -= sums.length;
	return make('tr', 'group', heading, ...sums.map(({ cell }) => cell(figures)));
}

/** @param {ThreadTable} table */
function makeHeadings(table) {
	const head = make('tr', '');
	for (const column of table.columns) {
		const button = make('button', '', column.heading);
		button.type = 'button';
		button.addEventListener('click', () => setOrder(table, nextOrder(table.order, column)));
		const heading = make('th', column.className, button);
		heading.scope = 'col';
		heading.title = column.title ?? '';
		heading.setAttribute('aria-sort', 'none');
		head.append(heading);
	}
	table.element.append(make('thead', '', head));
}

/**
 * Makes a table: one row a thread, below its process. There may be thousands: MORE makes the rows behind
 * the first ones, of a table that is not seen at first all of them.
 * @param {HTMLTableElement} element
 * @param {Column[]} columns
 * @param {Process[]} processes
 * @param {(thread: Thread) => Figures} figuresOf
 * @param {Choose} choose
 * @param {boolean} isSeen at first
 */
function makeTable(element, columns, processes, figuresOf, choose, isSeen) {
	/** @type {ThreadTable} */
	const table = {
		element,
		columns,
		groups: [],
		hasSums: processes.length > 1,
		order: null,
		stop: null,
		onOrder: () => {},
	};
	/** @type {(() => void)[]} */
	const more = [];
	makeHeadings(table);
	for (const process of processes) {
		const rows = process.threads.map((thread) => ({
			process,
			thread,
			figures: figuresOf(thread),
			element: make('tr', ''),
		}));
		const figures = addFigures(
			process,
			rows.map((row) => row.figures),
		);
		const heading = makeHeading(table, process, figures);
		table.groups.push({ process, figures, body: make('tbody', ''), heading, rows });
	}
	let room = isSeen
		? Math.ceil(Math.max(LEAST_BOX_HEIGHT, BOX_SHARE * window.innerHeight) / LEAST_ROW_HEIGHT)
		: 0;
	for (const { body, heading, rows } of table.groups) {
		const first = rows.slice(0, room);
		for (const row of first)
			makeCells(table, row);
		for (const row of rows.slice(room))
			more.push(() => makeCells(table, row));
		body.append(heading, ...first.map((row) => row.element));
		if (room > 0)
			element.append(body);
		room = Math.max(0, room - rows.length - 1);
	}
	listenToRows(table, choose);
	setStop(table, rowsOf(table)[0] ?? null);
	/* Row by row in the table, all would be laid out again and again. */
	if (more.length > 0)
		more.push(() => {
			setOrder(table, table.order);
			setStop(table, table.stop);
		});
	return { table, more };
}

/** @param {ThreadTable} table */
function rowsOf(table) {
	return table.groups.flatMap(({ rows }) => rows);
}

/**
 * The tabulator key leads to one row of the table; arrows lead to the others.
 * @param {ThreadTable} table
 * @param {ThreadRow | null} row
 */
function setStop(table, row) {
	/** @param {number} index */
	const set = (index) => {
		const button = table.stop?.element.querySelector('button');
		if (button)
			button.tabIndex = index;
	};
	set(-1);
	table.stop = row;
	set(0);
}

/**
 * @param {ThreadTable} table
 * @param {Choose} choose
 */
function listenToRows(table, choose) {
	const rows = new Map(rowsOf(table).map((row) => [row.element, row]));
	/** @param {Event} event */
	const rowOf = (event) => {
		const element = /** @type {Element} */ (event.target).closest('tr');
		return (element && rows.get(element)) ?? null;
	};
	table.element.addEventListener('click', (event) => {
		const row = rowOf(event);
		if (!row)
			return;
		setStop(table, row);
		choose(row.process, row.thread);
	});
	table.element.addEventListener('keydown', (event) => {
		const row = rowOf(event);
		if (!row || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const seen = [...table.element.querySelectorAll('tr')]
			.map((element) => rows.get(element))
			.filter((candidate) => candidate && !candidate.element.hidden);
		const at = seen.indexOf(row);
		/** @type {Record<string, number>} */
		const places = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: seen.length - 1 };
		const next = Object.hasOwn(places, event.key) ? seen[places[event.key]] : undefined;
		if (!next)
			return;
		event.preventDefault();
		setStop(table, next);
		next.element.querySelector('button')?.focus();
	});
}

/**
 * Puts the rows of each process in order, and processes by their sums; null: as recorded.
 * @param {ThreadTable} table
 * @param {import('./sort.js').Order | null} order
 */
export function setOrder(table, order) {
	const column = table.columns.find(({ key }) => key === order?.key);
	table.order = column ? order : null;
	const isUp = table.order?.isUp ?? true;
	/** @param {{figures: Figures}} item */
	const valueOf = ({ figures }) => (column ? column.value(figures) : null);
	const groups = sorted(table.groups, valueOf, isUp);
	for (const { body, heading, rows } of groups)
		body.replaceChildren(heading, ...sorted(rows, valueOf, isUp).map((row) => row.element));
	table.element.append(...groups.map(({ body }) => body));
	const headings = table.element.querySelectorAll('thead th');
	table.columns.forEach((candidate, index) => {
		const direction = candidate !== column ? 'none' : isUp ? 'ascending' : 'descending';
		headings[index].setAttribute('aria-sort', direction);
	});
	table.onOrder();
}

/**
 * Shows other figures in a row. The cells that say who it is stay, with the focus that they may have.
 * @param {ThreadTable} table
 * @param {HTMLTableRowElement} row
 * @param {Figures} figures
 */
function fillRow(table, row, figures) {
	const columns = table.columns.filter(({ isText }) => !isText);
	let old = row.lastElementChild;
	for (let i = columns.length - 1; i >= 0 && old; i--) {
		const next = old.previousElementSibling;
		old.replaceWith(columns[i].cell(figures));
		old = next;
	}
}

/**
 * Shows other figures, row by row: SEEN are those that are on the screen, REST the others. The rows stay
 * where they are; who sorts them is setOrder().
 * @param {ThreadTable[]} tables
 * @param {(thread: Thread) => Figures} figuresOf
 */
export function fillSteps(tables, figuresOf) {
	/** @type {(() => void)[]} */
	const seen = [];
	/** @type {(() => void)[]} */
	const rest = [];
	for (const table of tables) {
		const box = /** @type {Element} */ (table.element.parentElement).getBoundingClientRect();
		const top = Math.max(0, box.top);
		const bottom = Math.min(window.innerHeight, box.bottom);
		/** @param {HTMLTableRowElement} row @param {() => void} fill */
		const add = (row, fill) => {
			const place = row.getBoundingClientRect();
			const isSeen = place.height > 0 && place.bottom > top && place.top < bottom;
			(isSeen ? seen : rest).push(fill);
		};
		for (const group of table.groups) {
			for (const row of group.rows)
				add(row.element, () => {
					row.figures = figuresOf(row.thread);
					row.element.classList.toggle('absent', row.figures.total_ns === 0);
					fillRow(table, row.element, row.figures);
				});
			add(group.heading, () => {
				const all = group.rows.map((row) => figuresOf(row.thread));
				group.figures = addFigures(group.process, all);
				if (table.hasSums)
					fillRow(table, group.heading, group.figures);
			});
		}
	}
	return { seen, rest };
}

/**
 * Hides the rows of threads that do not match; returns how many are left.
 * @param {ThreadTable} table
 * @param {string} text of a name, a tid, a command or a pid
 */
function filterTable(table, text) {
	const wanted = text.trim().toLowerCase();
	let count = 0;
	for (const { body, rows } of table.groups) {
		let left = 0;
		for (const row of rows) {
			row.element.hidden = !matchesThread(row.process, row.thread, wanted);
			left += Number(!row.element.hidden);
		}
		body.hidden = left === 0;
		count += left;
	}
	if (table.stop?.element.hidden !== false)
		setStop(table, rowsOf(table).find((row) => !row.element.hidden) ?? null);
	return count;
}

/** @param {ThreadTable[]} tables */
function listenToFilter(tables) {
	const input = /** @type {HTMLInputElement} */ (byId('thread-filter'));
	const all = rowsOf(tables[0]).length;
	const show = () => {
		const counts = tables.map((table) => filterTable(table, input.value));
		byId('thread-count').textContent = input.value.trim() === '' ? '' : `${counts[0]} of ${all}`;
		byId('no-thread').hidden = counts[0] > 0 || all === 0;
	};
	input.hidden = all === 0;
	input.addEventListener('input', show);
	input.addEventListener('keydown', (event) => {
		if (event.key !== 'Escape')
			return;
		input.value = '';
		show();
	});
}

/**
 * Marks the thread that is chosen in the timeline.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {ThreadTable[]} tables
 */
export function listenToChoice(timeline, tables) {
	const rows = tables.map((table) => new Map(rowsOf(table).map((row) => [row.thread, row.element])));
	/** @type {Thread | undefined} */
	let chosen;
	onChange(timeline, ['choice'], () => {
		const thread = timeline.lanes[timeline.chosen]?.thread;
		for (const elements of rows) {
			if (chosen)
				elements.get(chosen)?.classList.remove('chosen');
			if (thread)
				elements.get(thread)?.classList.add('chosen');
		}
		chosen = thread;
	});
}

/**
 * What each thread slept for.
 * @param {import('./report.js').ReportMeta} report
 */
function findReasons(report) {
	return new Map(
		report.lanes.map((lane) => [
			report.summary.processes[lane.process].threads[lane.thread],
			lane.reasons ?? [],
		]),
	);
}

/**
 * What the tables show of the whole trace: the summary's own figures.
 * @param {import('./report.js').ReportMeta} report
 * @returns {(thread: Thread) => Figures}
 */
export function wholeFigures(report) {
	const reasons = findReasons(report);
	return (thread) => ({ ...thread, reasons: reasons.get(thread) ?? [] });
}

/**
 * The table of the GIL, and that of being on and off CPU where that was recorded. MORE makes the rows behind
 * the first ones.
 * @param {import('./report.js').ReportMeta} report
 * @param {Choose} choose
 */
export function showTables(report, choose) {
	const shown = shownProcesses(report);
	const threads = shown.flatMap((process) => process.threads);
	const figuresOf = wholeFigures(report);
	/* Where there are both, that of the GIL is seen. */
	const hasGil = watchesGil(report) || report.states === undefined;
	/** @param {string} id @param {Column[]} columns @param {boolean} isSeen */
	const makeOne = (id, columns, isSeen) =>
		makeTable(/** @type {HTMLTableElement} */ (byId(id)), columns, shown, figuresOf, choose, isSeen);
	const made = [makeOne('threads', gilColumns(threads), hasGil)];

	byId('gil-table').hidden = !hasGil;
	byId('states').hidden = report.states === undefined;
	if (report.states !== undefined) {
		const hasReasons = report.lanes.some((lane) => lane.reasons?.some(([name]) => name !== 'GIL'));
		made.push(makeOne('states-table', stateColumns(threads, hasReasons), !hasGil));
	}
	if (shown.length === 0)
		byId('gil-table').append(make('p', 'empty', 'No process with a GIL was seen.'));
	const tables = made.map(({ table }) => table);
	listenToFilter(tables);
	return { tables, more: made.flatMap(({ more }) => more) };
}
