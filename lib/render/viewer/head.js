// SPDX-License-Identifier: MIT
/* The head of the page: what ran, what came of it, and how far the numbers can be trusted. */

import { byId, make } from './dom.js';
import { formatCommand, formatCount, formatDate, formatDuration, visibleText } from './format.js';
import { watchesGil } from './report.js';
import { verdict } from './verdict.js';

/** @type {Record<string, string>} */
const FOUND_BY = {
	symbols: 'by its symbols',
	debuglink: 'by the symbols of its debug file',
	sites: 'by its call sites, without symbols',
	returns: 'by its returns',
};
/** @type {Record<string, string>} */
const PROBES = { uprobe: 'kernel probes', agent: 'agent in the process', none: 'not watched' };

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
			summary.probe_cost_ns === null ? null : `about ${formatDuration(summary.probe_cost_ns)}`,
		],
		['Lost', summary.lost === 0 ? (watched ? 'none' : null) : formatCount(summary.lost)],
		['Inferred', summary.inferred === 0 ? (watched ? 'none' : null) : formatCount(summary.inferred)],
		['Exit status', summary.exit_status === null ? null : String(summary.exit_status)],
	];
	return list;
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
	const sentences = verdict(summary, shownProcesses(report));
	byId('head').append(
		make('p', 'brand', 'giltrace'),
		make('h1', '', make('bdi', '', command)),
		make('p', 'verdict', make('strong', '', sentences[0]), ' ' + sentences.slice(1).join(' ')),
		list,
	);
	document.title = `${command} – giltrace`;
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
