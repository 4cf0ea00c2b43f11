// SPDX-License-Identifier: MIT
/*
 * The intervals as they are embedded: one column of numbers after the other, each a zlib stream of
 * little-endian base-128 varints in base64, in a script element of its own that the browser does
 * not run.
 */

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
	let count = 0;
	let value = 0;
	let scale = 1;
	return {
		/** @param {Uint8Array} bytes */
		read(bytes) {
			for (let i = 0; i < bytes.length; i++) {
				const byte = bytes[i];
				if (byte & 0x80) {
					value += (byte & 0x7f) * scale;
					scale *= 128;
					continue;
				}
				if (count === values.length)
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
	const text = element.textContent ?? '';
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
		for (;;) {
			const { done, value } = await reader.read();
			if (done)
				break;
			varints.read(value);
		}
		varints.end();
	};
	await Promise.all([feed(), drain()]);
}
