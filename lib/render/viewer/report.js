// SPDX-License-Identifier: MIT
/*
 * What is in the page: the head's data, the summary (the same object as --summary-json writes) and
 * the lanes, as JSON; the intervals follow in columns.
 */

/**
 * @typedef {object} Thread
 * @property {number} tid
 * @property {string} name
 * @property {boolean} main
 * @property {number} start_ns
 * @property {number} end_ns
 * @property {number} total_ns
 * @property {number | null} no_gil_ns
 * @property {number | null} has_gil_ns
 * @property {number | null} gil_wait_ns
 * @property {number | null} unknown_ns
 * @property {number | null} acquired
 * @property {number | null} contended
 * @property {number | null} switched
 * @property {number | null} wait_max_ns
 * @property {number | null} wait_p50_ns
 * @property {number | null} wait_p99_ns
 * @property {State | null} state null when it was not recorded
 */

/**
 * On and off CPU. The sum of all but sleep_gil_ns is the thread's life.
 * @typedef {object} State
 * @property {number} running_ns
 * @property {number} runnable_ns
 * @property {number} sleep_ns
 * @property {number | null} sleep_gil_ns the part of sleep_ns inside of waits for the GIL
 * @property {number | null} disk_ns
 * @property {number} unknown_ns
 */

/**
 * @typedef {object} Gil
 * @property {number} id
 * @property {string} address
 * @property {number} held_ns
 * @property {number} waited_ns
 */

/**
 * @typedef {object} Process
 * @property {number} pid
 * @property {number} ppid
 * @property {string} command
 * @property {{path: string | null, version: string | null, build_id: string | null} | null} python
 * @property {Gil[]} gils
 * @property {Thread[]} threads
 */

/**
 * @typedef {object} Blame
 * @property {number} pid
 * @property {number} waiter
 * @property {number | null} holder
 * @property {number} ns
 */

/**
 * @typedef {object} Summary
 * @property {string} giltrace
 * @property {string[]} command
 * @property {string | null} clock
 * @property {number} start_ns
 * @property {number} end_ns
 * @property {number | null} exit_status
 * @property {string | null} probe
 * @property {string | null} found_by
 * @property {number} events
 * @property {number} lost
 * @property {number} inferred
 * @property {number | null} state_lost context switches
 * @property {number | null} probe_cost_ns
 * @property {number | null} [kept_ns] by the flight recorder; null: all was kept
 * @property {Process[]} processes
 * @property {Blame[]} blame
 */

/**
 * A thread that the page shows. Times are relative to the start of the trace.
 * @typedef {object} LaneMeta
 * @property {number} process index into the summary's processes
 * @property {number} thread index into that process's threads
 * @property {number} start_ns
 * @property {number} end_ns
 * @property {number} intervals how many of the columns' values are its own
 * @property {number} [states] likewise, of the columns of states, when they were recorded
 * @property {Holds} [holds] how long it held the GIL, and waited for it, when somebody watched
 * @property {[string, number][]} [counts] what was counted of it
 * @property {[string, number][]} [reasons] what it slept for, and how long
 */

/**
 * Counts are by length: [i] is how many last at least 2^i ns, and less than 2^(i+1); those of no time are
 * in [0], and no zeros are at the end. A hold that is cut off, by the end of the trace or by a gap in what
 * is known, counts with what is known of it. An acquisition's wait is all waiting since the hold before, as
 * for the percentiles: their sum is the thread's acquisitions, but that one out of a gap is not among them,
 * and a wait that never ended is.
 * @typedef {object} Holds
 * @property {number[]} holds
 * @property {number[]} waits
 * @property {number} hold_p50_ns
 * @property {number} hold_max_ns
 * @property {number} hold_half_ns half of the time that it held the GIL are holds at least so long
 */

