// SPDX-License-Identifier: MIT
/*
 * How long waits for the GIL and holds of it lasted, of all threads or of one. Lengths and counts are on
 * logarithmic scales: a few bursts matter beside a million short holds.
 */

import { onChange } from './changes.js';
import { byId, make } from './dom.js';
import { formatCount, formatDuration, formatShare, visibleText } from './format.js';
import { hideHover, showHover } from './hover.js';
import { watchesGil } from './report.js';
import { nameText, threadNames } from './thread_names.js';

/* Fewer would make bars as wide as a hand. */
const FEWEST_BINS = 8;
const PLOT_HEIGHT = 84;

/**
 * Bin i is from 2^i ns to less than 2^(i+1), and the first from 0.
 * @typedef {object} Lengths
 * @property {string} what "waits"
 * @property {number[]} counts
 * @property {[string, number, boolean][]} marks label, length in ns, whether it is an estimate
 */

/**
 * Adds lists of counts up.
 * @param {number[][]} lists
 */
export function addCounts(lists) {
	const sums = new Array(lists.reduce((most, { length }) => Math.max(most, length), 0)).fill(0);
	for (const list of lists)
		for (const [bin, count] of list.entries())
			sums[bin] += count;
	return sums;
}

/**
 * The length below which a part of all is, as far as bins tell.
 * @param {number[]} counts
 * @param {number} part
 * @returns {number} 0 when there is none
 */
export function quantile(counts, part) {
	const total = counts.reduce((sum, count) => sum + count, 0);
	let left = total * part;
	for (const [bin, count] of counts.entries()) {
		if (count > 0 && left <= count)
			return 2 ** (bin + left / count);
		left -= count;
	}
	return 0;
}

/**
 * What the page knows of the lengths of some lanes.
 * @param {import('./report.js').ReportMeta} report
 * @param {number} index of the lane; -1: of all
 * @returns {{waits: Lengths, holds: Lengths}}
 */
export function lengthsOf(report, index) {
	const lanes = index < 0 ? report.lanes : [report.lanes[index]];
	const parts = lanes.flatMap((lane) => lane.holds ?? []);
	const waits = addCounts(parts.map((part) => part.waits));
	const holds = addCounts(parts.map((part) => part.holds));
	/** @type {[string, number, boolean][]} */
	const waitMarks = [['p50', quantile(waits, 0.5), true], ['p99', quantile(waits, 0.99), true]];
	/** @type {[string, number, boolean][]} */
	const holdMarks = [['p50', quantile(holds, 0.5), true], ['p99', quantile(holds, 0.99), true]];
	if (index >= 0) {
		const { process, thread, holds: exact } = lanes[0];
		const { wait_p50_ns, wait_p99_ns } = report.summary.processes[process].threads[thread];
		if (wait_p50_ns !== null && wait_p99_ns !== null) {
			waitMarks[0] = ['p50', wait_p50_ns, false];
			waitMarks[1] = ['p99', wait_p99_ns, false];
		}
		if (exact)
			holdMarks[0] = ['p50', exact.hold_p50_ns, false];
	}
	return {
		waits: { what: 'waits', counts: waits, marks: waitMarks },
		holds: { what: 'holds', counts: holds, marks: holdMarks },
	};
}

/** @param {number} bin */
function binText(bin) {
	const from = bin === 0 ? '0' : formatRound(2 ** bin);
	return `${from} to ${formatRound(2 ** (bin + 1))}`;
}

/** @param {number} ns */
function formatRound(ns) {
	/** @type {[number, string][]} */
	const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
	const [scale, unit] = units.find(([size]) => ns >= size) ?? units[3];
	return `${Number((ns / scale).toPrecision(3))}\u202f${unit}`;
}

/**
 * Which bins are shown, the first one being that of what took no time at all: it would else be far from the
 * others.
 * @param {Lengths[]} lists
 */
function binsOf(lists) {
	const counts = addCounts(lists.map((list) => list.counts));
	const least = counts.findIndex((count, bin) => bin > 0 && count > 0);
	const first = least < 0 ? 0 : least;
	const last = Math.max(counts.length, first + FEWEST_BINS);
	const bins = Array.from({ length: last - first }, (_, place) => first + place);
	return first > 1 && counts[0] > 0 ? [0, ...bins] : bins;
}

/**
 * Where a length is among bins, in parts of their width.
 * @param {number[]} bins
 * @param {number} ns
 */
function placeOfLength(bins, ns) {
	const hasZero = bins[0] === 0 && bins[1] > 1;
	const first = hasZero ? bins[1] : bins[0];
	const place = Math.log2(Math.max(ns, 1)) - first;
	if (hasZero)
		return place < 0 ? 0.5 / bins.length : (place + 1) / bins.length;
	return place / bins.length;
}

/**
 * @param {number[]} bins
 * @returns {HTMLElement}
 */
