// SPDX-License-Identifier: MIT
/* Pointer, keys and buttons of the flame graphs. */

import { byId, make } from './dom.js';
import { line } from './details.js';
import {
	ROW_HEIGHT,
	arrange,
	askFlame,
	focusNode,
	nodeAt,
	nodeFigures,
	nodeName,
	search,
	showTree,
	treeOf,
} from './flame.js';
import { hideHover, showHover } from './hover.js';

/** @type {[import('./flame.js').Which, string][]} */
const BUTTONS = [
	['off_cpu', 'flame-off-cpu'],
	['off_gil', 'flame-off-gil'],
];

/** @param {import('./flame.js').Flame} flame */
export function listenToFlame(flame) {
	byId('flame').hidden = false;
	const press = () => {
		for (const [which, id] of BUTTONS)
			byId(id).setAttribute('aria-pressed', String(which === flame.which));
	};
	for (const [which, id] of BUTTONS) {
		const button = /** @type {HTMLButtonElement} */ (byId(id));
		button.disabled = flame.trees[which].total[0] === 0;
		button.addEventListener('click', () => {
			showTree(flame, which);
			press();
		});
	}
	press();
	const input = /** @type {HTMLInputElement} */ (byId('flame-search'));
	input.addEventListener('input', () => search(flame, input.value.trim()));
	input.addEventListener('keydown', (event) => {
		if (event.key !== 'Escape')
			return;
		input.value = '';
		search(flame, '');
	});
	byId('flame-reset').addEventListener('click', () => focusNode(flame, 0));
	listenToFlamePointer(flame);
	listenToFlameKeys(flame);
	byId('flame-plot').addEventListener('scroll', () => {
		hideHover();
		askFlame(flame);
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => askFlame(flame));
	/* Not at once: the height follows from the width. */
	let { clientWidth } = byId('flame-track');
	new ResizeObserver(() =>
		requestAnimationFrame(() => {
			if (byId('flame-track').clientWidth !== clientWidth)
				arrange(flame);
			({ clientWidth } = byId('flame-track'));
		}),
	).observe(byId('flame-plot'));
	arrange(flame);
}

/**
 * @param {import('./flame.js').Flame} flame
 * @param {number} node
 */
function describeNode(flame, node) {
	return [
		make('div', 'what', nodeName(flame, node)),
		...nodeFigures(flame, node).map(([term, text]) => line(term, text)),
	];
}

/** @param {import('./flame.js').Flame} flame */
function listenToFlamePointer(flame) {
	const canvas = byId('flame-pixels');
	/** @param {MouseEvent} event */
	const find = (event) => {
		const box = canvas.getBoundingClientRect();
		return nodeAt(flame, event.clientX - box.left, event.clientY - box.top);
	};
	canvas.addEventListener('pointermove', (event) => {
		const node = find(event);
		canvas.classList.toggle('over', node >= 0);
		if (node >= 0)
			showHover(describeNode(flame, node), event.clientX, event.clientY);
		else
			hideHover();
	});
	canvas.addEventListener('pointerleave', hideHover);
	canvas.addEventListener('click', (event) => {
		const node = find(event);
		if (node < 0)
			return;
		hideHover();
		focusNode(flame, node);
	});
}

/**
 * Marks a node, brings it into sight, and tells it.
 * @param {import('./flame.js').Flame} flame
 * @param {number} node
 */
function chooseNode(flame, node) {
	const plot = byId('flame-plot');
	const row = flame.rows.findIndex((boxes) => boxes.some((box) => box.node === node));
	if (row < 0)
		return;
	flame.chosen = node;
	if (row * ROW_HEIGHT < plot.scrollTop)
		plot.scrollTop = row * ROW_HEIGHT;
	else if ((row + 1) * ROW_HEIGHT > plot.scrollTop + plot.clientHeight)
		plot.scrollTop = (row + 1) * ROW_HEIGHT - plot.clientHeight;
	const figures = nodeFigures(flame, node).map(([term, text]) => `${term} ${text}`);
	byId('flame-place').textContent = `${nodeName(flame, node)}: ${figures.join(', ')}`;
	askFlame(flame);

	const track = byId('flame-track').getBoundingClientRect();
	const box = flame.rows[row].find((candidate) => candidate.node === node);
	showHover(describeNode(flame, node), track.left + (box?.x ?? 0), track.top + (row + 0.5) * ROW_HEIGHT);
}

/** @param {import('./flame.js').Flame} flame */
function listenToFlameKeys(flame) {
	const plot = byId('flame-plot');
	/** The drawn node beside the chosen one. @param {number} direction */
	const sibling = (direction) => {
		const row = flame.rows.find((boxes) => boxes.some((box) => box.node === flame.chosen)) ?? [];
		const place = row.findIndex((box) => box.node === flame.chosen) + direction;
		return row[place]?.node ?? flame.chosen;
	};
	const child = () => {
		const { parent } = treeOf(flame);
		const depth = treeOf(flame).depth[flame.chosen] + 1;
		return flame.rows[depth]?.find(({ node }) => parent[node] === flame.chosen)?.node ?? flame.chosen;
	};
	/** @type {Record<string, () => void>} */
	const keys = {
		ArrowUp: () => chooseNode(flame, treeOf(flame).parent[flame.chosen]),
		ArrowDown: () => chooseNode(flame, child()),
		ArrowLeft: () => chooseNode(flame, sibling(-1)),
		ArrowRight: () => chooseNode(flame, sibling(1)),
		Home: () => chooseNode(flame, flame.focus),
		Enter: () => {
			focusNode(flame, flame.chosen);
			chooseNode(flame, flame.chosen);
		},
		Escape: () => {
			hideHover();
			focusNode(flame, 0);
		},
	};
	plot.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key])
			return;
		event.preventDefault();
		event.stopPropagation();
		if (flame.chosen < 0)
			flame.chosen = flame.focus;
		keys[event.key]();
	});
	plot.addEventListener('blur', hideHover);
}
