// SPDX-License-Identifier: MIT
/* Who kept whom waiting: a table of waiters and holders, most first, in which each time can be chosen. */

import { make } from './dom.js';
import { formatShare } from './format.js';
import { filterKey } from './filter.js';
import { nameElement, nameText } from './thread_names.js';

/* So many fit beside each other; what more there are, is folded into one, until one asks for all. */
export const MOST_WAITERS = 12;
export const MOST_HOLDERS = 10;
/* Whoever asks for all gets no more than can be laid out in a moment. */
export const MOST_ASKED = 100;

/** Who held it; null: nobody. @typedef {number | null} Holder */

/**
 * Times by waiter and holder.
 * @typedef {object} Matrix
 * @property {{waiter: number, ns: number}[]} rows most first
 * @property {{holder: Holder, ns: number}[]} columns most first, nobody last
 * @property {number[][]} cells of the rows and columns
 * @property {number} foldedRows how many waiters are in none of the rows
 * @property {number} foldedColumns likewise
 * @property {number[]} rest by column, and then that of the folded columns: what folded waiters waited
 * @property {number[]} others by row: what it waited for folded holders
 * @property {number} othersTotal
 * @property {number} total
 * @property {number} most the greatest of the cells
 */

/**
 * @template Key
 * @param {Map<Key, number>} sums
 * @param {Key} key
 * @param {number} ns
 */
function addTo(sums, key, ns) {
	sums.set(key, (sums.get(key) ?? 0) + ns);
}

/**
 * @param {import('./report.js').Blame[]} entries of one process
 * @param {number} mostRows
 * @param {number} mostColumns besides that of nobody
 * @returns {Matrix}
 */
export function matrixOf(entries, mostRows, mostColumns) {
	/** @type {Map<number, number>} */
	const waiters = new Map();
	/** @type {Map<Holder, number>} */
	const holders = new Map();
	let total = 0;
	for (const { waiter, holder, ns } of entries) {
		addTo(waiters, waiter, ns);
		addTo(holders, holder, ns);
		total += ns;
	}
	const allRows = [...waiters].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
	const named = [...holders].filter(([holder]) => holder !== null);
	named.sort((a, b) => b[1] - a[1] || Number(a[0]) - Number(b[0]));
	/* To fold a single one would win nothing. */
	const shownRows = allRows.length <= mostRows + 1 ? allRows : allRows.slice(0, mostRows);
	const shownColumns = named.length <= mostColumns + 1 ? named : named.slice(0, mostColumns);
	const foldedColumns = named.length - shownColumns.length;
	if (holders.has(null))
		shownColumns.push([null, holders.get(null) ?? 0]);
	const rowOf = new Map(shownRows.map(([waiter], place) => [waiter, place]));
	const columnOf = new Map(shownColumns.map(([holder], place) => [holder, place]));
	const cells = shownRows.map(() => new Array(shownColumns.length).fill(0));
	const rest = new Array(shownColumns.length + 1).fill(0);
	const others = new Array(shownRows.length).fill(0);
	for (const { waiter, holder, ns } of entries) {
		const row = rowOf.get(waiter);
		const column = columnOf.get(holder);
		if (row === undefined)
			rest[column ?? shownColumns.length] += ns;
		else if (column === undefined)
			others[row] += ns;
		else
			cells[row][column] += ns;
	}
	return {
		rows: shownRows.map(([waiter, ns]) => ({ waiter, ns })),
		columns: shownColumns.map(([holder, ns]) => ({ holder, ns })),
		cells,
		foldedRows: allRows.length - shownRows.length,
		foldedColumns,
		rest,
		others,
		othersTotal: others.reduce((sum, ns) => sum + ns, rest[shownColumns.length]),
		total,
		most: cells.flat().reduce((most, ns) => Math.max(most, ns), 0),
	};
}

/**
 * A duration with three digits, as many stand beside each other.
 * @param {number} ns
 */
export function shortDuration(ns) {
	/** @type {[number, string][]} */
	const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
	for (const [scale, unit] of units)
		/* What would be written as 1000 of a unit is 1 of the next. */
		if (ns >= 0.9995 * scale || scale === 1) {
			const value = ns / scale;
			const digits = scale === 1 ? 0 : value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
			return `${value.toFixed(digits)}\u202f${unit}`;
		}
	return '0';
}

/**
 * @typedef {object} MatrixTable
 * @property {HTMLTableElement} table
 * @property {(key: string | null) => void} press shows which of its buttons is chosen
 */

/**
 * @param {Matrix} matrix
 * @param {number} pid
 * @param {import('./thread_names.js').NameOf} nameOf
 * @param {string} caption
 * @param {(key: string) => void} choose
 * @returns {MatrixTable}
 */
