// SPDX-License-Identifier: MIT
/* What threads are called: a name that only one thread has says who it is, and needs no number. */

import { make } from './dom.js';
import { formatName } from './format.js';

/**
 * @typedef {object} ThreadName
 * @property {string} name
 * @property {string} number the tid, where the name does not say who it is
 * @property {string} title
 * @property {boolean} named whether the thread has a name of its own: else it has its process's
 * @property {boolean} main
 */

/** Asks for the name of a thread; tid null: nobody. @typedef {(pid: number, tid: number | null) => ThreadName} NameOf */

/**
 * @param {import('./report.js').Process[]} processes
 * @param {boolean} [together] whether those of all processes stand in one list: their names are then to be
 *   told apart, too
 * @returns {NameOf}
 */
export function threadNames(processes, together = false) {
	/** @type {Map<string, {process: import('./report.js').Process, thread: import('./report.js').Thread}>} */
	const threads = new Map();
	/** @param {number} pid @param {string} name */
	const useKey = (pid, name) => (together ? name : `${pid} ${name}`);
	/** @type {Map<string, number>} */
	const uses = new Map();
	for (const process of processes)
		for (const thread of process.threads) {
			threads.set(`${process.pid} ${thread.tid}`, { process, thread });
			const use = useKey(process.pid, thread.name);
			uses.set(use, (uses.get(use) ?? 0) + 1);
		}
	/** @type {Map<string, ThreadName>} */
	const known = new Map();
	return (pid, tid) => {
		const key = `${pid} ${tid}`;
		let name = known.get(key);
		if (!name)
			known.set(key, (name = makeName(threads.get(key), (text) => uses.get(useKey(pid, text)) === 1, pid, tid)));
		return name;
	};
}

/**
 * @param {{process: import('./report.js').Process, thread: import('./report.js').Thread} | undefined} found
 * @param {(name: string) => boolean} isOnly whether no other thread has a name
 * @param {number} pid
 * @param {number | null} tid
 * @returns {ThreadName}
 */
function makeName(found, isOnly, pid, tid) {
	if (tid === null)
		return { name: 'nobody', number: '', title: 'nobody held the GIL', named: false, main: false };
	const title = `pid ${pid}, tid ${tid}`;
	if (!found)
		return { name: String(tid), number: '', title, named: false, main: false };
	const { thread, process } = found;
	const { main } = thread;
	if (thread.name === process.command)
		return { name: main ? 'main' : String(tid), number: main ? String(tid) : '', title, named: false, main };
	const name = formatName(thread.name);
	return { name, number: isOnly(thread.name) ? '' : String(tid), title: `${name}, ${title}`, named: true, main };
}

/** @param {ThreadName} thread */
export function nameText({ name, number }) {
	return number ? `${name} ${number}` : name;
}

/** @param {ThreadName} thread */
export function nameElement({ name, number }) {
	const element = make('span', 'person', make('bdi', '', name));
	if (number)
		element.append(make('span', 'tid', ` ${number}`));
	return element;
}
