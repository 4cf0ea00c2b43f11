// SPDX-License-Identifier: MIT
/* In which order the rows of a table stand. */

/**
 * @typedef {object} Order
 * @property {string} key of a column
 * @property {boolean} isUp the smallest first
 */

/**
 * What a click at a column's heading makes of the order: the most first, the least first, as recorded;
 * names from a to z, from z to a, as recorded.
 * @param {Order | null} order
 * @param {{key: string, isText?: boolean}} column
 * @returns {Order | null}
 */
export function nextOrder(order, column) {
	const isFirstUp = column.isText === true;
	if (order?.key !== column.key)
		return { key: column.key, isUp: isFirstUp };
	return order.isUp === isFirstUp ? { key: column.key, isUp: !isFirstUp } : null;
}

/**
 * ITEMS in order. Those without a value come last either way; what is equal stays as it was.
 * @template Item
 * @param {Item[]} items
 * @param {(item: Item) => number | string | null} valueOf
 * @param {boolean} isUp
 */
export function sorted(items, valueOf, isUp) {
	const sign = isUp ? 1 : -1;
	return items
		.map((item) => ({ item, value: valueOf(item) }))
		.sort(({ value: a }, { value: b }) => {
			if (a === null || b === null)
				return Number(a === null) - Number(b === null);
			return a === b ? 0 : a < b ? -sign : sign;
		})
		.map(({ item }) => item);
}

/**
 * An order as links have it: "has", "has-up".
 * @param {Order | null} order
 */
export function orderText(order) {
	return order && order.key + (order.isUp ? '-up' : '');
}

/**
 * @param {string | null} text
 * @returns {Order | null}
 */
export function readOrder(text) {
	if (!text)
		return null;
	const isUp = text.endsWith('-up');
	return { key: isUp ? text.slice(0, -3) : text, isUp };
}
