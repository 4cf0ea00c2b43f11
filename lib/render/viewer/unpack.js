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
	const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
	const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
	const script = document.createElement('script');
	script.textContent = await new Response(unpacked).text();
	document.body.append(script);
})();
