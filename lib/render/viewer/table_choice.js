// SPDX-License-Identifier: MIT
/* Which of both tables is seen: that of the GIL, or that of being on and off CPU. Print has both. */

import { byId } from './dom.js';
import { watchesGil } from './report.js';

const TABLES = ['gil', 'cpu'];

/**
 * Shows one of both tables where there are two.
 * @param {import('./report.js').ReportMeta} report
 * @returns {import('./fragment.js').LinkPart & {onChange: () => void}} how links name the choice
 */
export function listenToTableChoice(report) {
	const summary = byId('summary');
	const hasBoth = report.states !== undefined && watchesGil(report);
	byId('table-choice').hidden = !hasBoth;
	/** @param {string} wanted */
	const show = (wanted) => {
		summary.dataset.table = wanted;
		for (const table of TABLES)
			byId(`table-${table}`).ariaPressed = String(table === wanted);
	};
	const part = {
		name: 'table',
		write: () => (summary.dataset.table === 'cpu' ? 'cpu' : null),
		read: (/** @type {string | null} */ text) => {
			if (hasBoth)
				show(text === 'cpu' ? 'cpu' : 'gil');
		},
		onChange: () => {},
	};
	if (hasBoth)
		show('gil');
	for (const table of TABLES)
		byId(`table-${table}`).addEventListener('click', () => {
			show(table);
			part.onChange();
		});
	return part;
}
