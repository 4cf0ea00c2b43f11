// SPDX-License-Identifier: MIT
/*
 * Unpacks the page's script, which is a quarter as large so, and runs it. It is the same text whatever the
 * report; the page allows it by its hash like this one.
 */
(async () => {
	const dead = /** @type {HTMLElement} */ (document.getElementById('dead'));
	if (typeof DecompressionStream === 'undefined') {
		dead.textContent = 'This browser cannot unpack this page (it has no DecompressionStream): use a newer one.';
		return;
	}
	const packed = atob(document.getElementById('viewer')?.textContent ?? '');
	const bytes = new Uint8Array(packed.length);
	for (let i = 0; i < packed.length; i++)
		bytes[i] = packed.charCodeAt(i);
	const inflate = new DecompressionStream('deflate');
	const writer = inflate.writable.getWriter();
	const reader = inflate.readable.getReader();
	const decoder = new TextDecoder();
	const script = document.createElement('script');
	/* None of this waits for anything but itself: the script runs before more of the document is read. */
	void writer.write(bytes).catch(() => {});
	void writer.close().catch(() => {});
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			break;
		script.append(decoder.decode(value, { stream: true }));
	}
	document.body.append(script);
})();
