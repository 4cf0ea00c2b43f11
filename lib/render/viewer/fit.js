// SPDX-License-Identifier: MIT
/* What the view is fitted to: what is chosen, what is selected, and all. */

import { showRange } from './timeline.js';
import { setRange } from './view.js';

/* What is chosen is shown with some of what is around it. */
const MARGIN = 0.25;

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {{from: number, to: number} | null}
 */
function chosenRange({ interval, state, intervals, states }) {
	const list = state >= 0 ? states : intervals;
	const index = Math.max(state, interval);
	if (index < 0 || !list)
		return null;
	const margin = (list.end[index] - list.start[index]) * MARGIN;
	return { from: list.start[index] - margin, to: list.end[index] + margin };
}

/**
 * Shows the chosen interval or state, else the selection; asked again, the next of them, and then all.
 * @param {import('./timeline.js').Timeline} timeline
 */
export function fitNext(timeline) {
	const { view, selection } = timeline;
	const views = [chosenRange(timeline), selection, { from: 0, to: view.duration }]
		.filter((range) => range !== null)
		.map(({ from, to }) => {
			const fitted = { ...view };
			setRange(fitted, from, to);
			return fitted;
		});
	const seen = views.findIndex(({ from, to }) => from === view.from && to === view.to);
	const { from, to } = views[(seen + 1) % views.length];
	showRange(timeline, from, to);
}
