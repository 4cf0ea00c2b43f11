// SPDX-License-Identifier: MIT
/* The flame graphs: where threads were when they were off the CPU, or waited for the GIL. */

import { byId } from './dom.js';
import { formatDuration, formatShare, visibleText } from './format.js';
import { layOut, markNames, readTree, sumMarked } from './flame_tree.js';

/* Of CSS. */
export const ROW_HEIGHT = 18;
const NARROWEST = 1;
const FONT_SIZE = 11;
const PADDING = 4;
const TINTS = 4;
/* Rows of the root, processes and threads. */
const HEAD_ROWS = 3;

/** @typedef {'off_cpu' | 'off_gil'} Which */

/**
 * @typedef {object} Flame
 * @property {string[]} names
 * @property {Set<string>} states names of states, which have a colour of their own
 * @property {Record<Which, import('./flame_tree.js').Tree>} trees
 * @property {Which} which
 * @property {number} focus the node that is as wide as all
 * @property {number} chosen node, or -1
 * @property {Uint8Array} marked by name
 * @property {boolean} searching
 * @property {import('./flame_tree.js').Box[][]} rows in pixels of CSS
 * @property {number} tallest rows that there were of this tree: what is below does not jump
 * @property {boolean} waiting for a frame
 */

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./stacks.js').Stacks | null} stacks
 * @returns {Promise<Flame | null>} null when there is nothing to show
 */
export async function readFlame(report, stacks) {
	if (!report.stacks || !stacks)
		return null;
	const trees = {
		off_cpu: await readTree('off-cpu', report.stacks.off_cpu),
		off_gil: await readTree('off-gil', report.stacks.off_gil),
	};
	if (trees.off_cpu.total[0] + trees.off_gil.total[0] === 0)
		return null;
	return {
		names: stacks.names,
		states: new Set([
			'[on CPU]',
			'[unknown]',
			...(report.state_kinds ?? []).map(({ name }) => name ?? ''),
		]),
		trees,
		which: trees.off_cpu.total[0] > 0 ? 'off_cpu' : 'off_gil',
		focus: 0,
		chosen: -1,
		marked: new Uint8Array(stacks.names.length),
		searching: false,
		rows: [],
		tallest: 0,
		waiting: false,
	};
}

/** @param {Flame} flame */
export function treeOf(flame) {
	return flame.trees[flame.which];
}

/**
 * @param {Flame} flame
 * @param {number} node
 */
export function nodeName(flame, node) {
	return node === 0 ? 'all' : visibleText(flame.names[treeOf(flame).name[node]] ?? '?');
}

/**
 * What is to be said of a node.
 * @param {Flame} flame
 * @param {number} node
 * @returns {[string, string][]}
 */
export function nodeFigures(flame, node) {
	const { total, own } = treeOf(flame);
	/** @type {[string, string][]} */
	const figures = [
		['time', formatDuration(total[node])],
		['of all', formatShare(total[node], total[0])],
	];
	if (flame.focus !== 0)
		figures.push(['of what is shown', formatShare(total[node], total[flame.focus])]);
	if (own[node] > 0 && own[node] < total[node])
		figures.push(['itself', formatDuration(own[node])]);
	return figures;
}

/** @param {Flame} flame */
export function askFlame(flame) {
	if (flame.waiting)
		return;
	flame.waiting = true;
	requestAnimationFrame(() => {
		flame.waiting = false;
		drawFlame(flame);
	});
}

/**
 * Makes NODE as wide as all.
 * @param {Flame} flame
 * @param {number} node
 */
export function focusNode(flame, node) {
	flame.focus = node;
	flame.chosen = node;
	arrange(flame);
}

/** @param {Flame} flame @param {Which} which */
export function showTree(flame, which) {
	flame.which = which;
	flame.tallest = 0;
	focusNode(flame, 0);
	flame.chosen = -1;
}

/** @param {Flame} flame @param {string} text */
export function search(flame, text) {
	flame.searching = text !== '';
	flame.marked = markNames(flame.names, text);
	tellMatches(flame);
	askFlame(flame);
}

/** @param {Flame} flame */
function tellMatches(flame) {
	const { total } = treeOf(flame);
	const output = byId('flame-matches');
	const sum = flame.searching ? sumMarked(treeOf(flame), flame.focus, flame.marked) : 0;
	output.textContent = flame.searching
		? `found in ${formatShare(sum, total[flame.focus])} · ${formatDuration(sum)}`
		: '';
	output.dataset.value = String(sum);
}

/**
 * Finds out what is drawn where, after the focus or the width has changed.
 * @param {Flame} flame
 */
