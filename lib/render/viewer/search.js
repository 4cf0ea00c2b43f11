// SPDX-License-Identifier: MIT
/* Finds threads in the timeline: by name, tid, command, or what they slept for. */

import { onChange } from './changes.js';
import { chooseLane } from './choose.js';
import { byId } from './dom.js';
import { matchesThread } from './thread_match.js';
import { showFound } from './timeline.js';

/**
 * @typedef {object} Search
 * @property {import('./timeline.js').Timeline} timeline
 * @property {string} text that is searched for, in small letters
 * @property {number} at the match that was gone to; -1: none yet
 */

/**
 * @param {Search} search
 * @param {import('./lanes.js').Lane} lane
 */
function isMatch({ timeline, text }, { thread, process, index }) {
	const reasons = timeline.report.lanes[index].reasons ?? [];
	return (
		matchesThread(process, thread, text) ||
		/* One letter is the beginning of too many. */
		(text.length > 1 && reasons.some(([name, ns]) => ns > 0 && name.toLowerCase().startsWith(text)))
	);
}

/**
 * The lanes that match, in the order in which they are shown.
 * @param {Search} search
 */
function findLanes(search) {
	const { lanes, arrangement } = search.timeline;
	return arrangement.order.map((index) => lanes[index]).filter((lane) => isMatch(search, lane));
}

/** @param {Search} search */
function showMatches(search) {
	const { timeline, text, at } = search;
	const isOn = text !== '';
	const found = new Set(isOn ? findLanes(search) : []);
	byId('labels').classList.toggle('searching', isOn);
	showFound(
		timeline,
		[...found].map((lane) => lane.index),
	);
	const count = found.size === 0 ? 'no thread' : found.size === 1 ? '1 thread' : `${found.size} threads`;
	byId('find-count').textContent = !isOn ? '' : at < 0 ? count : `${at + 1} of ${found.size}`;
}

/**
 * @param {Search} search
 * @param {number} direction
 */
function goOn(search, direction) {
	const found = search.text === '' ? [] : findLanes(search);
	if (found.length === 0)
		return;
	const start = search.at < 0 && direction < 0 ? 0 : search.at;
	search.at = (start + direction + found.length) % found.length;
	chooseLane(search.timeline, found[search.at].index);
	showMatches(search);
}

/**
 * Listens to the box, and returns what the key does that leads to it.
 * @param {import('./timeline.js').Timeline} timeline
 */
export function listenToSearch(timeline) {
	const input = /** @type {HTMLInputElement} */ (byId('find'));
	/** @type {Search} */
	const search = { timeline, text: '', at: -1 };
	const read = () => {
		search.text = input.value.trim().toLowerCase();
		search.at = -1;
		showMatches(search);
	};
	input.addEventListener('input', read);
	input.addEventListener('keydown', (event) => {
		if (event.key === 'Enter') {
			event.preventDefault();
			goOn(search, event.shiftKey ? -1 : 1);
		} else if (event.key === 'Escape') {
			event.preventDefault();
			input.value = '';
			read();
			byId('plot').focus({ preventScroll: true });
		}
	});
	onChange(timeline, ['rows'], () => showMatches(search));
	return () => {
		input.focus();
		input.select();
	};
}
