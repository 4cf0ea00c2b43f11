// SPDX-License-Identifier: MIT
/*
 * The intervals as they are embedded: one column of numbers after the other, each a zlib stream of
 * little-endian base-128 varints in base64, in a comment within an element of its own.
 */

import { pause } from './slices.js';

/* So long the page does not answer meanwhile. */
const MOST_BUSY_MS = 40;
const SLICE_CHARACTERS = 1 << 20; /* a multiple of four: a slice of base64 stands alone */

/** @param {string} text */
function decodeBase64(text) {
	const native = /** @type {{fromBase64?: (text: string) => Uint8Array<ArrayBuffer>}} */ (
		/** @type {unknown} */ (Uint8Array)
	).fromBase64;
	if (native)
		return native.call(Uint8Array, text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

/**
 * Reads varints out of chunks that may end anywhere.
 * @param {{[index: number]: number, readonly length: number}} values filled from its start
 */
export function varintReader(values) {
	const { length } = values;
	let count = 0;
	let value = 0;
	let scale = 1;
	return {
		/** @param {Uint8Array} bytes */
		read(bytes) {
			let i = 0;
			/* Most are short and whole: these need no state. Any four bytes fit into 28 bits. */
			while (scale === 1 && i + 4 <= bytes.length && count < length) {
				const first = bytes[i];
				if (first < 0x80) {
					values[count++] = first;
					i++;
					continue;
				}
				const second = bytes[i + 1];
				if (second < 0x80) {
					values[count++] = (first & 0x7f) | (second << 7);
					i += 2;
					continue;
				}
				const third = bytes[i + 2];
				const start = (first & 0x7f) | ((second & 0x7f) << 7);
				if (third < 0x80) {
					values[count++] = start | (third << 14);
					i += 3;
					continue;
				}
				const fourth = bytes[i + 3];
				i += 4;
				if (fourth < 0x80) {
					values[count++] = start | ((third & 0x7f) << 14) | (fourth << 21);
					continue;
				}
				value = start | ((third & 0x7f) << 14) | ((fourth & 0x7f) << 21);
				scale = 2 ** 28;
				while (i < bytes.length && bytes[i] >= 0x80) {
					value += (bytes[i++] & 0x7f) * scale;
					scale *= 128;
				}
				if (i === bytes.length)
					break;
				values[count++] = value + bytes[i++] * scale;
				value = 0;
				scale = 1;
			}
			for (; i < bytes.length; i++) {
				const byte = bytes[i];
				if (byte & 0x80) {
					value += (byte & 0x7f) * scale;
					scale *= 128;
					continue;
				}
				if (count === length)
					throw new Error('a column is longer than its heading says');
				values[count++] = value + byte * scale;
				value = 0;
				scale = 1;
			}
		},
		end() {
			if (count !== values.length || scale !== 1)
				throw new Error('a column is shorter than its heading says');
		},
	};
}

/**
 * Decodes the column NAME into VALUES, and takes its text out of the document.
 * @param {string} name
 * @param {{[index: number]: number, readonly length: number}} values
 */
export async function readColumn(name, values) {
	const element = document.getElementById('column-' + name);
	if (!element)
		throw new Error(`the column ${name} is missing`);
	const text = /** @type {Comment | null} */ (element.firstChild)?.data ?? '';
	element.remove();

	const inflate = new DecompressionStream('deflate');
	const writer = inflate.writable.getWriter();
	const feed = async () => {
		for (let at = 0; at < text.length; at += SLICE_CHARACTERS)
			await writer.write(decodeBase64(text.slice(at, at + SLICE_CHARACTERS)));
		await writer.close();
	};
	const varints = varintReader(values);
	const drain = async () => {
		const reader = inflate.readable.getReader();
		let rested = performance.now();
		for (;;) {
			const { done, value } = await reader.read();
			if (done)
				break;
			varints.read(value);
			if (performance.now() - rested < MOST_BUSY_MS)
				continue;
			await pause();
			rested = performance.now();
		}
		varints.end();
	};
	await Promise.all([feed(), drain()]);
}
