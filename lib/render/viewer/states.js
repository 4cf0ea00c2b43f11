// SPDX-License-Identifier: MIT
/*
 * What a thread does while it has no GIL to think of: the kinds of states that a page has, and how each
 * is called. Kinds that are alike look alike; which one it is, is written into its bars.
 */

/**
 * @typedef {object} Look
 * @property {string} swatch class of its swatch, and name of its texture
 * @property {string} legend where no reasons are told
 * @property {string} text what a thread does then
 */

/** @type {Record<string, Look>} */
const LOOKS = {
	running: { swatch: 'running', legend: 'on CPU', text: 'Runs on a CPU' },
	runnable: { swatch: 'runnable', legend: 'could run', text: 'Could run, and has no CPU' },
	unknown: { swatch: 'unknown', legend: 'unknown', text: 'On or off CPU: unknown' },
	gil: { swatch: 'sleep-gil', legend: 'sleeps for the GIL', text: 'Sleeps for the GIL' },
	lock: { swatch: 'sleep-lock', legend: 'lock', text: 'Sleeps for a lock' },
	pause: { swatch: 'sleep-pause', legend: 'pause', text: 'Sleeps for a time or an event' },
	io: { swatch: 'sleep-io', legend: 'input or output', text: 'Sleeps for input or output' },
	disk: { swatch: 'sleep-disk', legend: 'disk or memory', text: 'Sleeps for a disk or memory' },
	sleep: { swatch: 'no', legend: 'sleeps', text: 'Sleeps' },
};

/** @type {Record<string, string>} */
const LOOK_OF_REASON = {
	GIL: 'gil',
	lock: 'lock',
	futex: 'lock',
	sleep: 'pause',
	wait: 'pause',
	signal: 'pause',
	poll: 'io',
	read: 'io',
	write: 'io',
	recv: 'io',
	send: 'io',
	accept: 'io',
	connect: 'io',
	open: 'io',
	disk: 'disk',
	memory: 'disk',
};

/** @type {Record<string, string>} */
const MANY = { running: 'running', runnable: 'runnable', unknown: 'unknown' };

/**
 * @param {import('./report.js').StateKind | undefined} kind undefined: what lies between the others
 * @returns {Look}
 */
export function lookOf(kind) {
	if (!kind)
		return LOOKS.sleep;
	if (kind.state === 'uninterruptible')
		return LOOKS.disk;
	if (kind.state !== 'sleeping')
		return LOOKS[kind.state];
	return LOOKS[LOOK_OF_REASON[kind.reason ?? ''] ?? 'sleep'];
}

/**
 * How a kind is called: the swatch's class, of one state, of many.
 * @param {import('./report.js').StateKind | undefined} kind
 * @returns {[string, string, string]}
 */
export function stateTexts(kind) {
	const { swatch, text } = lookOf(kind);
	if (kind && MANY[kind.state])
		return [swatch, text, MANY[kind.state]];
	/* It looks like a disk's, but may be for a child that vfork() has made. */
	if (kind?.state === 'uninterruptible' && LOOK_OF_REASON[kind.reason ?? ''] !== 'disk')
		return [
			swatch,
			`Sleeps, and cannot be interrupted${kind.reason ? `: ${kind.name}` : ''}`,
			kind.reason ? String(kind.name) : 'sleeping uninterruptibly',
		];
	if (!kind?.reason)
		return [swatch, text, 'sleeping'];
	if (kind.reason === 'GIL')
		return [swatch, text, 'sleeping for the GIL'];
	return [swatch, `${text}: ${kind.name}`, String(kind.name)];
}

/**
 * What is written into the bars of a kind; nothing where the look tells all.
 * @param {import('./report.js').StateKind | undefined} kind
 */
export function stateLabel(kind) {
	return kind?.reason ?? '';
}

/**
 * One entry for each look that occurs, with the reasons that have it.
 * @param {import('./report.js').StateKind[]} kinds
 * @param {boolean} hasOthers whether something lies between them
 */
export function legendOf(kinds, hasOthers) {
	/** @type {Map<Look, string[]>} */
	const entries = new Map();
	for (const kind of [...kinds, ...(hasOthers ? [undefined] : [])]) {
		const look = lookOf(kind);
		const reasons = entries.get(look) ?? [];
		if (kind?.reason && kind.reason !== 'GIL' && !reasons.includes(kind.reason))
			reasons.push(kind.reason);
		entries.set(look, reasons);
	}
	return [...entries].map(([look, reasons]) => ({ look, reasons }));
}
