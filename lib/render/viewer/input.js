// SPDX-License-Identifier: MIT
/* Wheel, keys and buttons of the timeline. */

import { chooseLane, chooseNothing, hoverEnd, stepInterval, stepLane, stepState } from './choose.js';
import { byId } from './dom.js';
import { clearFilter } from './filter.js';
import { fitNext } from './fit.js';
import { listenToPointer } from './pointer.js';
import { clearSelection, endSelection, selectView, startSelection } from './selection.js';
import { fitView, pan, zoomAtPixel } from './timeline.js';

const ZOOM_STEP = 1.5;
const PAN_STEP = 0.15;
/* A turn of the wheel that began elsewhere on the page goes on scrolling the page. */
const WHEEL_PAUSE_MS = 200;

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {Record<string, () => void>} [others] what keys do for other parts of the page
 */
export function listen(timeline, others = {}) {
	listenToWheel(timeline);
	listenToPointer(timeline);
	listenToKeys(timeline, others);
	const middle = () => byId('window').clientWidth / 2;
	byId('zoom-in').addEventListener('click', () => zoomAtPixel(timeline, middle(), 1 / ZOOM_STEP));
	byId('zoom-out').addEventListener('click', () => zoomAtPixel(timeline, middle(), ZOOM_STEP));
	byId('fit').addEventListener('click', () => fitView(timeline));
	byId('window').addEventListener('dblclick', () => fitNext(timeline));
	byId('keys-open').addEventListener('click', showKeys);
	byId('keys-close').addEventListener('click', () => keysDialog().close());
}

function keysDialog() {
	return /** @type {HTMLDialogElement} */ (byId('keys'));
}

function showKeys() {
	keysDialog().showModal();
}

/** @param {import('./timeline.js').Timeline} timeline */
function listenToWheel(timeline) {
	const pane = byId('window');
	let last = -Infinity;
	let inside = false;

	window.addEventListener(
		'wheel',
		(event) => {
			const target = /** @type {Node} */ (event.target);
			if (event.timeStamp - last > WHEEL_PAUSE_MS)
				inside = pane.contains(target);
			last = event.timeStamp;
			if (!inside || !pane.contains(target))
				return;
			event.preventDefault();
			const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
			const x = event.clientX - pane.getBoundingClientRect().left;
			if (event.shiftKey) {
				byId('scroller').scrollTop += (event.deltaY || event.deltaX) * lines;
				return;
			}
			if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
				pan(timeline, (event.deltaX * lines) / pane.clientWidth);
				return;
			}
			/* A pinch comes as a wheel with the control key, in finer steps. */
			const speed = event.ctrlKey ? 0.01 : 0.002;
			const turn = Math.max(-300, Math.min(300, event.deltaY * lines));
			zoomAtPixel(timeline, x, Math.exp(turn * speed));
		},
		{ passive: false },
	);
}

/**
 * Whether a key is for somebody else: a field, or the dialog that is open.
 * @param {KeyboardEvent} event
 */
function isTyping(event) {
	const target = /** @type {Element} */ (event.target);
	return ['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName) || target.closest('dialog') !== null;
}

/**
 * Lets go of one thing at a time: what lies over the others first, and the thread last.
 * @param {import('./timeline.js').Timeline} timeline
 */
function letGo(timeline) {
	hoverEnd();
	if (timeline.filter)
		clearFilter(timeline);
	else if (timeline.selection)
		clearSelection(timeline);
	else if (timeline.interval >= 0 || timeline.state >= 0)
		chooseNothing(timeline);
	else if (timeline.chosen >= 0)
		chooseLane(timeline, -1);
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {Record<string, () => void>} others
 */
function listenToKeys(timeline, others) {
	const plot = byId('plot');
	/** @param {number} factor */
	const zoom = (factor) => zoomAtPixel(timeline, byId('window').clientWidth / 2, factor);
	/** @type {Record<string, () => void>} */
	const keys = {
		w: () => zoom(1 / ZOOM_STEP),
		'+': () => zoom(1 / ZOOM_STEP),
		'=': () => zoom(1 / ZOOM_STEP),
		s: () => zoom(ZOOM_STEP),
		'-': () => zoom(ZOOM_STEP),
		a: () => pan(timeline, -PAN_STEP),
		d: () => pan(timeline, PAN_STEP),
		f: () => fitNext(timeline),
		r: () => selectView(timeline),
		'[': () => startSelection(timeline),
		']': () => endSelection(timeline),
		'?': showKeys,
		',': () => stepInterval(timeline, -1),
		'.': () => stepInterval(timeline, 1),
		j: () => stepState(timeline, -1),
		k: () => stepState(timeline, 1),
		Escape: () => letGo(timeline),
		...others,
	};
	/* These scroll the page when the timeline has not the focus. */
	/** @type {Record<string, () => void>} */
	const keysInside = {
		ArrowLeft: () => pan(timeline, -PAN_STEP),
		ArrowRight: () => pan(timeline, PAN_STEP),
		ArrowUp: () => stepLane(timeline, -1),
		ArrowDown: () => stepLane(timeline, 1),
		Home: () => pan(timeline, -1e9),
		End: () => pan(timeline, 1e9),
	};
	document.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event))
			return;
		const inside = plot.contains(/** @type {Node} */ (event.target));
		const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const action = (inside && keysInside[key]) || keys[key];
		if (!action || event.defaultPrevented)
			return;
		event.preventDefault();
		action();
	});
}
