// SPDX-License-Identifier: MIT
/* Where the ruler has its ticks, and what it says there. */

import { pixelAt } from './view.js';

/**
 * A round step (1, 2 or 5 times a power of ten, in ns) that is not shorter than SHORTEST.
 * @param {number} shortest
 */
export function roundStep(shortest) {
	const power = 10 ** Math.floor(Math.log10(Math.max(1, shortest)));
	for (const factor of [1, 2, 5])
		if (factor * power >= shortest)
			return factor * power;
	return 10 * power;
}

/**
 * Down to milliseconds a tick says its moment. Below, moments have too many digits to be read: ticks
 * then count from the last round moment, which is told in full.
 * @param {number} time
 * @param {number} step
 * @param {number} duration of the trace
 */
export function tickLabel(time, step, duration) {
	if (step >= 1e6 && duration < 1e9)
		return `${Math.round(time / 1e6)} ms`;
	if (step >= 1e6) {
		const digits = Math.max(0, Math.ceil(9 - Math.log10(step) - 1e-9));
		return `${(time / 1e9).toFixed(digits)} s`;
	}
	const unit = step >= 1e3 ? 1e3 : 1;
	const base = tickBase(time, step);
	if (time === base)
		return time === 0 ? '0' : fullLabel(base, unit);
	return `${base > 0 ? '+' : ''}${Math.round((time - base) / unit)} ${unit === 1 ? 'ns' : 'µs'}`;
}

/**
 * The round moment that a tick counts from; 0 when it says its moment itself.
 * @param {number} time
 * @param {number} step
 */
function tickBase(time, step) {
	if (step >= 1e6)
		return 0;
	const group = step >= 1e3 ? 1e6 : 1e3;
	return Math.floor(time / group) * group;
}

/** @param {number} time @param {number} unit */
function fullLabel(time, unit) {
	if (time >= 1e9)
		return `${(time / 1e9).toFixed(unit === 1 ? 6 : 3)} s`;
	return `${(time / 1e6).toFixed(unit === 1 ? 3 : 0)} ms`;
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} step
 */
export function tickTimes(from, to, step) {
	const times = [];
	for (let i = Math.ceil(from / step); i * step <= to; i++)
		times.push(i * step);
	return times;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {import('./view.js').View} view
 * @param {number} scale device pixels for one of CSS
 * @param {number[]} ticks
 * @param {number} step
 */
export function drawRuler(canvas, view, scale, ticks, step) {
	const context = canvas.getContext('2d');
	if (!context)
		return;
	const style = getComputedStyle(canvas);
	context.clearRect(0, 0, canvas.width, canvas.height);
	context.font = `${11 * scale}px ${style.fontFamily}`;
	context.textBaseline = 'middle';
	let right = 0;
	const base = tickBase(view.from, step);
	if (base > 0) {
		const label = fullLabel(base, step >= 1e3 ? 1e3 : 1);
		context.fillStyle = style.getPropertyValue('--ink');
		context.fillText(label, 6 * scale, canvas.height / 2);
		right = context.measureText(label).width + 14 * scale;
	}
	for (const time of ticks) {
		const x = Math.min(canvas.width - 1, Math.round(pixelAt(view, time)));
		const label = tickLabel(time, step, view.duration);
		const left = x + 5 * scale;
		context.fillStyle = style.getPropertyValue('--rule');
		context.fillRect(x, canvas.height - 7 * scale, Math.max(1, Math.round(scale)), 7 * scale);
		context.fillStyle = style.color;
		if (left > right && left + context.measureText(label).width < canvas.width)
			context.fillText(label, left, canvas.height / 2);
	}
}
