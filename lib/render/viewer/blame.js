// SPDX-License-Identifier: MIT
/* The list of who kept whom waiting, most first. */

import { byId, make } from './dom.js';
import { formatDuration, formatName, formatShare } from './format.js';
import { watchesGil } from './report.js';

const FIRST = 12;
const MOST = 500;

/** @param {import('./report.js').ReportMeta} report */
export function showBlame(report) {
	const { blame } = report.summary;
	const list = byId('blame-list');
	const total = blame.reduce((sum, entry) => sum + entry.ns, 0);
	byId('blame').hidden = !watchesGil(report);
	if (blame.length === 0) {
		byId('blame').append(make('p', 'empty', 'Nobody waited.'));
		return;
	}
	/** @type {Map<string, {name: string, main: boolean, named: boolean}>} by pid and tid */
	const threads = new Map();
	/** @type {Map<string, number>} */
	const uses = new Map();
	for (const process of report.summary.processes)
		for (const { tid, name, main } of process.threads) {
			/* A thread that was given no name has its process's. */
			threads.set(`${process.pid} ${tid}`, { name, main, named: name !== process.command });
			uses.set(name, (uses.get(name) ?? 0) + 1);
		}

	/** @param {number} pid @param {number | null} tid */
	const person = (pid, tid) => {
		if (tid === null)
			return make('i', '', 'nobody');
		const thread = threads.get(`${pid} ${tid}`);
		const element = make('span', '');
		if (!thread?.named)
			element.append(make('bdi', '', thread?.main ? `main ${tid}` : `${tid}`));
		else
			element.append(make('bdi', '', formatName(thread.name)));
		/* A name that says who it is needs no number. */
		if (thread?.named && (uses.get(thread.name) ?? 0) > 1)
			element.append(make('span', 'tid', ` ${tid}`));
		element.title = `pid ${pid}, tid ${tid}`;
		return element;
	};
	/** @param {import('./report.js').Blame[]} entries */
	const add = (entries) => {
		for (const { pid, waiter, holder, ns } of entries) {
			const length = make('span', 'length');
			length.style.width = (100 * ns) / blame[0].ns + '%';
			const item = make(
				'li',
				'',
				make('span', 'who', person(pid, waiter), ' waited for ', person(pid, holder)),
				make('span', 'time', `${formatDuration(ns)} · ${formatShare(ns, total)}`),
				length,
			);
			item.dataset.value = String(ns);
			list.append(item);
		}
	};
	add(blame.slice(0, FIRST));
	if (blame.length > FIRST) {
		const more = make('button', 'more', `Show ${Math.min(MOST, blame.length) - FIRST} more`);
		more.type = 'button';
		more.addEventListener('click', () => {
			more.remove();
			add(blame.slice(FIRST, MOST));
		});
		list.after(more);
	}
}
