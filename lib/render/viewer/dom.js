// SPDX-License-Identifier: MIT
/* Elements by one call. Text only ever goes in as text. */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} className
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, className, ...children) {
	const element = document.createElement(tag);
	if (className)
		element.className = className;
	element.append(...children);
	return element;
}

/** @param {string} id */
export function byId(id) {
	const element = document.getElementById(id);
	if (!element)
		throw new Error(`the page has no element ${id}`);
	return element;
}
