// SPDX-License-Identifier: MIT
/* The columns of the tables: what a cell says of a thread, and what its column is sorted by. */

import { make } from './dom.js';
import { formatCount, formatDuration, formatName, formatShare, visibleText } from './format.js';
import { knownStateTime, knownTime } from './report.js';

/* What more there are, is told when one points at them. */
const MOST_REASONS = 3;
const NOT_YET = '…';

/** @typedef {import('./report.js').Thread} Thread */
/** @typedef {import('./report.js').Process} Process */

/**
 * The figures of a thread, or of all threads of a process: of the whole trace, or of a range of it.
 * @typedef {object} FiguresOnly
 * @property {[string, number][]} reasons what it slept for, and how long
 * @property {boolean} [isSum] of a process
 * @property {boolean} [pending] its counts have still to come
 * @property {string} [rough] why its counts are no exact ones
 * @property {string} [unknowable] why it has no counts
 */

/** @typedef {Thread & FiguresOnly} Figures */

/**
 * @typedef {object} Column
 * @property {string} key names it in links
 * @property {string} heading
 * @property {string} className of its heading
 * @property {string} [title] what it tells
 * @property {boolean} [isText] sorted from a to z first, and the same whatever the range
 * @property {(figures: Figures) => number | string | null} value what it is sorted by
 * @property {(figures: Figures) => HTMLTableCellElement} cell
 */

/**
 * A cell with the number itself in data-value, as the summary has it.
 * @param {string} text
 * @param {number | null} value
 * @param {string} [className]
 */
function numberCell(text, value, className) {
	const element = make('td', className ?? 'number', text);
	element.dataset.value = String(value);
	return element;
}

/**
 * @param {number | null} part
 * @param {number} whole
 */
function quotient(part, whole) {
	return part === null || whole <= 0 ? null : part / whole;
}

/**
 * @param {[string, number | null, string][]} parts class, time, explanation
 * @param {number} total
 * @param {string[]} texts
 */
function makeBar(parts, total, texts) {
	const element = make('div', 'bar');
	for (const [className, ns, explanation] of parts) {
		if (!ns || total === 0)
			continue;
		const part = make('span', className);
		part.style.width = (100 * ns) / total + '%';
		part.title = `${formatDuration(ns)}: ${explanation}`;
		element.append(part);
	}
	element.setAttribute('role', 'img');
	element.setAttribute('aria-label', texts.join(', '));
	return make('td', '', element);
}

/**
 * The name is a button: it leads to the thread in the timeline.
 * @param {Figures} figures
 */
function nameCell(figures) {
	const button = make('button', 'name', make('bdi', '', formatName(figures.name)));
	button.type = 'button';
	button.tabIndex = -1;
	/* The focus goes from name to name, and many may be the same. */
	button.setAttribute('aria-label', `${formatName(figures.name)}, tid ${figures.tid}`);
	const name = make('th', 'thread', button);
	name.scope = 'row';
	if (figures.main)
		name.append(make('span', 'main', '* main'));
	return name;
}

/** @type {Column[]} */
const IDENTITY = [
	{
		key: 'thread',
		heading: 'Thread',
		className: '',
		isText: true,
		value: (figures) => formatName(figures.name).toLowerCase(),
		cell: nameCell,
	},
	{
		key: 'tid',
		heading: 'tid',
		className: 'number',
		isText: true,
		value: (figures) => figures.tid,
		cell: (figures) => numberCell(String(figures.tid), figures.tid),
	},
];

/** @type {Column} */
const TOTAL = {
	key: 'total',
	heading: 'total',
	className: 'number',
	title: 'how long it lived',
	value: (figures) => figures.total_ns,
	cell: ({ total_ns, isSum }) => {
		const element = numberCell(total_ns === 0 ? '–' : formatDuration(total_ns), total_ns);
		if (isSum)
			element.title = 'how long its threads lived, all together';
		return element;
	},
};

/** @type {[string, string, 'has_gil_ns' | 'gil_wait_ns' | 'no_gil_ns' | 'unknown_ns', string][]} kind, heading, key, explanation */
const SHARES = [
	['has', 'has', 'has_gil_ns', 'held the GIL'],
	['wait', 'waits', 'gil_wait_ns', 'waited for the GIL'],
	['no', 'neither', 'no_gil_ns', 'neither had nor wanted the GIL'],
	['unknown', 'unknown', 'unknown_ns', 'its events are missing'],
];

/** @param {Figures} figures */
function gilBar(figures) {
	const parts = SHARES.map(
		([kind, , key, explanation]) =>
			/** @type {[string, number | null, string]} */ ([kind, figures[key], explanation]),
	);
	const texts = parts
		.filter(([, ns]) => ns)
		.map(([, ns, explanation]) => `${formatShare(ns, figures.total_ns)} ${explanation}`);
	return makeBar(parts, figures.total_ns, texts);
}

