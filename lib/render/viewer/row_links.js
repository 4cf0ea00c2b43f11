// SPDX-License-Identifier: MIT
/* Which rows are hidden, and their order, as links tell it: the lanes by their places in the page. */

import { firstOrder, hiddenLanes, laneOrder, setHidden, setLaneOrder } from './rows.js';

/** @param {string | null} text any @param {number} count of lanes */
function readLanes(text, count) {
	const places = (text ?? '').split(',').filter((part) => /^\d{1,6}$/.test(part)).map(Number);
	return [...new Set(places)].filter((place) => place < count);
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {import('./fragment.js').LinkPart[]}
 */
export function rowLinks(timeline) {
	const count = timeline.lanes.length;
	const first = firstOrder(timeline.lanes);
	return [
		{
			name: 'hidden',
			write: () => [...hiddenLanes(timeline)].sort((a, b) => a - b).join(',') || null,
			read: (text) => setHidden(timeline, readLanes(text, count)),
		},
		{
			name: 'order',
			write: () => {
				const order = laneOrder(timeline);
				return order.every((lane, place) => lane === first[place]) ? null : order.join(',');
			},
			read: (text) => setLaneOrder(timeline, text === null ? first : readLanes(text, count)),
		},
	];
}
