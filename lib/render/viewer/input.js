// SPDX-License-Identifier: MIT
/* Wheel, pointer, keys and buttons of the timeline. */

import {
	chooseAt,
	chooseLane,
	chooseNothing,
	hoverAt,
	hoverEnd,
	stepInterval,
	stepState,
} from './choose.js';
import { byId } from './dom.js';
import { fitView, pan, zoomAtPixel } from './timeline.js';

const ZOOM_STEP = 1.5;
const PAN_STEP = 0.15;
/* A turn of the wheel that began elsewhere on the page goes on scrolling the page. */
const WHEEL_PAUSE_MS = 200;
const DRAG_PIXELS = 3;

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

/** @param {import('./timeline.js').Timeline} timeline */
function listenToPointer(timeline) {
	const pane = byId('window');
	/** @type {{x: number, y: number, from: number, scroll: number, moved: boolean} | null} */
	let drag = null;

	/** @param {PointerEvent} event */
	const place = (event) => {
		const box = pane.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	};
	pane.addEventListener('pointerdown', (event) => {
		if (event.button !== 0)
			return;
		pane.setPointerCapture(event.pointerId);
		drag = {
			...place(event),
			from: timeline.view.from,
			scroll: byId('scroller').scrollTop,
			moved: false,
		};
	});
	pane.addEventListener('pointermove', (event) => {
		const { x, y } = place(event);
		if (!drag) {
			hoverAt(timeline, x, y);
			return;
		}
		if (Math.hypot(x - drag.x, y - drag.y) > DRAG_PIXELS)
			drag.moved = true;
		if (!drag.moved)
			return;
		pane.classList.add('dragging');
		hoverEnd();
		const { view } = timeline;
		const target = drag.from - ((x - drag.x) / pane.clientWidth) * (view.to - view.from);
		pan(timeline, (target - view.from) / (view.to - view.from));
		byId('scroller').scrollTop = drag.scroll - (y - drag.y);
	});
	/** @param {PointerEvent} event */
	const end = (event) => {
		pane.classList.remove('dragging');
		if (drag && !drag.moved && event.type === 'pointerup')
			chooseAt(timeline, drag.x, drag.y);
		drag = null;
	};
	pane.addEventListener('pointerup', end);
	pane.addEventListener('pointercancel', end);
	pane.addEventListener('pointerleave', hoverEnd);
	pane.addEventListener('dblclick', () => fitView(timeline));
	byId('scroller').addEventListener('scroll', hoverEnd);
}

/** @param {KeyboardEvent} event */
function isTyping(event) {
	return /** @type {Element} */ (event.target).tagName === 'INPUT';
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
		f: () => fitView(timeline),
		',': () => stepInterval(timeline, -1),
		'.': () => stepInterval(timeline, 1),
		j: () => stepState(timeline, -1),
		k: () => stepState(timeline, 1),
		Escape: () => chooseNothing(timeline),
		...others,
	};
	/* These scroll the page when the timeline has not the focus. */
	/** @type {Record<string, () => void>} */
	const keysInside = {
		ArrowLeft: () => pan(timeline, -PAN_STEP),
		ArrowRight: () => pan(timeline, PAN_STEP),
		ArrowUp: () => chooseLane(timeline, timeline.chosen - 1),
		ArrowDown: () => chooseLane(timeline, timeline.chosen + 1),
		Home: () => pan(timeline, -1e9),
		End: () => pan(timeline, 1e9),
	};
	document.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event))
			return;
		const inside = plot.contains(/** @type {Node} */ (event.target));
		const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const action = (inside && keysInside[key]) || keys[key];
		if (!action)
			return;
		event.preventDefault();
		action();
	});
}