function makeAxis(bins) {
	const axis = make('div', 'axis');
	axis.setAttribute('aria-hidden', 'true');
	/** @param {string} text @param {number} place */
	const add = (text, place) => {
		const tick = make('span', 'tick', text);
		tick.style.left = 100 * place + '%';
		axis.append(tick);
	};
	const first = bins[1] > bins[0] + 1 ? bins[1] : bins[0];
	if (first !== bins[0])
		add('0', placeOfLength(bins, 0));
	for (let decade = 1; decade < 2 ** (bins[bins.length - 1] + 1); decade *= 10)
		if (decade >= 2 ** first)
			add(formatRound(decade), placeOfLength(bins, decade));
	return axis;
}

/**
 * @param {Lengths} lengths
 * @param {number[]} bins that are shown
 */
function makeHistogram({ what, counts, marks }, bins) {
	const total = counts.reduce((sum, count) => sum + count, 0);
	const most = Math.max(1, ...counts);
	const top = Math.log10(most + 1);
	const bars = make('div', 'bars');
	const rows = make('tbody', '');
	bars.setAttribute('aria-hidden', 'true');
	for (const bin of bins) {
		const count = counts[bin] ?? 0;
		const fill = make('div', 'fill');
		const bar = make('div', 'bin', fill);
		const text =
			`${formatCount(count)} ${count === 1 ? what.slice(0, -1) : what} of ${binText(bin)}, ` +
			formatShare(count, total);
		fill.style.height = (count ? Math.max(2, (PLOT_HEIGHT * Math.log10(count + 1)) / top) : 0) + 'px';
		bar.addEventListener('pointermove', ({ clientX, clientY }) =>
			showHover([make('div', '', text)], clientX, clientY),
		);
		bar.addEventListener('pointerleave', hideHover);
		bars.append(bar);
		if (count > 0) {
			const length = make('th', '', binText(bin));
			length.scope = 'row';
			rows.append(
				make('tr', '', length, make('td', '', formatCount(count)), make('td', '', formatShare(count, total))),
			);
		}
	}
	for (let decade = 0; decade <= Math.log10(most); decade++) {
		const line = make('div', 'level', make('span', '', formatCount(10 ** decade)));
		line.style.bottom = (PLOT_HEIGHT * Math.log10(10 ** decade + 1)) / top + 'px';
		bars.append(line);
	}
	const told = [];
	for (const [label, ns, estimate] of total > 0 ? marks : []) {
		const mark = make('div', `mark ${label}`, make('span', '', label));
		mark.style.left = 100 * Math.min(1, Math.max(0, placeOfLength(bins, ns))) + '%';
		bars.append(mark);
		told.push(`${label} ${estimate ? '≈\u202f' : ''}${formatDuration(Math.round(ns))}`);
	}
	const heads = ['length', 'number', 'share'].map((text) => {
		const head = make('th', '', text);
		head.scope = 'col';
		return head;
	});
	const name = what.charAt(0).toUpperCase() + what.slice(1);
	return [
		make(
			'p',
			'caption',
			make('strong', '', name),
			` ${formatCount(total)}${told.length ? ' · ' + told.join(' · ') : ''}`,
		),
		bars,
		makeAxis(bins),
		make(
			'div',
			'visually-hidden',
			make('table', '', make('caption', '', `${name} by length`), make('thead', '', make('tr', '', ...heads)), rows),
		),
	];
}

/** @param {import('./timeline.js').Timeline} timeline */
export function showHistograms(timeline) {
	const { report, lanes } = timeline;
	const isKnown = watchesGil(report) && report.lanes.some((lane) => lane.holds?.holds.length);
	byId('lengths').hidden = !isKnown;
	if (!isKnown)
		return;
	const select = /** @type {HTMLSelectElement} */ (byId('lengths-thread'));
	const nameOf = threadNames(report.summary.processes);
	/** @param {string} text @param {number} index */
	const option = (text, index) => {
		const element = make('option', '', text);
		element.value = String(index);
		return element;
	};
	select.append(option('all threads', -1));
	const isOne = lanes.every(({ process }) => process === lanes[0].process);
	/** @type {HTMLElement} */
	let group = select;
	for (const [place, lane] of lanes.entries()) {
		const { process, thread } = lane;
		if (!isOne && process !== lanes[place - 1]?.process) {
			const element = make('optgroup', '');
			element.label = `${visibleText(process.command)} pid ${process.pid}`;
			select.append(element);
			group = element;
		}
		if (report.lanes[place].holds)
			group.append(option(nameText(nameOf(process.pid, thread.tid)), lane.index));
	}
	const all = lengthsOf(report, -1);
	/* Both on one scale, and on that of all threads: so they can be compared. */
	const bins = binsOf([all.waits, all.holds]);
	const show = () => {
		const { waits, holds } = lengthsOf(report, Number(select.value));
		byId('lengths-waits').replaceChildren(...makeHistogram(waits, bins));
		byId('lengths-holds').replaceChildren(...makeHistogram(holds, bins));
	};
	select.addEventListener('change', show);
	let followed = timeline.chosen;
	onChange(timeline, ['choice'], () => {
		/* Another interval of the same thread changes nothing of what was chosen here. */
		if (timeline.chosen === followed)
			return;
		followed = timeline.chosen;
		const chosen = String(followed);
		if (select.value === chosen || ![...select.options].some(({ value }) => value === chosen))
			return;
		select.value = chosen;
		show();
	});
	show();
}