export function arrange(flame) {
	const tree = treeOf(flame);
	const plot = byId('flame-plot');
	flame.rows = layOut(tree, flame.focus, byId('flame-track').clientWidth, NARROWEST);
	flame.tallest = Math.max(flame.tallest, flame.rows.length);
	byId('flame-track').style.height = flame.tallest * ROW_HEIGHT + 'px';
	byId('flame-total').textContent =
		flame.focus === 0
			? formatDuration(tree.total[0])
			: `${formatDuration(tree.total[flame.focus])} of ${formatDuration(tree.total[0])}`;
	/** @type {HTMLButtonElement} */ (byId('flame-reset')).disabled = flame.focus === 0;
	plot.dataset.total = String(tree.total[0]);
	plot.dataset.focus = nodeName(flame, flame.focus);
	plot.dataset.boxes = String(flame.rows.reduce((sum, row) => sum + row.length, 0));
	tellMatches(flame);
	askFlame(flame);
}

/**
 * The node at a place of the canvas, in pixels of CSS; -1 when there is none.
 * @param {Flame} flame
 * @param {number} x
 * @param {number} y
 */
export function nodeAt(flame, x, y) {
	const row = flame.rows[Math.floor((y + byId('flame-plot').scrollTop) / ROW_HEIGHT)];
	return row?.find((box) => x >= box.x && x < box.x + box.width)?.node ?? -1;
}

/**
 * @param {Flame} flame
 * @param {number} node
 * @param {number} row
 */
function colourOf(flame, node, row) {
	const name = treeOf(flame).name[node];
	if (flame.searching && node > 0 && flame.marked[name])
		return '--match';
	if (row < HEAD_ROWS)
		return '--flame-head';
	if (flame.states.has(flame.names[name]) && treeOf(flame).child[node] === 0)
		return '--flame-state';
	let hash = 0;
	for (const character of flame.names[name])
		hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
	return `--flame-${hash % TINTS}`;
}

/** @param {Flame} flame */
function drawFlame(flame) {
	const plot = byId('flame-plot');
	const canvas = /** @type {HTMLCanvasElement} */ (byId('flame-pixels'));
	const context = canvas.getContext('2d', { alpha: false });
	const style = getComputedStyle(document.documentElement);
	const scale = devicePixelRatio || 1;
	const width = byId('flame-track').clientWidth;
	const height = plot.clientHeight;
	const { scrollTop } = plot;

	if (!context)
		return;
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	canvas.style.width = width + 'px';
	canvas.style.height = height + 'px';
	context.scale(scale, scale);
	context.fillStyle = style.getPropertyValue('--plot');
	context.fillRect(0, 0, width, height);
	context.font = `${FONT_SIZE}px ${style.getPropertyValue('--mono')}`;
	context.textBaseline = 'middle';
	const letter = context.measureText('m').width;
	/** @type {Map<string, string>} */
	const colours = new Map();
	/** @param {string} name */
	const colour = (name) => {
		const known = colours.get(name) ?? style.getPropertyValue(name);
		colours.set(name, known);
		return known;
	};
	const last = Math.min(flame.rows.length, Math.ceil((scrollTop + height) / ROW_HEIGHT));
	for (let row = Math.floor(scrollTop / ROW_HEIGHT); row < last; row++) {
		const y = row * ROW_HEIGHT - scrollTop;
		for (const box of flame.rows[row])
			drawBox(flame, context, box, row, y, letter, colour);
	}
}

/**
 * @param {Flame} flame
 * @param {CanvasRenderingContext2D} context
 * @param {import('./flame_tree.js').Box} box
 * @param {number} row
 * @param {number} y
 * @param {number} letter width of one
 * @param {(name: string) => string} colour
 */
function drawBox(flame, context, box, row, y, letter, colour) {
	const { node, x } = box;
	const width = Math.max(0.6, box.width - 1);
	const name = colourOf(flame, node, row);
	context.fillStyle = colour(name);
	context.fillRect(x, y, width, ROW_HEIGHT - 1);
	/* What was found is told by a line, too. */
	if (name === '--match') {
		context.fillStyle = colour('--match-line');
		context.fillRect(x, y + ROW_HEIGHT - 4, width, 3);
	}
	const room = Math.floor((width - 2 * PADDING) / letter);
	if (room >= 3) {
		const text = nodeName(flame, node);
		context.fillStyle = colour(name === '--match' ? '--match-ink' : '--ink');
		context.fillText(
			text.length > room ? text.slice(0, room - 1) + '…' : text,
			x + PADDING,
			y + ROW_HEIGHT / 2,
		);
	}
	if (node === flame.chosen) {
		context.strokeStyle = colour('--ink');
		context.lineWidth = 2;
		context.strokeRect(x + 1, y + 1, Math.max(1, width - 2), ROW_HEIGHT - 3);
	}
}
