// SPDX-License-Identifier: MIT
/* The box beside the pointer. */

import { byId } from './dom.js';

/**
 * Shows NODES beside a place of the window, wherever there is room for them.
 * @param {Node[]} nodes
 * @param {number} x
 * @param {number} y
 */
export function showHover(nodes, x, y) {
	const hover = byId('hover');
	const { innerWidth, innerHeight } = window;
	hover.replaceChildren(...nodes);
	hover.hidden = false;
	const left = x + 16;
	const top = y + 18;
	hover.style.left = Math.max(4, left + hover.offsetWidth > innerWidth - 8 ? left - hover.offsetWidth - 32 : left) + 'px';
	hover.style.top = Math.max(4, top + hover.offsetHeight > innerHeight - 8 ? top - hover.offsetHeight - 36 : top) + 'px';
}

export function hideHover() {
	byId('hover').hidden = true;
}
