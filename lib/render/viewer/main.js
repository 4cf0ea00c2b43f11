// SPDX-License-Identifier: MIT
/*
 * The page runs this before the columns have been read. What one looks at first is there at once, whatever
 * the size: the head, and as much of the table as a screen has room for. All else follows when that is on
 * the screen, and the intervals are decoded when the document is complete.
 */

import { showArrows } from './arrow.js';
import { showBand } from './band.js';
import { showBlame } from './blame.js';
import { tellChange } from './changes.js';
import { chooseLane } from './choose.js';
import { byId } from './dom.js';
import { applyFilterKey, clearFilter } from './filter.js';
import { readFlame } from './flame.js';
import { listenToFlame } from './flame_input.js';
import { listenToLinks } from './fragment.js';
import { drawFrame } from './frame.js';
import { sumGils } from './gil_sums.js';
import { notice, showHead } from './head.js';
import { showHistograms } from './histogram.js';
import { listen } from './input.js';
import { KIND_UNKNOWN, makeLanes, readIntervals, readStates } from './lanes.js';
import { showLongest, waitKeys } from './longest.js';
import { readMemory } from './memory.js';
import { showMinimap } from './minimap.js';
import { listenToRange } from './range.js';
import { isWhole, readReport, watchesGil } from './report.js';
import { listenToLabels, rowKeys } from './row_input.js';
import { rowLinks } from './row_links.js';
import { listenToSearch } from './search.js';
import { afterPaint, inSlices } from './slices.js';
import { readStacks } from './stacks.js';
import { orderText, readOrder } from './sort.js';
import { listenToChoice, setOrder, showTables } from './table.js';
import { listenToTableChoice } from './table_choice.js';
import { makeTimeline, showMemory } from './timeline.js';

/** @param {string} text */
function giveUp(text) {
	const loading = byId('loading');
	loading.textContent = text;
	loading.classList.add('failed');
	notice(text);
}

/**
 * Lets links tell the view, the range, the thread, the waits that are shown, which rows are hidden, and how
 * rows and tables are sorted, and which table is seen.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./table.js').ThreadTable[]} tables
 * @param {ReturnType<typeof listenToTableChoice>} tableChoice
 */
function linkTables(timeline, tables, tableChoice) {
	const names = ['sort', 'sort-states'];
	const tell = listenToLinks(timeline, [
		{
			name: 'waits',
			write: () => timeline.filter?.key ?? null,
			read: (text) => (text ? applyFilterKey(timeline, text) : clearFilter(timeline)),
		},
		...rowLinks(timeline),
		...tables.map((table, index) => ({
			name: names[index],
			write: () => orderText(table.order),
			read: (/** @type {string | null} */ text) => setOrder(table, readOrder(text)),
		})),
		tableChoice,
	]);
	tableChoice.onChange = tell;
	for (const table of tables)
		table.onOrder = tell;
}

async function start() {
	const report = readReport();
	const lanes = makeLanes(report);
	byId('dead').remove();
	byId('main').hidden = false;
	showHead(report);
	/** @type {import('./table.js').Choose} */
	const choose = (process, thread) => {
		if (!timeline)
			return;
		const lane = lanes.find((candidate) => candidate.process === process && candidate.thread === thread);
		if (lane) {
			chooseLane(timeline, lane.index);
			byId('timeline').scrollIntoView({ block: 'nearest' });
		}
	};
	/** @type {import('./timeline.js').Timeline | null} */
	let timeline = null;
	for (const id of ['blame', 'timeline'])
		byId(id).hidden = true;
	const { tables, more } = showTables(report, choose);
	const tableChoice = listenToTableChoice(report);
	await afterPaint();

	await inSlices(more);
	byId('timeline').hidden = lanes.length === 0 || !(watchesGil(report) || report.states !== undefined);
	const made = makeTimeline(report, lanes);
	timeline = made;
	showBlame(made);
	showHistograms(made);
	listen(made, { '/': listenToSearch(made), ...rowKeys(made), ...waitKeys(made) });
	listenToLabels(made);
	showArrows(made);
	showBand(made);
	showMinimap(made);
	listenToRange(made, tables, report.folded && 'In this page, short slices are merged: they cannot be counted.');
	listenToChoice(made, tables);

	await documentEnd();
	await finish(made, tables, tableChoice);
	document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

/** When the document is here, or what there is of it. */
async function documentEnd() {
	if (document.readyState === 'loading')
		await new Promise((done) => document.addEventListener('DOMContentLoaded', done));
	/* What has been made meanwhile is on the screen before the work begins. */
	await afterPaint();
}

/**
 * Decodes what is in the columns.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./table.js').ThreadTable[]} tables
 * @param {ReturnType<typeof listenToTableChoice>} tableChoice
 */
async function finish(timeline, tables, tableChoice) {
	const { report, lanes } = timeline;
	if (!isWhole()) {
		giveUp('This page is cut off: the file is not complete, and its timeline cannot be shown. The table is.');
		return;
	}
	try {
		const intervals = await readIntervals(report, lanes);
		timeline.states = await readStates(report, lanes);
		timeline.stacks = await readStacks(report);
		showMemory(timeline, await readMemory(report));
		timeline.intervals = intervals;
		byId('loading').remove();
		byId('legend-unknown').hidden = !intervals.kind.includes(KIND_UNKNOWN);
		/* Of what has been selected meanwhile, the figures can be told now. */
		if (timeline.selection)
			tellChange(timeline, 'selection');
		linkTables(timeline, tables, tableChoice);
		drawFrame(timeline);
		sumGils(timeline, intervals);
		showLongest(timeline);
		const flame = await readFlame(report, timeline.stacks);
		if (flame)
			listenToFlame(flame);
	} catch (error) {
		giveUp(`The timeline of this page is damaged: ${error instanceof Error ? error.message : error}`);
	}
}

void start();
