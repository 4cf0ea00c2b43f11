// SPDX-License-Identifier: MIT
/*
 * The page runs this before the columns have been read: head and table are there at once. The intervals
 * are decoded when the document is complete.
 */

import { showBlame } from './blame.js';
import { chooseLane } from './choose.js';
import { byId } from './dom.js';
import { readFlame } from './flame.js';
import { listenToFlame } from './flame_input.js';
import { notice, showHead } from './head.js';
import { showHistograms } from './histogram.js';
import { listen } from './input.js';
import { KIND_UNKNOWN, makeLanes, readIntervals, readStates } from './lanes.js';
import { showLongest, waitKeys } from './longest.js';
import { readMemory } from './memory.js';
import { isWhole, readReport, watchesGil } from './report.js';
import { readStacks } from './stacks.js';
import { showStates, showTable } from './table.js';
import { askFrame, makeTimeline, showMemory } from './timeline.js';

/** @param {string} text */
function giveUp(text) {
	const loading = byId('loading');
	loading.textContent = text;
	loading.classList.add('failed');
	notice(text);
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
	showTable(report, choose);
	showStates(report, choose);
	byId('timeline').hidden = lanes.length === 0 || !(watchesGil(report) || report.states !== undefined);
	const timeline = makeTimeline(report, lanes, (index) => chooseLane(timeline, index));
	showBlame(timeline);
	showHistograms(timeline);
	listen(timeline, waitKeys(timeline));

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
			askFrame(timeline);
			showLongest(timeline);
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
