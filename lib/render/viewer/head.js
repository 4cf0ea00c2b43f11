// SPDX-License-Identifier: MIT
/* The head of the page: what ran, what came of it, and how far the numbers can be trusted. */

import { byId, make } from './dom.js';
import { formatCommand, formatCount, formatDate, formatDuration, visibleText } from './format.js';
import { eachBlame, watchesGil } from './report.js';
import { roundly, verdict } from './verdict.js';

/** @type {Record<string, string>} */
const FOUND_BY = {
	symbols: 'by its symbols',
	debuglink: 'by the symbols of its debug file',
	sites: 'by its call sites, without symbols',
	returns: 'by its returns',
};
/** @type {Record<string, string>} */
const PROBES = { uprobe: 'kernel probes', agent: 'agent in the process', none: 'not watched' };

/* In characters. */
const LONGEST_COMMAND = 320;
const LONGEST_TITLE = 100;

/**
 * The processes that the page shows: the others have nothing to do with a GIL.
 * @param {import('./report.js').ReportMeta} report
 */
export function shownProcesses(report) {
	const shown = new Set(report.lanes.map((lane) => lane.process));
	return report.summary.processes.filter((_, index) => shown.has(index));
}

/** @param {import('./report.js').ReportMeta} report */
function facts(report) {
	const { summary, python } = report;
	const shown = shownProcesses(report);
	const threads = shown.reduce((sum, process) => sum + process.threads.length, 0);
	const found = summary.found_by === null ? null : (FOUND_BY[summary.found_by] ?? summary.found_by);
	const probe = summary.probe === null ? null : (PROBES[summary.probe] ?? summary.probe);
	const watched = watchesGil(report);
	/** @type {[string, string | null][]} */
	const list = [
		['Python', [python.version, python.path].filter(Boolean).join(' · ') || null],
		['Host', report.host],
		['Date', report.date_ms === null ? null : formatDate(report.date_ms)],
		['Duration', formatDuration(report.duration_ns)],
		['Threads', shown.length > 1 ? `${threads} in ${shown.length} processes` : String(threads)],
		['GIL found', [watched ? found : null, probe].filter(Boolean).join(' · ') || null],
		['GIL events', watched ? formatCount(summary.events) : null],
		['Flight recorder', summary.kept_ns ? `the newest ${formatDuration(summary.kept_ns)}` : null],
		[
			'Cost of probing',
			summary.probe_cost_ns === null ? null : `about ${roundly(summary.probe_cost_ns)}`,
		],
		['Lost', summary.lost === 0 ? (watched ? 'none' : null) : formatCount(summary.lost)],
		['Inferred', summary.inferred === 0 ? (watched ? 'none' : null) : formatCount(summary.inferred)],
		['Exit status', summary.exit_status === null ? null : String(summary.exit_status)],
	];
	return list;
}

/**
 * @param {string} text
 * @param {number} most characters
 */
function cutText(text, most) {
	const characters = Array.from(text);
	return characters.length > most ? characters.slice(0, most).join('') + ' …' : text;
}

/**
 * The command; a long one is cut until one asks for the rest.
 * @param {string} command
 */
function commandHeading(command) {
	const short = cutText(command, LONGEST_COMMAND);
	const words = make('bdi', '', short);
	const title = make('h1', '', words);
	if (short === command)
		return [title];
	const more = make('button', 'more-command', 'Show the whole command');
	more.type = 'button';
	more.setAttribute('aria-expanded', 'false');
	more.addEventListener('click', () => {
		const isOpen = more.getAttribute('aria-expanded') === 'false';
		more.setAttribute('aria-expanded', String(isOpen));
		more.textContent = isOpen ? 'Show less of it' : 'Show the whole command';
		words.textContent = isOpen ? command : short;
	});
	return [title, more];
}

/** @param {import('./report.js').ReportMeta} report */
export function showHead(report) {
	const { summary } = report;
	const command = formatCommand(summary.command) || 'recorded events';
	const list = make('dl', 'facts');
	for (const [term, text] of facts(report)) {
		if (text === null)
			continue;
		const alarm = (term === 'Lost' || term === 'Inferred') && text !== 'none';
		list.append(
			make(
				'div',
				alarm ? 'alarm' : '',
				make('dt', '', term),
				make('dd', '', make('bdi', '', visibleText(text))),
			),
		);
	}
	/** @type {Map<import('./report.js').Thread, import('./report.js').Holds>} */
	const holds = new Map();
	for (const lane of report.lanes)
		if (lane.holds)
			holds.set(summary.processes[lane.process].threads[lane.thread], lane.holds);
	const sentences = verdict(
		summary,
		shownProcesses(report),
		(_, thread) => holds.get(thread),
		(visit) => eachBlame(report, visit),
	);
	byId('head').append(
		make('p', 'brand', 'giltrace'),
		...commandHeading(command),
		make('p', 'verdict', make('strong', '', sentences[0]), ' ' + sentences.slice(1).join(' ')),
		list,
	);
	document.title = `${cutText(command, LONGEST_TITLE)} – giltrace`;
	byId('foot').append(`giltrace ${summary.giltrace}`);
	warn(report);
}

/** @param {import('./report.js').ReportMeta} report */
function warn(report) {
	const { lost, state_lost, inferred } = report.summary;
	const { folded } = report;
	if (folded)
		notice(
			`${formatCount(folded.intervals + folded.states)} slices shorter than ` +
				`${formatDuration(folded.quantum_ns)} were merged with their neighbours in the timeline, which ` +
				'has too many for one page. The table has the exact figures.',
		);
	if (lost > 0)
		notice(
			`${formatCount(lost)} events were lost. Where that was, the state is unknown (dotted) and is ` +
				'left out of the percentages.',
		);
	if (state_lost)
		notice(
			`${formatCount(state_lost)} records of being on and off CPU were lost: where that was, the lower ` +
				'bars are dotted. The figures of the GIL are not touched.',
		);
	if (inferred > 0)
		notice(
			`${formatCount(inferred)} moments were not seen, but follow from others: they are inferred, ` +
				'and may be somewhat late or early.',
		);
}

/**
 * A line above the table that cannot be overlooked.
 * @param {string} text
 */
export function notice(text) {
	byId('notices').append(make('p', 'notice', text));
}
