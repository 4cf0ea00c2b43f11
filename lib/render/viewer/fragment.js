// SPDX-License-Identifier: MIT
/*
 * What is seen is in the page's address, behind the #, so that a link leads to it:
 *
 *     #view=1.2s-1.43s&range=1.25s-1.3s&thread=4200.4205&sort=waits
 *
 * Only what differs from the page as it opens is there. What cannot be read, or is not there in this page,
 * is left out.
 */

import { onChange } from './changes.js';
import { chooseLane } from './choose.js';
import { clearSelection, selectRange } from './selection.js';
import { fitView, showRange } from './timeline.js';

const LINK_QUIET_MS = 300;
const NS_DIGITS = 9;
const MOMENT = /^(\d{1,7})(?:\.(\d{1,9}))?s$/;

/**
 * Something of the page that links can name.
 * @typedef {object} LinkPart
 * @property {string} name
 * @property {() => string | null} write null: as it is when the page opens
 * @property {(text: string | null) => void} read takes any text
 */

/**
 * A moment to the nanosecond: 1.2s.
 * @param {number} ns
 */
function momentText(ns) {
	const digits = String(Math.round(ns)).padStart(NS_DIGITS + 1, '0');
	const fraction = digits.slice(-NS_DIGITS).replace(/0+$/, '');
	return digits.slice(0, -NS_DIGITS) + (fraction && '.' + fraction) + 's';
}

/** @param {string} text */
function readMoment(text) {
	const match = MOMENT.exec(text);
	return match ? Number(match[1]) * 1e9 + Number((match[2] ?? '').padEnd(NS_DIGITS, '0')) : NaN;
}

/** @param {{from: number, to: number}} range */
function timesText({ from, to }) {
	return `${momentText(from)}-${momentText(to)}`;
}

/**
 * The range that a text tells, if it is one of a trace of DURATION.
 * @param {string | null} text
 * @param {number} duration
 */
function readTimes(text, duration) {
	const moments = (text ?? '').split('-').map(readMoment);
	if (moments.length !== 2 || !(moments[0] < moments[1]) || moments[0] >= duration)
		return null;
	return { from: moments[0], to: Math.min(moments[1], duration) };
}

/**
 * Of threads that had the same tid one after the other, a link leads to the first.
 * @param {import('./lanes.js').Lane} lane
 */
function threadText({ process, thread }) {
	return `${process.pid}.${thread.tid}`;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {LinkPart[]}
 */
function timelineParts(timeline) {
	const { view, lanes } = timeline;
	const { duration } = view;
	return [
		{
			name: 'thread',
			write: () => {
				const lane = lanes[timeline.chosen];
				return lane ? threadText(lane) : null;
			},
			read: (text) => {
				const lane = lanes.find((candidate) => threadText(candidate) === text);
				if (lane)
					chooseLane(timeline, lane.index);
			},
		},
		{
			name: 'range',
			write: () => timeline.selection && timesText(timeline.selection),
			read: (text) => {
				const range = readTimes(text, duration);
				if (range)
					selectRange(timeline, range.from, range.to);
				else
					clearSelection(timeline);
			},
		},
		{
			name: 'view',
			write: () => (view.from <= 0 && view.to >= duration ? null : timesText(view)),
			read: (text) => {
				const range = readTimes(text, duration);
				if (range)
					showRange(timeline, range.from, range.to);
				else
					fitView(timeline);
			},
		},
	];
}

/**
 * Reads the address, and keeps it up to date from now on. What is returned is to be called when one of
 * OTHERS has changed in a way of which the timeline does not tell.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {LinkPart[]} others
 */
export function listenToLinks(timeline, others) {
	const own = timelineParts(timeline);
	/* The view comes last: who chooses something may move it. */
	const parts = [...others, ...own];
	/** @param {boolean} isOpening what the address does not name is left as it is */
	const read = (isOpening) => {
		const wanted = new URLSearchParams(location.hash.slice(1));
		for (const part of parts)
			if (!isOpening || wanted.has(part.name))
				part.read(wanted.get(part.name));
	};
	const write = () =>
		[...[...own].reverse(), ...others]
			.map(({ name, write: text }) => [name, text()])
			.filter(([, text]) => text !== null)
			.map(([name, text]) => `${name}=${encodeURIComponent(text ?? '').replaceAll('%2C', ',')}`)
			.join('&');
	read(true);
	let written = write();
	/** @type {ReturnType<typeof setTimeout> | undefined} */
	let timer;
	const update = () => {
		const text = write();
		if (text === written)
			return;
		written = text;
		try {
			history.replaceState(null, '', text === '' ? location.href.split('#')[0] : '#' + text);
		} catch {
			/* A frame without rights of its own has no address either. */
		}
	};
	const tell = () => {
		clearTimeout(timer);
		timer = setTimeout(update, LINK_QUIET_MS);
	};
	onChange(timeline, ['view', 'selection', 'filter', 'choice', 'rows'], tell);
	window.addEventListener('hashchange', () => {
		read(false);
		written = write();
	});
	return tell;
}
