// SPDX-License-Identifier: MIT
/* Pages for the tests, made by make_page, and what can be read out of them without a browser. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = mkdtempSync(join(tmpdir(), 'giltrace-page-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** The program that makes pages: beside the giltrace under test, else of any build folder. */
function findProgram() {
	const builds = readdirSync(root)
		.filter((name) => name.startsWith('build'))
		.map((name) => join(root, name));
	if (process.env.GILTRACE)
		builds.unshift(resolve(dirname(process.env.GILTRACE), '..'));
	return [process.env.GILTRACE_MAKE_PAGE, ...builds.map((build) => join(build, 'tests/browser/make_page'))].find(
		(path) => path && existsSync(path),
	);
}

export const makePage = findProgram();

/** Why nothing can be recorded here; false when it can. */
export const cannotRecord = !process.env.GILTRACE
	? 'GILTRACE does not name the program to record with'
	: process.getuid?.() !== 0
		? 'recording needs root'
		: false;

/** @typedef {{path: string, html: string, summary: import('../../lib/render/viewer/report.js').Summary}} Page */
/** @type {Map<string, Page>} */
const pages = new Map();

/**
 * @param {string} scenario
 * @param {number} [intervals]
 * @param {number} [slices] more of them the page shall not have
 * @returns {Page}
 */
export function page(scenario, intervals, slices) {
	const key = [scenario, intervals ?? '', slices ?? ''].join('-');
	const known = pages.get(key);
	if (known)
		return known;
	const path = join(folder, `${key}.html`);
	const summaryPath = path.replace('.html', '.json');
	const count = intervals ? [String(intervals), String(slices ?? 0)] : [];
	const result = spawnSync(String(makePage), [scenario, path, summaryPath, ...count], { encoding: 'utf8' });
	if (result.status !== 0)
		throw new Error(`make_page ${scenario}: ${result.stderr}`);
	const made = {
		path,
		html: readFileSync(path, 'utf8'),
		summary: JSON.parse(readFileSync(summaryPath, 'utf8')),
	};
	pages.set(key, made);
	return made;
}

/**
 * The path of a page that is too large to be kept in memory, and has no summary beside it.
 * @param {string} scenario
 * @param {number} intervals
 */
export function largePage(scenario, intervals) {
	const path = join(folder, `large-${scenario}-${intervals}.html`);
	if (existsSync(path))
		return path;
	const result = spawnSync(String(makePage), [scenario, path, '-', String(intervals)], { encoding: 'utf8' });
	if (result.status !== 0)
		throw new Error(`make_page ${scenario}: ${result.stderr}`);
	return path;
}

/** @param {string} name */
export function temporary(name) {
	return join(folder, name);
}

/**
 * The text of the script element with an id.
 * @param {string} html
 * @param {string} id
 */
export function elementText(html, id) {
	const start = html.indexOf(`id="${id}">`) + id.length + 6;
	return html.slice(start, html.indexOf('</script>', start));
}

/**
 * The text of a column, which is in a comment.
 * @param {string} html
 * @param {string} id
 */
function columnText(html, id) {
	const start = html.indexOf(`id="${id}"><!--`) + id.length + 10;
	return html.slice(start, html.indexOf('-->', start));
}

/**
 * The time of threads in which they were off their CPUs.
 * @param {import('../../lib/render/viewer/report.js').Thread[]} threads
 */
export function offCpu(threads) {
	return threads.reduce(
		(sum, { total_ns, state }) =>
			sum + (state ? total_ns - state.running_ns - state.unknown_ns : 0),
		0,
	);
}

/**
 * Reads the intervals of a page as the page itself does.
 * @param {string} html
 */
export async function readPage(html) {
	const { makeLanes, readIntervals, readStates } = await import('../../lib/render/viewer/lanes.js');
	const { readStacks } = await import('../../lib/render/viewer/stacks.js');
	const { readMemory } = await import('../../lib/render/viewer/memory.js');
	const { parseReport } = await import('../../lib/render/viewer/report.js');
	const { readFlame } = await import('../../lib/render/viewer/flame.js');
	const report = parseReport(elementText(html, 'report'));
	const lanes = makeLanes(report);
	/* All that columns.js asks of a document. */
	Object.assign(globalThis, {
		document: {
			/** @param {string} id */
			getElementById: (id) =>
				id.startsWith('column-')
					? { firstChild: { data: columnText(html, id) }, remove() {} }
					: { textContent: elementText(html, id) },
		},
	});
	const stacks = await readStacks(report);
	return {
		report,
		lanes,
		intervals: await readIntervals(report, lanes),
		states: await readStates(report, lanes),
		stacks,
		memory: await readMemory(report),
		flame: await readFlame(report, stacks),
	};
}
