// SPDX-License-Identifier: MIT
/* What is told below the lanes: of the chosen thread, and of its chosen interval or state. */

import { laneName, line } from './details.js';
import { byId, make } from './dom.js';
import { formatCount, formatDuration, formatShare, visibleText } from './format.js';
import { knownStateTime, knownTime, watchesGil } from './report.js';

/** @type {[keyof import('./report.js').State, string][]} */
const PARTS = [
	['running_ns', 'on a CPU'],
	['runnable_ns', 'could run'],
	['sleep_ns', 'asleep'],
	['sleep_gil_ns', 'for the GIL'],
	['disk_ns', 'for a disk'],
];

/**
 * @param {string} name of a counter
 * @param {number} count
 */
function formatCounter(name, count) {
	return name.endsWith('-clock') ? formatDuration(Math.round(count)) : formatCount(Math.round(count));
}

/**
 * @param {import('./report.js').ReportMeta} report
 * @param {import('./lanes.js').Lane} lane
 */
function describeThread(report, lane) {
	const { thread } = lane;
	const { counts, reasons } = report.lanes[lane.index];
	const known = knownStateTime(thread);
	const nodes = [make('div', 'what', laneName(lane)), line('life', formatDuration(thread.total_ns))];
	/** @param {string} term @param {number} ns */
	const share = (term, ns) => line(term, `${formatDuration(ns)} · ${formatShare(ns, known)}`);

	if (watchesGil(report)) {
		const { has_gil_ns: held, gil_wait_ns: waited } = thread;
		nodes.push(
			line('held the GIL', `${formatDuration(held)} · ${formatShare(held, knownTime(thread))}`),
			line('waited for it', `${formatDuration(waited)} · ${formatShare(waited, knownTime(thread))}`),
		);
	}
	for (const [key, text] of PARTS) {
		const ns = thread.state?.[key] ?? null;
		if (ns !== null)
			nodes.push(share(text, ns));
	}
	const others = (reasons ?? []).filter(([name]) => name !== 'GIL').sort((a, b) => b[1] - a[1]);
	if (others.length > 0)
		nodes.push(make('div', 'subject', 'Asleep for'));
	for (const [name, ns] of others)
		nodes.push(share(name, ns));
	if (counts?.some(([, count]) => count > 0))
		nodes.push(make('div', 'subject', 'Counted'));
	for (const [name, count] of counts ?? [])
		if (counts?.some(([, other]) => other > 0))
			nodes.push(line(visibleText(name), formatCounter(name, count)));
	return nodes;
}

/**
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./lanes.js').Lane} lane
 * @param {Node[] | null} chosen what is said of the interval or the state that is chosen
 */
export function showPanel(timeline, lane, chosen) {
	const { report, hasGil } = timeline;
	const panel = byId('panel');
	const what = [hasGil ? 'an interval' : '', report.states === undefined ? '' : 'a state'].filter(Boolean);
	const hint = `Click ${what.join(' or ')} to read what happened.`;
	panel.hidden = report.states === undefined && !chosen;
	panel.replaceChildren(
		make('div', 'about', ...describeThread(report, lane)),
		make('div', 'chosen-state', ...(chosen ?? [make('div', 'hint', hint)])),
	);
	const stack = panel.querySelector('.stack');
	if (!stack)
		return;
	stack.setAttribute('tabindex', '0');
	stack.setAttribute('aria-label', 'Stack, innermost first');
}

export function hidePanel() {
	byId('panel').hidden = true;
}
