/* SPDX-License-Identifier: MIT */
#include "trace/sleep_reasons.h"

#include <stdio.h>

#include "trace/trace.h"

const char *gt_sleep_reason_name(enum gt_sleep_reason reason)
{
	static const char *const names[GT_SLEEP_REASONS] = {
		[GT_SLEEP_GIL] = "GIL",	      [GT_SLEEP_LOCK] = "lock",
		[GT_SLEEP_SLEEP] = "sleep",   [GT_SLEEP_POLL] = "poll",
		[GT_SLEEP_READ] = "read",     [GT_SLEEP_WRITE] = "write",
		[GT_SLEEP_RECV] = "recv",     [GT_SLEEP_SEND] = "send",
		[GT_SLEEP_ACCEPT] = "accept", [GT_SLEEP_CONNECT] = "connect",
		[GT_SLEEP_WAIT] = "wait",     [GT_SLEEP_SIGNAL] = "signal",
		[GT_SLEEP_FUTEX] = "futex",   [GT_SLEEP_DISK] = "disk",
		[GT_SLEEP_MEMORY] = "memory",
	};

	return reason < GT_SLEEP_REASONS ? names[reason] : NULL;
}

const char *gt_state_name(const struct gt_state_interval *state, char text[GT_STATE_NAME_SIZE])
{
	const char *reason = gt_sleep_reason_name(state->reason);
	char letter = state->kind == GT_STATE_UNINTERRUPTIBLE ? 'D' : 'S';

	switch ((enum gt_state_kind)state->kind) {
	case GT_STATE_SLEEPING:
	case GT_STATE_UNINTERRUPTIBLE:
		if (reason)
			snprintf(text, GT_STATE_NAME_SIZE, "%c(%s)", letter, reason);
		else
			snprintf(text, GT_STATE_NAME_SIZE, "%c", letter);
		return text;
	case GT_STATE_RUNNABLE:
		return "R";
	case GT_STATE_UNKNOWN:
		return "state unknown";
	case GT_STATE_RUNNING:
		break;
	}
	return NULL;
}
