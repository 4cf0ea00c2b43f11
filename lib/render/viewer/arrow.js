// SPDX-License-Identifier: MIT
/*
 * Arrows from the chosen wait to who held the GIL meanwhile: each at a moment when that thread held it, to
 * its bar there, or to the GIL's lane when the thread is not seen.
 */

import { onChange } from './changes.js';
import { byId } from './dom.js';
import { formatShare } from './format.js';
import { KIND_HAS, KIND_WAIT, firstEndingAfter } from './lanes.js';
import { HOLDERS_BAR, barOf } from './rows.js';
import { nameText } from './thread_names.js';
import { pixelAt } from './view.js';

const MOST_ARROWS = 6;
/* Of CSS. */
const HEAD = 5;
const EDGE = 12;
const TEXT_HEIGHT = 17;
/* A label goes to the left of an arrow that is so near to the right edge. */
const TEXT_WIDTH = 170;

/**
 * @typedef {object} Held what a thread held of the GIL during a wait
 * @property {import('./lanes.js').Lane} lane
 * @property {number} ns
 * @property {number} from of its longest part
 * @property {number} to
 */

/**
 * Those who held the GIL during a wait, most first.
 * @param {import('./lanes.js').Intervals} intervals
 * @param {import('./lanes.js').Lane[]} lanes
 * @param {import('./lanes.js').Lane} waiter
 * @param {number} wait
 * @returns {Held[]}
 */
export function heldDuring(intervals, lanes, waiter, wait) {
	const { start, end, kind, gil } = intervals;
	/** @type {Held[]} */
	const all = [];
	for (const lane of lanes) {
		if (lane.process !== waiter.process || lane === waiter)
			continue;
		const held = { lane, ns: 0, from: 0, to: 0 };
		let i = firstEndingAfter(intervals, lane.first, lane.last, start[wait]);
		for (; i < lane.last && start[i] < end[wait]; i++) {
			if (kind[i] !== KIND_HAS || (gil[wait] !== 0 && gil[i] !== gil[wait]))
				continue;
			const from = Math.max(start[i], start[wait]);
			const to = Math.min(end[i], end[wait]);
			held.ns += to - from;
			if (to - from > held.to - held.from)
				Object.assign(held, { from, to });
		}
		if (held.ns > 0)
			all.push(held);
	}
	return all.sort((a, b) => b.ns - a.ns);
}

/** @param {import('./timeline.js').Timeline} timeline */
export function showArrows(timeline) {
	/** @type {Held[]} */
	let holders = [];
	onChange(timeline, ['choice'], () => {
		const { intervals, interval, chosen, lanes } = timeline;
		holders =
			intervals && interval >= 0 && intervals.kind[interval] === KIND_WAIT
				? heldDuring(intervals, lanes, lanes[chosen], interval).slice(0, MOST_ARROWS)
				: [];
	});
	onChange(timeline, ['view'], () => drawArrows(timeline, holders));
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
function makeSvg(tag, attributes) {
	const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, String(value));
	return element;
}

/**
 * A moment when a holder has the GIL within the wait and the view; null when there is none.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./lanes.js').Intervals} intervals
 * @param {Held} held
 */
function momentOf(timeline, intervals, held) {
	const { view, interval } = timeline;
	const { start, end, kind, gil } = intervals;
	const from = Math.max(view.from, start[interval]);
	const to = Math.min(view.to, end[interval]);
	if (held.from < to && held.to > from)
		return (Math.max(held.from, from) + Math.min(held.to, to)) / 2;
	const { first, last } = held.lane;
	/* The longest part is out of sight: any other will do. */
	for (let i = firstEndingAfter(intervals, first, last, from); i < last && start[i] < to; i++)
		if (kind[i] === KIND_HAS && (gil[interval] === 0 || gil[i] === gil[interval]))
			return (Math.max(start[i], from) + Math.min(end[i], to)) / 2;
	return null;
}

/**
 * Where a thread's bar is in the window, or of the GIL's lane where the thread has no row.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./lanes.js').Lane} lane
 * @param {number} gil of the wait, as in the intervals
 */
