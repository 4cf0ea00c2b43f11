// SPDX-License-Identifier: MIT
/* What people do with rows: fold, hide, make thin, move and sort them. */

import { onChange } from './changes.js';
import { chooseLane } from './choose.js';
import { byId } from './dom.js';
import {
	firstSorting,
	hideLane,
	laneBeside,
	moveLane,
	rowsBetween,
	showHidden,
	sortRows,
	sortedLanes,
	toggleFolded,
	toggleThin,
} from './rows.js';

const LABEL_DRAG_PIXELS = 4;

/** @type {import('./rows.js').Sorting[]} */
const SORTINGS = ['start', 'waiting', 'holding'];

/**
 * @param {import('./timeline.js').Timeline} timeline
 */
export function listenToLabels(timeline) {
	const labels = byId('labels');
	const sort = /** @type {HTMLSelectElement} */ (byId('sort-rows'));

	sort.value = firstSorting(timeline.lanes);
	sort.addEventListener('change', () =>
		sortRows(timeline, /** @type {import('./rows.js').Sorting} */ (sort.value)),
	);
	let known = timeline.arrangement.order.join();
	onChange(timeline, ['rows'], () => {
		const now = timeline.arrangement.order.join();
		if (now === known)
			return;
		known = now;
		/* Where two orders are the same, it is the one that was asked for. */
		const wanted = SORTINGS.filter((by) => by === sort.value);
		sort.value =
			[...wanted, ...SORTINGS].find((by) => sortedLanes(timeline.lanes, by).join() === now) ?? 'own';
	});
	const wasDragged = listenToDrags(timeline, labels);
	labels.addEventListener('click', (event) => {
		const target = /** @type {Element} */ (event.target);
		const lane = target.closest('.lane');
		const process = target.closest('.process');
		if (target.closest('.fold'))
			toggleFolded(timeline, Number(/** @type {HTMLElement} */ (process).dataset.process));
		else if (target.closest('.show-hidden')) {
			showHidden(timeline, Number(/** @type {HTMLElement} */ (process).dataset.process));
			/* The button is gone: the focus stays beside it. */
			/** @type {HTMLElement | null | undefined} */ (process?.querySelector('.fold'))?.focus();
		} else if (lane instanceof HTMLElement && !wasDragged()) {
			const index = Number(lane.dataset.lane);
			if (target.closest('.hide'))
				hide(timeline, index);
			else if (target.closest('.make-thin'))
				toggleThin(timeline, index);
			else
				chooseLane(timeline, index);
		}
	});
	document.addEventListener('keydown', (event) => {
		const inside = byId('plot').contains(/** @type {Node} */ (event.target));
		const direction = { ArrowUp: -1, ArrowDown: 1 }[event.key];
		if (!event.altKey || event.ctrlKey || event.metaKey || !inside || !direction || timeline.chosen < 0)
			return;
		event.preventDefault();
		if (moveLane(timeline, timeline.chosen, direction))
			byId('place').textContent = direction < 0 ? 'Moved up' : 'Moved down';
	});
}

/**
 * What keys do with rows.
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {Record<string, () => void>}
 */
export function rowKeys(timeline) {
	return {
		h: () => {
			if (timeline.chosen >= 0)
				hide(timeline, timeline.chosen);
		},
		t: () => {
			if (timeline.chosen >= 0)
				toggleThin(timeline, timeline.chosen);
		},
	};
}

/**
 * Hides a lane; if it was chosen, its neighbour is.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {number} index
 */
function hide(timeline, index) {
	if (timeline.chosen === index) {
		const below = laneBeside(timeline, index, 1);
		const other = below === index ? laneBeside(timeline, index, -1) : below;
		chooseLane(timeline, other === index ? -1 : other);
	}
	hideLane(timeline, index);
	byId('place').textContent = 'Hidden';
}

/**
 * A label that is dragged takes its row with it, among those of its process.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {HTMLElement} labels
 * @returns {() => boolean} whether the pointer has just moved a row
 */
function listenToDrags(timeline, labels) {
	/** @type {{index: number, y: number, pointer: number, moved: boolean} | null} */
	let drag = null;
	let dragged = false;

	labels.addEventListener('pointerdown', (event) => {
		const target = /** @type {Element} */ (event.target);
		const label = target.closest('.lane');
		dragged = false;
		if (event.button === 0 && label instanceof HTMLElement && !target.closest('button'))
			drag = { index: Number(label.dataset.lane), y: event.clientY, pointer: event.pointerId, moved: false };
	});
	labels.addEventListener('pointermove', (event) => {
		if (!drag)
			return;
		if (!drag.moved && Math.abs(event.clientY - drag.y) > LABEL_DRAG_PIXELS) {
			drag.moved = true;
			labels.setPointerCapture(drag.pointer);
			labels.classList.add('dragging');
		}
		const own = timeline.rowOfLane[drag.index];
		if (!drag.moved || !own)
			return;
		const y = event.clientY - labels.getBoundingClientRect().top;
		const [over] = rowsBetween(timeline.rows, y, y + 1e-6);
		if (!over?.lane || over === own || over.process !== own.process)
			return;
		const direction = over.top > own.top ? 1 : -1;
		/* Only past its middle: rows of different heights would change places for ever. */
		if ((y - over.top - over.height / 2) * direction < 0 && over.height !== own.height)
			return;
		const { lane } = over;
		const isPast = () => {
			const { order } = timeline.arrangement;
			return (order.indexOf(/** @type {{index: number}} */ (drag).index) - order.indexOf(lane.index)) * direction > 0;
		};
		while (!isPast() && moveLane(timeline, drag.index, direction));
	});
	const end = () => {
		dragged = drag?.moved ?? false;
		drag = null;
		labels.classList.remove('dragging');
	};
	labels.addEventListener('pointerup', end);
	labels.addEventListener('pointercancel', end);
	return () => dragged;
}
