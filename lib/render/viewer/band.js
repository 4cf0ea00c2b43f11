// SPDX-License-Identifier: MIT
/* The selected range: a band over the ruler, the lanes and the map of all. */

import { onChange } from './changes.js';
import { byId } from './dom.js';
import { formatDuration } from './format.js';
import { pixelAt } from './view.js';

/* How far outside of the window an edge is put that is not seen: of CSS. */
const BEYOND = 8;

/** @param {import('./timeline.js').Timeline} timeline */
export function showBand(timeline) {
	onChange(timeline, ['view', 'selection'], () => placeBand(timeline));
	placeBand(timeline);
}

/** @param {import('./timeline.js').Timeline} timeline */
function placeBand(timeline) {
	const { selection, view, scale } = timeline;
	const width = view.width / scale;
	/** @param {number} time */
	const place = (time) => Math.min(width + BEYOND, Math.max(-BEYOND, pixelAt(view, time) / scale));

	for (const id of ['band', 'ruler-band']) {
		const band = byId(id);
		band.hidden = !selection;
		if (!selection)
			continue;
		const from = place(selection.from);
		const to = place(selection.to);
		band.hidden = to <= -BEYOND || from >= width + BEYOND;
		band.style.left = from + 'px';
		band.style.width = Math.max(1, to - from) + 'px';
	}
	const whole = byId('minimap-selection');
	whole.hidden = !selection;
	if (!selection)
		return;
	byId('band-length').textContent = formatDuration(selection.to - selection.from);
	whole.style.left = (100 * selection.from) / view.duration + '%';
	whole.style.width = (100 * (selection.to - selection.from)) / view.duration + '%';
}
