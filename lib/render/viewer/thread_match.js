// SPDX-License-Identifier: MIT
/* Whether a thread is one that somebody looks for. */

import { formatName, visibleText } from './format.js';

/**
 * @param {import('./report.js').Process} process
 * @param {import('./report.js').Thread} thread
 * @param {string} text in small letters: of its name, its tid, or its process's command or pid
 */
export function matchesThread(process, thread, text) {
	return (
		formatName(thread.name).toLowerCase().includes(text) ||
		visibleText(process.command).toLowerCase().includes(text) ||
		String(thread.tid).startsWith(text) ||
		String(process.pid) === text
	);
}
