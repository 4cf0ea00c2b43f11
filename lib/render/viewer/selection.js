// SPDX-License-Identifier: MIT
/* The range that is selected in the timeline. */

import { tellChange } from './changes.js';
import { askFrame } from './timeline.js';

/**
 * Selects what lies between two moments, whichever comes first; nothing, where that is no time at all.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} a
 * @param {number} b
 */
export function selectRange(timeline, a, b) {
	const { duration } = timeline.view;
	/** @param {number} time */
	const inside = (time) => Math.min(duration, Math.max(0, Math.round(time)));
	const from = inside(Math.min(a, b));
	const to = inside(Math.max(a, b));
	const { selection } = timeline;
	if (selection?.from === from && selection.to === to)
		return;
	if (from >= to && !selection)
		return;
	timeline.selection = from < to ? { from, to } : null;
	tellChange(timeline, 'selection');
	askFrame(timeline);
}

/** @param {import('./timeline.js').Timeline} timeline */
export function clearSelection(timeline) {
	selectRange(timeline, 0, 0);
}

/** @param {import('./timeline.js').Timeline} timeline */
export function selectView(timeline) {
	selectRange(timeline, timeline.view.from, timeline.view.to);
}

/**
 * Lets the selection begin where the view begins.
 * @param {import('./timeline.js').Timeline} timeline
 */
export function startSelection(timeline) {
	const { view, selection } = timeline;
	selectRange(timeline, view.from, selection && selection.to > view.from ? selection.to : view.to);
}

/**
 * Lets it end where the view ends.
 * @param {import('./timeline.js').Timeline} timeline
 */
export function endSelection(timeline) {
	const { view, selection } = timeline;
	selectRange(timeline, selection && selection.from < view.to ? selection.from : view.from, view.to);
}
