// SPDX-License-Identifier: MIT
/* What is written into bars that have room for it. */

/**
 * @typedef {object} BarLabel
 * @property {string} text
 * @property {number} x0 of the bar, in device pixels
 * @property {number} x1
 * @property {number} middle its height on the screen
 * @property {string} [short] what is written where there is no room for all of it
 * @property {boolean} cut whether a part of the text is better than nothing
 */

/* A text that is cut has at least so many characters. */
const LEAST_CHARACTERS = 5;
/** @type {Map<string, number>} */
const widths = new Map();

/**
 * @param {CanvasRenderingContext2D} context
 * @param {CSSStyleDeclaration} style
 * @param {number} scale device pixels for one of CSS
 * @param {BarLabel[]} labels
 */
export function drawBarLabels(context, style, scale, labels) {
	const paper = style.getPropertyValue('--plot');
	const ink = style.getPropertyValue('--ink');
	const height = 12 * scale;

	context.font = `${9.5 * scale}px ${style.fontFamily}`;
	context.textBaseline = 'middle';
	/** @param {string} text */
	const measure = (text) => {
		const key = scale + text;
		const width = widths.get(key) ?? context.measureText(text).width;
		widths.set(key, width);
		return width;
	};
	for (const { text: whole, short, x0, x1, middle, cut } of labels) {
		const room = x1 - x0 - 9 * scale;
		let text = whole;
		if (short && measure(text) > room)
			text = short;
		else if (cut && text && measure(text) > room) {
			const characters = [...text];
			const kept = Math.floor((characters.length * room) / measure(text)) - 1;
			text = kept < LEAST_CHARACTERS ? '' : characters.slice(0, kept).join('') + '…';
		}
		if (!text || measure(text) > room)
			continue;
		const width = measure(text) + 5 * scale;
		const x = x0 + 3 * scale;
		context.fillStyle = paper;
		context.fillRect(x, Math.round(middle - height / 2), width, Math.round(height));
		context.fillStyle = ink;
		context.fillText(text, x + 2.5 * scale, middle + 0.5 * scale);
	}
}