export function makeMatrix(matrix, pid, nameOf, caption, choose) {
	const { rows, columns, cells, foldedRows, foldedColumns, rest, others, othersTotal, total } = matrix;
	/** @type {Map<string, HTMLButtonElement>} */
	const buttons = new Map();
	/** @param {Holder} holder */
	const keyOf = (holder) => holder ?? 'none';

	/**
	 * @param {string} key
	 * @param {string} description
	 * @param {...(Node | string)} content
	 */
	const choice = (key, description, ...content) => {
		const button = make('button', '', ...content);
		button.type = 'button';
		button.tabIndex = buttons.size === 0 ? 0 : -1;
		button.dataset.key = key;
		button.setAttribute('aria-label', description);
		button.setAttribute('aria-pressed', 'false');
		buttons.set(key, button);
		return button;
	};
	/** @param {number} waiter @param {Holder} holder */
	const label = (waiter, holder) =>
		`${nameText(nameOf(pid, waiter))} waited` +
		(holder === null ? ' while nobody held it' : ` for ${nameText(nameOf(pid, holder))}`);
	/** @param {string} className @param {number} ns @param {...Node} content */
	const cell = (className, ns, ...content) => {
		const element = make('td', className, ...(content.length ? content : [ns ? shortDuration(ns) : '']));
		element.dataset.value = String(ns);
		return element;
	};
	/** @param {'col' | 'row'} scope @param {string} className @param {...(Node | string)} content */
	const heading = (scope, className, ...content) => {
		const element = make('th', className, ...content);
		element.scope = scope;
		return element;
	};

	const head = make('tr', '', heading('col', 'ways', 'waiter ↓ holder →'));
	for (const { holder, ns } of columns) {
		const name = nameOf(pid, holder);
		const text = holder === null ? 'Nobody held it' : `Held by ${nameText(name)}`;
		const key = filterKey({ pid, waiter: '*', holder: keyOf(holder) });
		const description = `${text}: all waits meanwhile, ${shortDuration(ns)}, ${formatShare(ns, total)}`;
		head.append(heading('col', holder === null ? 'nobody' : '', choice(key, description, nameElement(name))));
	}
	if (foldedColumns > 0)
		head.append(heading('col', 'folded', `${foldedColumns} others`));
	head.append(heading('col', 'sum', 'waited'));

	const body = make('tbody', '');
	for (const [row, { waiter, ns: waited }] of rows.entries()) {
		const name = nameOf(pid, waiter);
		const description = `${nameText(name)}: all its waits, ${shortDuration(waited)}, ${formatShare(waited, total)}`;
		const line = make(
			'tr',
			'',
			heading('row', '', choice(filterKey({ pid, waiter, holder: '*' }), description, nameElement(name))),
		);
		for (const [column, { holder }] of columns.entries()) {
			const ns = cells[row][column];
			if (ns === 0) {
				line.append(cell(waiter === holder ? 'self' : 'none', 0));
				continue;
			}
			const text =
				`${label(waiter, holder)}: ${shortDuration(ns)}, ${formatShare(ns, waited)} of its waiting, ` +
				`${formatShare(ns, total)} of all`;
			const key = filterKey({ pid, waiter, holder: keyOf(holder) });
			const element = cell('', ns, choice(key, text, shortDuration(ns)));
			element.style.setProperty('--heat-part', `${Math.ceil((100 * ns) / matrix.most)}%`);
			line.append(element);
		}
		if (foldedColumns > 0)
			line.append(cell('folded', others[row]));
		line.append(cell('sum', waited, document.createTextNode(`${shortDuration(waited)} · ${formatShare(waited, total)}`)));
		body.append(line);
	}
	if (foldedRows > 0) {
		const line = make('tr', 'folded', heading('row', '', `${foldedRows} others`));
		for (const ns of foldedColumns > 0 ? rest : rest.slice(0, -1))
			line.append(cell('folded', ns));
		const ns = rest.reduce((sum, part) => sum + part, 0);
		line.append(cell('sum', ns, document.createTextNode(`${shortDuration(ns)} · ${formatShare(ns, total)}`)));
		body.append(line);
	}

	const foot = make('tr', '', heading('row', '', 'held meanwhile'));
	/** @param {number} ns */
	const share = (ns) =>
		cell('sum', ns, document.createTextNode(shortDuration(ns)), make('br', ''), document.createTextNode(formatShare(ns, total)));
	for (const { ns } of columns)
		foot.append(share(ns));
	if (foldedColumns > 0)
		foot.append(share(othersTotal));
	foot.append(cell('sum total', total));
	const table = make('table', 'matrix', make('caption', '', caption), make('thead', '', head), body, make('tfoot', '', foot));

	table.addEventListener('click', (event) => {
		const button = /** @type {Element} */ (event.target).closest('button');
		if (button?.dataset.key)
			choose(button.dataset.key);
	});
	listenToArrows(table);
	return {
		table,
		press(key) {
			for (const button of table.querySelectorAll('[aria-pressed=true]'))
				button.setAttribute('aria-pressed', 'false');
			if (key !== null)
				buttons.get(key)?.setAttribute('aria-pressed', 'true');
		},
	};
}

/**
 * Arrows go from button to button, Home and End to the ends of the row. One of all is reached by the
 * tabulator: the last one.
 * @param {HTMLTableElement} table
 */
function listenToArrows(table) {
	/** @type {Record<string, [number, number]>} rows, columns */
	const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1], End: [0, 1] };

	table.addEventListener('focusin', (event) => {
		for (const button of table.querySelectorAll('button[tabindex="0"]'))
			/** @type {HTMLButtonElement} */ (button).tabIndex = -1;
		/** @type {HTMLButtonElement} */ (event.target).tabIndex = 0;
	});
	table.addEventListener('keydown', (event) => {
		const step = steps[event.key];
		const from = /** @type {Element} */ (event.target).closest('th, td');
		if (!step || !from || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const toEnd = event.key === 'Home' || event.key === 'End';
		let row = /** @type {HTMLTableRowElement} */ (from.parentElement).rowIndex;
		let column = /** @type {HTMLTableCellElement} */ (from).cellIndex;
		event.preventDefault();
		event.stopPropagation();
		/** @type {HTMLButtonElement | null} */
		let to = null;
		for (;;) {
			row += step[0];
			column += step[1];
			const cell = table.rows[row]?.cells[column];
			if (!cell)
				break;
			to = cell.querySelector('button') ?? to;
			if (to && !toEnd)
				break;
		}
		to?.focus();
	});
}
