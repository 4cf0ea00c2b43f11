/* SPDX-License-Identifier: MIT */
#include "record/priority.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"

/* The lowest of the real-time ones: the kernel's own threads and audio go first. */
#define REALTIME_PRIORITY 1
#define HIGHEST_NICE (-20)

static struct {
	int policy;
	struct sched_param parameters;
	int nice;
} old;

void gt_priority_raise(void)
{
	struct sched_param parameters = {.sched_priority = REALTIME_PRIORITY};

	old.policy = sched_getscheduler(0);
	old.nice = getpriority(PRIO_PROCESS, 0);
	if (old.policy < 0 || sched_getparam(0, &old.parameters) < 0)
		return;
	/* Who was started with another one has it for a reason. */
	if (old.policy != SCHED_OTHER)
		return;
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameters) == 0)
		return;
	if (setpriority(PRIO_PROCESS, 0, HIGHEST_NICE) < 0)
		gt_debug("rings are drained at no higher priority: %s", strerror(errno));
}

void gt_priority_restore(void)
{
	/* Without this flag, a user who may not raise it again may not take it away either. */
	if (old.policy == SCHED_OTHER && sched_getscheduler(0) != SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &old.parameters);
	if (old.policy == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) != old.nice)
		(void)setpriority(PRIO_PROCESS, 0, old.nice);
}