/**
 * A kind of state that occurs.
 * @typedef {object} StateKind
 * @property {number} number in the column of kinds
 * @property {'running' | 'runnable' | 'sleeping' | 'uninterruptible' | 'unknown'} state
 * @property {string | null} name "S(read)"; null of running
 * @property {string | null} reason "read", of sleeps
 */

/**
 * How many values the columns of stacks have.
 * @typedef {object} StackCounts
 * @property {number} stacks
 * @property {number} frames
 * @property {number} off_cpu nodes of the flame graph but the root
 * @property {number} off_gil likewise
 */

/**
 * @typedef {object} ReportMeta
 * @property {number} page version of this format
 * @property {string | null} host
 * @property {number | null} date_ms wall clock at the start, since 1970
 * @property {{path: string | null, version: string | null, build_id: string | null}} python
 * @property {number} duration_ns
 * @property {Summary} summary
 * @property {LaneMeta[]} lanes
 * @property {string[]} gils address of each, by the number in the gil column
 * @property {number} intervals
 * @property {number} [states] when they were recorded
 * @property {StateKind[]} [state_kinds] likewise, in the order in which they are shown
 * @property {{quantum_ns: number, intervals: number, states: number}} [folded] where there were too many for
 *   one page: so many, all shorter than a quantum, went into one with their neighbours
 * @property {number[]} blame what the summary's blame is made from
 * @property {{pairs: number, ns: number}} [blame_left] what is too small to be in the summary's blame, which
 *   has the greatest pairs of some thousand threads
 * @property {StackCounts} [stacks] when they were recorded
 * @property {{process: number, points: number}[]} [memory] of the summary's processes, when it is known
 */

/** @typedef {(pid: number, waiter: number, holder: number | null, ns: number) => void} VisitBlame */

/**
 * Blame has four numbers an entry instead of names: the process; of its threads the waiter and, plus one, the
 * holder, 0 being nobody; and by how much the entry before is greater.
 * @param {ReportMeta} report
 * @param {VisitBlame} visit
 */
export function eachBlame({ blame, summary }, visit) {
	for (let i = 0, ns = 0; i < blame.length; i += 4) {
		const { pid, threads } = summary.processes[blame[i]];
		const holder = blame[i + 2];
		ns = i === 0 ? blame[3] : ns - blame[i + 3];
		visit(pid, threads[blame[i + 1]].tid, holder === 0 ? null : threads[holder - 1].tid, ns);
	}
}

/**
 * The report out of its JSON. The summary's blame is made when it is asked for: of some thousand threads, not
 * before the first paint.
 * @param {string} text
 * @returns {ReportMeta}
 */
export function parseReport(text) {
	const report = JSON.parse(text);
	/** @type {Blame[] | null} */
	let list = null;
	const get = () => {
		if (!list) {
			/** @type {Blame[]} */
			const made = (list = []);
			eachBlame(report, (pid, waiter, holder, ns) => made.push({ pid, waiter, holder, ns }));
		}
		return list;
	};
	Object.defineProperty(report.summary, 'blame', { get, enumerable: true });
	return report;
}

/** @returns {ReportMeta} */
export function readReport() {
	return parseReport(document.getElementById('report')?.textContent ?? 'null');
}

/**
 * Whether anybody has watched the GIL: else nothing is said of it.
 * @param {ReportMeta} report
 */
export function watchesGil(report) {
	return report.summary.probe !== 'none';
}

/**
 * The part of a thread's life in which it is known what it did: what percentages are of.
 * @param {Thread} thread
 */
export function knownTime(thread) {
	return thread.total_ns - (thread.unknown_ns ?? 0);
}

/**
 * The same for being on and off CPU.
 * @param {Thread} thread
 */
export function knownStateTime(thread) {
	return thread.total_ns - (thread.state?.unknown_ns ?? 0);
}

/** Whether the file is here to its last byte. Only true once the document has been parsed. */
export function isWhole() {
	return document.getElementById('end')?.textContent === 'true';
}
