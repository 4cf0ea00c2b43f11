// SPDX-License-Identifier: MIT
/*
 * The tree of a flame graph: at its root is all time; below are processes, their threads, the frames of
 * their stacks from the outermost on, and what the thread did there.
 */

import { readColumn } from './columns.js';

/**
 * @typedef {object} Tree
 * @property {Uint32Array} parent by node; parents stand before their children
 * @property {Uint32Array} name
 * @property {Float64Array} own time that is in no child
 * @property {Float64Array} total with that of the children
 * @property {Uint32Array} depth
 * @property {Uint32Array} child the largest one; 0: none
 * @property {Uint32Array} next the next smaller child of the same parent; 0: none
 */

/** A node as it is drawn. @typedef {{node: number, x: number, width: number}} Box */

/**
 * @param {string} prefix of the columns' names
 * @param {number} count nodes but the root
 */
export async function readTree(prefix, count) {
	const parent = new Uint32Array(count + 1);
	const name = new Uint32Array(count + 1);
	const own = new Float64Array(count + 1);

	await readColumn(prefix + '-up', parent.subarray(1));
	await readColumn(prefix + '-name', name.subarray(1));
	await readColumn(prefix + '-ns', own.subarray(1));
	for (let i = 1; i <= count; i++) {
		if (parent[i] === 0 || parent[i] > i)
			throw new Error('a node of a flame graph has no place in its tree');
		parent[i] = i - parent[i];
	}
	return makeTree(parent, name, own);
}

/**
 * @param {Uint32Array} parent
 * @param {Uint32Array} name
 * @param {Float64Array} own
 * @returns {Tree}
 */
export function makeTree(parent, name, own) {
	const count = parent.length;
	const total = own.slice();
	const depth = new Uint32Array(count);
	const child = new Uint32Array(count);
	const next = new Uint32Array(count);

	for (let i = count - 1; i > 0; i--)
		total[parent[i]] += total[i];
	for (let i = 1; i < count; i++)
		depth[i] = depth[parent[i]] + 1;
	const order = Uint32Array.from({ length: count - 1 }, (_, i) => i + 1);
	order.sort((a, b) => total[a] - total[b] || b - a);
	/* Each before the ones that are smaller. */
	for (const node of order) {
		next[node] = child[parent[node]];
		child[parent[node]] = node;
	}
	return { parent, name, own, total, depth, child, next };
}

/**
 * The nodes that are to be drawn, row by row: the way to FOCUS, and from there on what is not narrower
 * than NARROWEST when FOCUS is as wide as all.
 * @param {Tree} tree
 * @param {number} focus
 * @param {number} width
 * @param {number} narrowest
 * @returns {Box[][]}
 */
export function layOut(tree, focus, width, narrowest) {
	/** @type {Box[][]} */
	const rows = [];
	for (let node = focus; ; node = tree.parent[node]) {
		rows.unshift([{ node, x: 0, width }]);
		if (node === 0)
			break;
	}
	const scale = tree.total[focus] > 0 ? width / tree.total[focus] : 0;
	for (let row = rows[rows.length - 1]; row.length > 0; ) {
		/** @type {Box[]} */
		const below = [];
		for (const box of row) {
			let { x } = box;
			/* Largest first: what follows is narrower still. */
			for (let node = tree.child[box.node]; node > 0; node = tree.next[node]) {
				const wide = tree.total[node] * scale;
				if (wide < narrowest)
					break;
				below.push({ node, x, width: wide });
				x += wide;
			}
		}
		if (below.length > 0)
			rows.push(below);
		row = below;
	}
	return rows;
}

/**
 * The time below FOCUS of nodes whose names are marked, and of all below them.
 * @param {Tree} tree
 * @param {number} focus
 * @param {Uint8Array} marked by name
 */
export function sumMarked(tree, focus, marked) {
	const { parent, name, total } = tree;
	/* 1: at or below FOCUS; 2: at or below a marked one there. */
	const places = new Uint8Array(parent.length);
	let sum = 0;
	for (let i = focus; i < parent.length; i++) {
		if (i !== focus)
			places[i] = places[parent[i]];
		else
			places[i] = 1;
		if (places[i] !== 1 || i === 0 || !marked[name[i]])
			continue;
		places[i] = 2;
		sum += total[i];
	}
	return sum;
}

/**
 * Which names have TEXT in them, whatever its case.
 * @param {string[]} names
 * @param {string} text
 */
export function markNames(names, text) {
	const wanted = text.toLowerCase();
	return Uint8Array.from(names, (name) => (wanted && name.toLowerCase().includes(wanted) ? 1 : 0));
}
