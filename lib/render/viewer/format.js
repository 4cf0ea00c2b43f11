// SPDX-License-Identifier: MIT
/* Numbers and names as people read them. */

const NARROW_SPACE = '\u202f';

/** @type {[number, string][]} */
const UNITS = [
	[1e9, 's'],
	[1e6, 'ms'],
	[1e3, 'µs'],
	[1, 'ns'],
];

/**
 * A duration with three or four significant digits: 1.234 s, 12.35 ms, 640 ns.
 * @param {number | null} ns
 */
export function formatDuration(ns) {
	if (ns === null)
		return 'unknown';
	if (ns === 0)
		return '0';
	const size = Math.abs(ns);
	for (const [scale, unit] of UNITS) {
		/* Not 1000.0 of the unit below. */
		if (size < 0.99995 * scale && scale > 1)
			continue;
		const value = ns / scale;
		const digits = scale === 1 ? 0 : size >= 100 * scale ? 1 : size >= 10 * scale ? 2 : 3;
		return value.toFixed(digits) + NARROW_SPACE + unit;
	}
	return String(ns);
}

/**
 * A moment since the start, as precise as RESOLUTION_NS: 1.234567 s.
 * @param {number} ns
 * @param {number} resolution_ns
 */
export function formatMoment(ns, resolution_ns) {
	const digits = Math.min(9, Math.max(3, Math.ceil(9 - Math.log10(Math.max(1, resolution_ns)))));
	return (ns / 1e9).toFixed(digits) + NARROW_SPACE + 's';
}

/**
 * @param {number | null} part
 * @param {number} whole
 */
export function formatShare(part, whole) {
	if (part === null || whole <= 0)
		return '–';
	const percent = (100 * part) / whole;
	if (part > 0 && percent < 0.05)
		return '<0.1' + NARROW_SPACE + '%';
	if (part < whole && percent >= 99.95)
		return '>99.9' + NARROW_SPACE + '%';
	return percent.toFixed(1) + NARROW_SPACE + '%';
}

/** @param {number} bytes */
export function formatBytes(bytes) {
	/** @type {[number, string][]} */
	const units = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']];
	for (const [scale, unit] of units)
		if (bytes >= scale)
			return (bytes / scale).toFixed(bytes >= 100 * scale ? 0 : 1) + NARROW_SPACE + unit;
	return bytes + NARROW_SPACE + 'B';
}

/** @param {number | null} count */
export function formatCount(count) {
	if (count === null)
		return '–';
	return String(count).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
}

/**
 * Text from outside with everything made visible that could hide or reorder what stands beside it:
 * control characters, directional marks, zero-width characters.
 * @param {string} text
 */
export function visibleText(text) {
	return text.replace(
		// eslint-disable-next-line no-control-regex
		/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\ud800-\udfff](?![\udc00-\udfff])/gu,
		(character) => '\\u' + character.charCodeAt(0).toString(16).padStart(4, '0'),
	);
}

/** @param {string} name of a thread */
export function formatName(name) {
	return name === '' ? '(no name)' : visibleText(name);
}

/**
 * A command line as one would type it: words with anything special in them are quoted.
 * @param {string[]} words
 */
export function formatCommand(words) {
	return words
		.map((word) =>
			/^[\w@%+=:,./~-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'",
		)
		.map(visibleText)
		.join(' ');
}

/** @param {number} ms */
export function formatDate(ms) {
	const date = new Date(ms);
	/** @param {number} value */
	const two = (value) => String(value).padStart(2, '0');
	return (
		`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
		`${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
	);
}

/**
 * "a", "a and b", "a, b and c".
 * @param {string[]} items
 */
export function formatList(items) {
	if (items.length < 2)
		return items.join('');
	return items.slice(0, -1).join(', ') + ' and ' + items[items.length - 1];
}
