// SPDX-License-Identifier: MIT
/*
 * Pointers in the timeline: a drag moves it, with shift or in the ruler it selects a range, at an edge of
 * the selection it moves that edge; two fingers zoom.
 */

import { chooseAt, hoverAt, hoverEnd } from './choose.js';
import { byId } from './dom.js';
import { clearSelection, selectRange } from './selection.js';
import { pan, showRange } from './timeline.js';
import { pixelAt, timeAt } from './view.js';

const DRAG_PIXELS = 3;
const EDGE_PIXELS = 4;

/** @typedef {{x: number, y: number}} Place in the window, in pixels of CSS */

/**
 * What pointers that are down do. ANCHOR: the moment that stays, of a selection; FIRST and SECOND: the
 * moments that stay below two fingers.
 * @typedef {{kind: 'pan', start: Place, from: number, scroll: number, moved: boolean}
 *   | {kind: 'select', start: Place, anchor: number, moved: boolean}
 *   | {kind: 'pinch', first: number, second: number, middle: number, scroll: number}} Gesture
 */

/**
 * @typedef {object} Hand
 * @property {import('./timeline.js').Timeline} timeline
 * @property {Map<number, Place>} pointers that are down, by their ids
 * @property {Gesture | null} gesture
 */

/** @param {PointerEvent} event */
function placeOf(event) {
	const box = byId('window').getBoundingClientRect();
	return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} x
 */
function momentAt(timeline, x) {
	return timeAt(timeline.view, x * timeline.scale);
}

/**
 * The edge of the selection at X, and the other one.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} x
 */
function edgeAt({ selection, view, scale }, x) {
	if (!selection)
		return null;
	/** @param {number} time */
	const distance = (time) => Math.abs(pixelAt(view, time) / scale - x);
	const { from, to } = selection;
	if (Math.min(distance(from), distance(to)) > EDGE_PIXELS)
		return null;
	return distance(from) < distance(to) ? { edge: from, other: to } : { edge: to, other: from };
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {Place} start
 * @param {boolean} moved whether it is no click any more
 * @returns {Gesture}
 */
function startPan({ view }, start, moved) {
	return { kind: 'pan', start, from: view.from, scroll: byId('scroller').scrollTop, moved };
}

/**
 * @param {Hand} hand
 * @returns {Gesture}
 */
function startPinch({ timeline, pointers }) {
	const [a, b] = [...pointers.values()];
	return {
		kind: 'pinch',
		first: momentAt(timeline, a.x),
		second: momentAt(timeline, b.x),
		middle: (a.y + b.y) / 2,
		scroll: byId('scroller').scrollTop,
	};
}

/**
 * Moves and scales the view so that the same moments are below the fingers.
 * @param {Hand} hand
 * @param {Extract<Gesture, {kind: 'pinch'}>} gesture
 */
function pinch({ timeline, pointers }, { first, second, middle, scroll }) {
	const [a, b] = [...pointers.values()];
	byId('scroller').scrollTop = scroll - ((a.y + b.y) / 2 - middle);
	/* One above the other, they say nothing of time. */
	if (Math.abs(b.x - a.x) < DRAG_PIXELS || (second - first) * (b.x - a.x) <= 0)
		return;
	const each = (second - first) / (b.x - a.x);
	const from = first - a.x * each;
	showRange(timeline, from, from + each * byId('window').clientWidth);
}

/**
 * @param {Hand} hand
 * @param {PointerEvent} event
 */
function press(hand, event) {
	const { timeline, pointers } = hand;
	const pane = /** @type {HTMLElement} */ (event.currentTarget);
	if (event.button !== 0 || pointers.size > 1)
		return;
	const place = placeOf(event);
	const isRuler = pane.id === 'ruler';
	pane.setPointerCapture(event.pointerId);
	pointers.set(event.pointerId, place);
	if (pointers.size === 2) {
		hand.gesture = startPinch(hand);
		return;
	}
	const edge = event.shiftKey ? null : edgeAt(timeline, place.x);
	if (edge || event.shiftKey || isRuler)
		hand.gesture = {
			kind: 'select',
			start: place,
			anchor: edge ? edge.other : momentAt(timeline, place.x),
			moved: false,
		};
	else
		hand.gesture = startPan(timeline, place, false);
	/* Else shift selects text. */
	if (event.shiftKey || isRuler)
		event.preventDefault();
	byId('plot').focus({ preventScroll: true });
}

/**
 * @param {Hand} hand
 * @param {PointerEvent} event
 */
function move(hand, event) {
	const { timeline, pointers, gesture } = hand;
	const pane = /** @type {HTMLElement} */ (event.currentTarget);
	const place = placeOf(event);
	if (!gesture || !pointers.has(event.pointerId)) {
		pane.classList.toggle('at-edge', edgeAt(timeline, place.x) !== null);
		if (pane.id !== 'ruler' && !gesture)
			hoverAt(timeline, place.x, place.y);
		return;
	}
	pointers.set(event.pointerId, place);
	if (gesture.kind === 'pinch') {
		hoverEnd();
		pinch(hand, gesture);
		return;
	}
	const { start } = gesture;
	if (Math.hypot(place.x - start.x, place.y - start.y) > DRAG_PIXELS)
		gesture.moved = true;
	if (!gesture.moved)
		return;
	hoverEnd();
	if (gesture.kind === 'select') {
		selectRange(timeline, gesture.anchor, momentAt(timeline, place.x));
		return;
	}
	const { view } = timeline;
	const target = gesture.from - ((place.x - start.x) / pane.clientWidth) * (view.to - view.from);
	pane.classList.add('dragging');
	pan(timeline, (target - view.from) / (view.to - view.from));
	byId('scroller').scrollTop = gesture.scroll - (place.y - start.y);
}

/**
 * @param {Hand} hand
 * @param {PointerEvent} event
 */
function release(hand, event) {
	const { timeline, pointers, gesture } = hand;
	if (!pointers.delete(event.pointerId))
		return;
	byId('window').classList.remove('dragging');
	if (gesture?.kind === 'pan' && !gesture.moved && event.type === 'pointerup')
		chooseAt(timeline, gesture.start.x, gesture.start.y);
	/* The finger that is left goes on as one. */
	const [left] = pointers.values();
	hand.gesture = left ? startPan(timeline, left, true) : null;
}

/** @param {import('./timeline.js').Timeline} timeline */
export function listenToPointer(timeline) {
	/** @type {Hand} */
	const hand = { timeline, pointers: new Map(), gesture: null };
	for (const pane of [byId('window'), byId('ruler')]) {
		pane.addEventListener('pointerdown', (event) => press(hand, event));
		pane.addEventListener('pointermove', (event) => move(hand, event));
		pane.addEventListener('pointerup', (event) => release(hand, event));
		pane.addEventListener('pointercancel', (event) => release(hand, event));
	}
	byId('window').addEventListener('pointerleave', hoverEnd);
	byId('scroller').addEventListener('scroll', hoverEnd);
	/* Before the key itself clears the selection. */
	document.addEventListener(
		'keydown',
		(event) => {
			if (event.key !== 'Escape' || hand.gesture?.kind !== 'select')
				return;
			hand.gesture = null;
			clearSelection(timeline);
		},
		{ capture: true },
	);
}
