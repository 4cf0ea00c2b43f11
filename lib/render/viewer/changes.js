// SPDX-License-Identifier: MIT
/*
 * Parts of the page that show the same thing hear from here when it has changed: the table of the selected
 * range, the link to what is seen.
 */

/**
 * view: the part of the trace that is seen; selection: the range that is selected; filter: the waits that
 * alone are shown; choice: the thread, interval or state that is chosen; rows: which rows there are, and in
 * which order.
 * @typedef {'view' | 'selection' | 'filter' | 'choice' | 'rows'} Change
 */

/** @typedef {Map<Change, (() => void)[]>} Listeners */

/**
 * @param {{listeners: Listeners}} timeline
 * @param {Change[]} changes
 * @param {() => void} act
 */
export function onChange(timeline, changes, act) {
	for (const change of changes)
		timeline.listeners.set(change, [...(timeline.listeners.get(change) ?? []), act]);
}

/**
 * @param {{listeners: Listeners}} timeline
 * @param {Change} change
 */
export function tellChange(timeline, change) {
	for (const act of timeline.listeners.get(change) ?? [])
		act();
}
