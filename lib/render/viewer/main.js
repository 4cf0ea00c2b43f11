// SPDX-License-Identifier: MIT
/*
 * The page runs this before the columns have been read: head and table are there at once. The intervals
 * are decoded when the document is complete.
 */

import { showArrows } from './arrow.js';
import { showBand } from './band.js';
import { showBlame } from './blame.js';
import { tellChange } from './changes.js';
import { chooseLane } from './choose.js';
import { byId } from './dom.js';
import { readFlame } from './flame.js';
import { listenToFlame } from './flame_input.js';
import { listenToLinks } from './fragment.js';
import { drawFrame } from './frame.js';
import { sumGils } from './gil_sums.js';
import { notice, showHead } from './head.js';
import { listen } from './input.js';
import { KIND_UNKNOWN, makeLanes, readIntervals, readStates } from './lanes.js';
import { readMemory } from './memory.js';
import { showMinimap } from './minimap.js';
import { listenToRange } from './range.js';
import { isWhole, readReport, watchesGil } from './report.js';
import { listenToLabels, rowKeys } from './row_input.js';
import { listenToSearch } from './search.js';
import { readStacks } from './stacks.js';
import { orderText, readOrder } from './sort.js';
import { listenToChoice, setOrder, showTables } from './table.js';
import { makeTimeline, showMemory } from './timeline.js';

/** @param {string} text */
function giveUp(text) {
	const loading = byId('loading');
	loading.textContent = text;
	loading.classList.add('failed');
	notice(text);
}

/**
 * Lets links tell the view, the range, the thread, and how the tables are sorted.
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./table.js').ThreadTable[]} tables
 */
function linkTables(timeline, tables) {
	const names = ['sort', 'sort-states'];
	const tell = listenToLinks(
		timeline,
		tables.map((table, index) => ({
			name: names[index],
			write: () => orderText(table.order),
			read: (text) => setOrder(table, readOrder(text)),
		})),
	);
	for (const table of tables)
		table.onOrder = tell;
}

function start() {
	const report = readReport();
	const lanes = makeLanes(report);
	byId('dead').remove();
	byId('main').hidden = false;
	showHead(report);
	/** @type {import('./table.js').Choose} */
	const choose = (process, thread) => {
		const lane = lanes.find((candidate) => candidate.process === process && candidate.thread === thread);
		if (lane) {
			chooseLane(timeline, lane.index);
			byId('timeline').scrollIntoView({ block: 'nearest' });
		}
	};
	const { tables, more } = showTables(report, choose);
	for (const makeRows of more)
		makeRows();
	showBlame(report);
	byId('timeline').hidden = lanes.length === 0 || !(watchesGil(report) || report.states !== undefined);
	const timeline = makeTimeline(report, lanes);
	listen(timeline, { '/': listenToSearch(timeline), ...rowKeys(timeline) });
	listenToLabels(timeline);
	showArrows(timeline);
	showBand(timeline);
	showMinimap(timeline);
	listenToRange(timeline, tables);
	listenToChoice(timeline, tables);

	const finish = async () => {
		if (!isWhole()) {
			giveUp('This page is cut off: the file is not complete, and its timeline cannot be shown. The table is.');
			return;
		}
		if (typeof DecompressionStream === 'undefined') {
			giveUp('This browser cannot decompress the timeline (it has no DecompressionStream): use a newer one.');
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
			linkTables(timeline, tables);
			drawFrame(timeline);
			sumGils(timeline, intervals);
			const flame = await readFlame(report, timeline.stacks);
			if (flame)
				listenToFlame(flame);
		} catch (error) {
			giveUp(`The timeline of this page is damaged: ${error instanceof Error ? error.message : error}`);
		}
		document.documentElement.dataset.ready = String(Math.round(performance.now()));
	};
	/* Two frames: the head is on the screen before the work begins. */
	const later = () => requestAnimationFrame(() => setTimeout(finish, 0));
	if (document.readyState === 'loading')
		document.addEventListener('DOMContentLoaded', later);
	else
		later();
}

start();