/**
 * A cell of what is counted, and not summed up.
 * @param {Figures} figures
 * @param {number | null} value
 * @param {string} text
 * @param {string} mark what stands before a figure that is not exact
 */
function countCell(figures, value, text, mark) {
	if (figures.pending && !figures.unknowable && !(figures.isSum && text === ''))
		return numberCell(NOT_YET, null);
	const element = numberCell(value === null || !figures.rough ? text : mark + text, value);
	element.title = (value === null ? figures.unknowable : mark && figures.rough) ?? '';
	return element;
}

/**
 * @param {'wait_p50_ns' | 'wait_p99_ns' | 'wait_max_ns'} key
 * @param {string} name
 * @param {string} heading
 * @param {string} title
 * @returns {Column}
 */
function waitColumn(key, name, heading, title) {
	return {
		key: name,
		heading,
		className: 'number',
		title,
		value: (figures) => figures[key],
		cell: (figures) => {
			const isKnown = figures.has_gil_ns !== null && figures[key] !== null;
			return countCell(figures, figures[key], isKnown ? formatDuration(figures[key]) : figures.isSum ? '' : '–', '');
		},
	};
}

/**
 * Of the table of the GIL.
 * @param {Thread[]} threads
 * @returns {Column[]}
 */
export function gilColumns(threads) {
	const hasUnknown = threads.some((thread) => thread.unknown_ns);
	return [
		...IDENTITY,
		{
			key: 'bar',
			heading: 'Share of its life',
			className: 'wide',
			title: 'sorted by the time in which it had or wanted the GIL',
			value: ({ has_gil_ns, gil_wait_ns, total_ns }) =>
				quotient(has_gil_ns === null ? null : has_gil_ns + (gil_wait_ns ?? 0), total_ns),
			cell: gilBar,
		},
		...SHARES.filter(([kind]) => kind !== 'unknown' || hasUnknown).map(([kind, heading, key, title]) => {
			/** @param {Figures} figures */
			const whole = (figures) => (kind === 'unknown' ? figures.total_ns : knownTime(figures));
			return /** @type {Column} */ ({
				key: heading,
				heading,
				className: 'number',
				title,
				value: (figures) => quotient(figures[key], whole(figures)),
				cell: (figures) => {
					const text = formatShare(figures[key], whole(figures));
					const share = numberCell(text, figures[key], 'number share ' + kind);
					share.title = formatDuration(figures[key]);
					return share;
				},
			});
		}),
		TOTAL,
		{
			key: 'acquired',
			heading: 'acquired',
			className: 'number',
			title: 'how often it got the GIL',
			value: (figures) => figures.acquired,
			cell: (figures) => countCell(figures, figures.acquired, formatCount(figures.acquired), '≈'),
		},
		{
			key: 'contended',
			heading: 'contended',
			className: 'number',
			title: 'how often another thread had it meanwhile',
			value: (figures) => figures.contended,
			cell: (figures) => {
				const { contended, acquired } = figures;
				const contents = countCell(figures, contended, formatCount(contended), '≈');
				if (contended)
					contents.append(make('span', 'part', ` · ${formatShare(contended, acquired ?? 0)}`));
				return contents;
			},
		},
		waitColumn('wait_p50_ns', 'p50', 'wait p50', 'half of its waits for the GIL were not longer'),
		waitColumn('wait_p99_ns', 'p99', 'p99', '99 of 100 of its waits for the GIL were not longer'),
		waitColumn('wait_max_ns', 'max', 'max', 'its longest wait for the GIL'),
	];
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

/** @param {Figures} figures */
function stateBar(figures) {
	const { state, total_ns } = figures;
	/* What is nothing but asleep comes last, and is left empty. */
	const shares = [...STATE_SHARES].sort(
		(a, b) => Number(a[0] === 'sleep_ns') - Number(b[0] === 'sleep_ns'),
	);
	const texts = shares
		.filter(([key]) => state?.[key])
		.map(([key, , , explanation]) => `${formatShare(state?.[key] ?? null, total_ns)} ${explanation}`);
	return makeBar(
		shares.map(([key, , swatch, explanation]) => [
			swatch,
			/* That for the GIL is a part of all sleep. */
			key === 'sleep_ns' ? (state?.[key] ?? 0) - (state?.sleep_gil_ns ?? 0) : (state?.[key] ?? null),
			explanation,
		]),
		total_ns,
		texts,
	);
}

/** @param {Figures} figures */
function reasonTexts(figures) {
	const known = knownStateTime(figures);
	return figures.reasons
		.filter(([name, ns]) => name !== 'GIL' && ns > 0 && ns >= known / 1000)
		.sort((a, b) => b[1] - a[1])
		.map(([name, ns]) => `${visibleText(name)} ${formatShare(ns, known)}`);
}

/**
 * What a thread slept for, most first.
 * @type {Column}
 */
const REASONS = {
	key: 'reasons',
	heading: 'sleeps mostly for',
	className: 'reasons',
	title: 'sorted by the most frequent reason',
	value: (figures) => reasonTexts(figures)[0] ?? null,
	cell: (figures) => {
		const texts = reasonTexts(figures);
		const element = make('td', 'reasons', texts.slice(0, MOST_REASONS).join(' · '));
		element.title = texts.join('\n');
		return element;
	},
};

/**
 * Of the table of being on and off CPU.
 * @param {Thread[]} threads
 * @param {boolean} hasReasons
 * @returns {Column[]}
 */
export function stateColumns(threads, hasReasons) {
	/* Without stacks nobody knows of a disk; without stacks and probes, of the GIL. */
	const shares = STATE_SHARES.filter(
		([key]) =>
			key === 'running_ns' ||
			threads.some(({ state }) => (key === 'unknown_ns' ? state?.[key] : (state?.[key] ?? null) !== null)),
	);
	return [
		...IDENTITY,
		{
			key: 'bar',
			heading: 'Share of its life',
			className: 'wide',
			title: 'sorted by the time in which it was on a CPU, or could have been',
			value: ({ state, total_ns }) =>
				quotient(state && state.running_ns + state.runnable_ns, total_ns),
			cell: stateBar,
		},
		...shares.map(([key, heading, , title]) => {
			/** @param {Figures} figures */
			const share = (figures) => quotient(figures.state?.[key] ?? null, knownStateTime(figures));
			return /** @type {Column} */ ({
				key: heading.replaceAll(' ', '-').toLowerCase(),
				heading,
				className: 'number',
				title,
				value: share,
				cell: (figures) => {
					const ns = figures.state?.[key] ?? null;
					const isPending = key === 'sleep_gil_ns' && figures.pending && ns === null;
					const text = isPending ? NOT_YET : formatShare(ns, knownStateTime(figures));
					const element = numberCell(text, ns, 'number share');
					element.title = ns === null && figures.unknowable ? figures.unknowable : formatDuration(ns);
					return element;
				},
			});
		}),
		...(hasReasons ? [REASONS] : []),
		TOTAL,
	];
}

/**
 * The figures of all threads of a process together. Of percentiles there are none.
 * @param {Process} process
 * @param {Figures[]} all
 * @returns {Figures}
 */
export function addFigures(process, all) {
	/** @param {(figures: Figures) => number | null} get */
	const sum = (get) => {
		const known = all.map(get).filter((value) => value !== null);
		return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
	};
	/** @param {keyof import('./report.js').State} key */
	const sumState = (key) => sum(({ state }) => state?.[key] ?? null);
	/** @type {Map<string, number>} */
	const reasons = new Map();
	for (const [name, ns] of all.flatMap((figures) => figures.reasons))
		reasons.set(name, (reasons.get(name) ?? 0) + ns);
	const longest = all.map(({ wait_max_ns }) => wait_max_ns).filter((ns) => ns !== null);
	return {
		tid: process.pid,
		name: process.command,
		main: false,
		start_ns: 0,
		end_ns: 0,
		total_ns: sum((figures) => figures.total_ns) ?? 0,
		no_gil_ns: sum((figures) => figures.no_gil_ns),
		has_gil_ns: sum((figures) => figures.has_gil_ns),
		gil_wait_ns: sum((figures) => figures.gil_wait_ns),
		unknown_ns: sum((figures) => figures.unknown_ns),
		acquired: sum((figures) => figures.acquired),
		contended: sum((figures) => figures.contended),
		switched: null,
		wait_max_ns: longest.length === 0 ? null : longest.reduce((most, ns) => Math.max(most, ns), 0),
		wait_p50_ns: null,
		wait_p99_ns: null,
		state: all.some(({ state }) => state)
			? {
					running_ns: sumState('running_ns') ?? 0,
					runnable_ns: sumState('runnable_ns') ?? 0,
					sleep_ns: sumState('sleep_ns') ?? 0,
					sleep_gil_ns: sumState('sleep_gil_ns'),
					disk_ns: sumState('disk_ns'),
					unknown_ns: sumState('unknown_ns') ?? 0,
				}
			: null,
		reasons: [...reasons],
		isSum: true,
		pending: all.some((figures) => figures.pending),
		rough: all.find((figures) => figures.rough)?.rough,
		unknowable: all.find((figures) => figures.unknowable)?.unknowable,
	};
}