function barPlace(timeline, lane, gil) {
	const own = timeline.rowOfLane[lane.index];
	const row =
		own ??
		timeline.rows.find(
			({ gil: other, process }) => other && process === lane.process && (gil === 0 || other.id + 1 === gil),
		);
	const bar = own ? barOf(timeline, own, 'gil') : HOLDERS_BAR;
	if (!row || !bar)
		return null;
	const top = row.top + bar.top - byId('scroller').scrollTop;
	return { middle: top + bar.height / 2, own: own !== null };
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {Held[]} holders
 */
function drawArrows(timeline, holders) {
	const { intervals, interval, chosen, view, scale, lanes } = timeline;
	const svg = byId('arrows');
	const old = svg.childElementCount > 0;
	if (!intervals || holders.length === 0 || interval < 0) {
		if (old)
			svg.replaceChildren();
		return;
	}
	const width = view.width / scale;
	const height = byId('window').clientHeight;
	const gil = intervals.gil[interval];
	const length = intervals.end[interval] - intervals.start[interval];
	const own = timeline.rowOfLane[chosen] && barPlace(timeline, lanes[chosen], gil);
	/** @type {Element[]} */
	const parts = [];
	/** @type {Element[]} */
	const labels = [];
	/* Labels that would lie upon each other are moved apart. */
	/** @type {{x: number, y: number}[]} */
	const texts = [];

	for (const [place, held] of (own ? holders : []).entries()) {
		const moment = momentOf(timeline, intervals, held);
		const target = barPlace(timeline, held.lane, gil);
		if (moment === null || !target || !own)
			continue;
		const x = pixelAt(view, moment) / scale;
		const up = target.middle < own.middle;
		const from = Math.min(height, Math.max(0, own.middle));
		const to = target.middle;
		const end = Math.min(height - 1, Math.max(1, to));
		const seen = end === to;
		const side = up ? HEAD : -HEAD;
		const line = `M${x} ${from}L${x} ${end + side}`;
		const group = makeSvg('g', {
			class: place === 0 ? 'arrow longest' : 'arrow',
			'data-lane': held.lane.index,
			'data-ns': held.ns,
			'data-seen': String(seen && target.own),
		});
		group.append(
			makeSvg('path', { class: 'halo', d: line }),
			makeSvg('path', { class: 'shaft', d: line }),
			makeSvg('circle', { cx: x, cy: from, r: place === 0 ? 3 : 2 }),
			makeSvg('path', {
				class: 'head',
				d: `M${x} ${end}L${x - HEAD} ${end + 1.7 * side}L${x + HEAD} ${end + 1.7 * side}Z`,
			}),
		);
		const left = x > width - TEXT_WIDTH;
		let y = Math.min(height - 5, Math.max(EDGE, end + TEXT_HEIGHT / 4));
		while (texts.some((text) => Math.abs(text.x - x) < TEXT_WIDTH && Math.abs(text.y - y) < TEXT_HEIGHT))
			y += up ? TEXT_HEIGHT : -TEXT_HEIGHT;
		texts.push({ x, y });
		const text = makeSvg('text', { x: x + (left ? -8 : 8), y, class: left ? 'left' : '' });
		text.textContent = `${nameText(timeline.nameOf(held.lane.process.pid, held.lane.thread.tid))} · ${formatShare(held.ns, length)}`;
		parts.push(group);
		labels.push(makeSvg('g', { class: place === 0 ? 'longest' : '' }));
		labels[labels.length - 1].append(text);
	}
	/* The longest lies above the others, and labels above all arrows. */
	svg.replaceChildren(...parts.reverse(), ...labels);
	const boxes = labels.map((label) => /** @type {SVGGraphicsElement} */ (label).getBBox());
	labels.forEach((label, place) => {
		const { x, y, width: wide, height: high } = boxes[place];
		label.prepend(makeSvg('rect', { x: x - 3, y, width: wide + 6, height: high, rx: 2 }));
	});
}
