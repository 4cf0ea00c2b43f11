/* SPDX-License-Identifier: MIT */
#include "cmd/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "probes/tracefs.h"
#include "record/event_kinds.h"

#define BECOME_ROOT "run giltrace as root, or give it CAP_SYS_ADMIN"

/* The number behind a key of /proc/self/status ("CapEff:\t000001ffffffffff"); 0 without it. */
static uint64_t read_status(const char *status, const char *key, int base)
{
	const char *line = strstr(status, key);

	return line ? strtoull(line + strlen(key), NULL, base) : 0;
}

static void read_own_rights(struct gt_rights *rights)
{
	_cleanup_free_ char *status = NULL, *paranoid = NULL;

	rights->uid = geteuid();
	if (gt_read_file("/proc/self/status", 65536, &status, NULL) == 0) {
		rights->capabilities = read_status(status, "\nCapEff:", 16);
		rights->is_filtered = read_status(status, "\nSeccomp:", 10) == SECCOMP_MODE_FILTER;
	}
	if (gt_read_file("/proc/sys/kernel/perf_event_paranoid", 64, &paranoid, NULL) == 0) {
		rights->has_paranoid = true;
		rights->paranoid = (int)strtol(paranoid, NULL, 10);
	}
}

bool gt_rights_has(const struct gt_rights *rights, int capability)
{
	return rights->capabilities >> capability & 1;
}

const char *gt_rights_capability(const struct gt_rights *rights, size_t index, bool *ret_has)
{
	static const struct {
		const char *name;
		int capability;
	} capabilities[] = {
		{"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
		{"CAP_PERFMON", CAP_PERFMON},
		{"CAP_SYS_PTRACE", CAP_SYS_PTRACE},
		{"CAP_IPC_LOCK", CAP_IPC_LOCK},
	};

	if (index >= ARRAY_SIZE(capabilities))
		return NULL;
	*ret_has = gt_rights_has(rights, capabilities[index].capability);
	return capabilities[index].name;
}

bool gt_rights_may_lock_memory(const struct gt_rights *rights)
{
	return gt_rights_has(rights, CAP_IPC_LOCK) ||
	       (rights->has_paranoid && rights->paranoid < 0);
}

/* As the kernel decides it (perf_event_open(2)). */
static bool may_open_tracepoints(const struct gt_rights *rights)
{
	return gt_rights_has(rights, CAP_SYS_ADMIN) || gt_rights_has(rights, CAP_PERFMON) ||
	       (rights->has_paranoid && rights->paranoid < 0);
}

/* What went before a failure is a part of it; what went well is said as usual. WHAT it is for. */
static void find_tracefs(struct gt_rights *rights, const char *what, struct gt_obstacle *obstacle)
{
	struct gt_log_capture capture;
	_cleanup_free_ char *text = NULL;
	int r;

	rights->tracefs = gt_tracefs_mounted();
	if (rights->tracefs)
		return;
	if (!gt_rights_has(rights, CAP_SYS_ADMIN)) {
		gt_obstacle_set(obstacle, BECOME_ROOT, "cannot %s: tracefs is not mounted", what);
		return;
	}
	gt_log_start_capture(&capture);
	r = gt_tracefs_find(&rights->tracefs);
	text = gt_log_end_capture(&capture);
	if (r < 0)
		gt_obstacle_set_message(obstacle, GT_STEAL(text));
	else if (text)
		gt_info("%s", text);
}

static int open_for_probes(const char *tracefs)
{
	_cleanup_free_ char *path = gt_format("%s/uprobe_events", tracefs);
	_cleanup_close_ int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (!path)
		return -ENOMEM;
	return fd < 0 ? -errno : 0;
}

static void find_probes(struct gt_rights *rights)
{
	_cleanup_free_ char *remedy = NULL;
	int r;

	if (!may_open_tracepoints(rights)) {
		rights->tracefs = gt_tracefs_mounted();
		gt_obstacle_set(&rights->obstacle, BECOME_ROOT,
				"cannot install probes: permission denied");
		return;
	}
	find_tracefs(rights, "install probes", &rights->obstacle);
	if (!rights->tracefs)
		return;
	r = open_for_probes(rights->tracefs);
	switch (r) {
	case 0:
		break;
	case -EROFS:
		remedy = gt_format("mount it anew: mount -o remount,rw %s", rights->tracefs);
		gt_obstacle_set(
			&rights->obstacle, remedy,
			"cannot install probes: %s cannot be written: read-only file system",
			rights->tracefs);
		return;
	case -ENOENT:
		gt_obstacle_set(&rights->obstacle, NULL,
				"cannot install probes: this kernel was built without uprobes");
		return;
	case -EACCES:
	case -EPERM:
		gt_obstacle_set(&rights->obstacle, BECOME_ROOT,
				"cannot install probes: permission denied");
		return;
	default:
		gt_obstacle_set(&rights->obstacle, NULL, "cannot install probes: %s", strerror(-r));
		return;
	}
	/* Not by the capabilities alone: a filter may refuse the system call. */
	r = gt_event_kind_try(GT_EVENT_KIND_SCHED_SWITCH, rights->tracefs);
	if (r < 0)
		gt_rights_explain_perf(rights, r, &rights->obstacle);
	else
		rights->can_probe = true;
}

bool gt_rights_can_read_tracepoint(const struct gt_rights *rights, const char *name)
{
	_cleanup_free_ char *path = gt_format("%s/events/%s/format", rights->tracefs, name);

	/* By our capabilities, which access() does not look at. */
	return path && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

static void explain_tracepoints(const struct gt_rights *rights, bool may_open,
				struct gt_obstacle *obstacle)
{
	const char *tracefs = rights->tracefs ? rights->tracefs : "/sys/kernel/tracing";
	_cleanup_free_ char *remedy =
		gt_format("run giltrace as root, or: %s%ssudo mount -o "
			  "remount,mode=755,gid=$(id -g) %s",
			  may_open ? "" : "sudo sysctl kernel.perf_event_paranoid=-1",
			  may_open ? "" : "\n  and: ", tracefs);

	if (may_open)
		gt_obstacle_set(obstacle, remedy,
				"cannot open the scheduler's events: %s cannot be read", tracefs);
	else if (rights->has_paranoid)
		gt_obstacle_set(obstacle, remedy,
				"cannot open the scheduler's events: permission denied "
				"(perf_event_paranoid is %d)",
				rights->paranoid);
	else
		gt_obstacle_set(obstacle, BECOME_ROOT,
				"cannot open the scheduler's events: permission denied");
}

int gt_rights_find_tracepoints(struct gt_rights *rights, struct gt_obstacle *obstacle)
{
	bool may_open = may_open_tracepoints(rights);
	int r;

	if (may_open)
		find_tracefs(rights, "open the scheduler's events", obstacle);
	else
		rights->tracefs = gt_tracefs_mounted();
	if (may_open && !rights->tracefs)
		return -ENOENT;
	if (!may_open || !gt_rights_can_read_tracepoint(rights, "sched/sched_switch")) {
		explain_tracepoints(rights, may_open, obstacle);
		return -EACCES;
	}
	/* Not by the capabilities alone: a filter may refuse the system call. */
	r = gt_event_kind_try(GT_EVENT_KIND_SCHED_SWITCH, rights->tracefs);
	if (r < 0)
		gt_rights_explain_perf(rights, r, obstacle);
	return r;
}

void gt_rights_find(struct gt_rights *rights, bool wants_probes)
{
	read_own_rights(rights);
	if (wants_probes)
		find_probes(rights);
}

void gt_rights_clear(struct gt_rights *rights)
{
	gt_obstacle_clear(&rights->obstacle);
	*rights = (struct gt_rights){0};
}

/*
 * A filter of system calls gives the errno that its author chose: Docker's gives EPERM, others
 * ENOSYS. The kernel itself gives EACCES above 2, where a distribution has such a level.
 */
void gt_rights_explain_perf(const struct gt_rights *rights, int err, struct gt_obstacle *obstacle)
{
	switch (err) {
	case -EPERM:
	case -ENOSYS:
		if (rights->is_filtered)
			gt_obstacle_set(
				obstacle,
				"let the container have it: docker run --cap-add PERFMON, or "
				"--security-opt seccomp=unconfined",
				"perf_event_open is refused by a seccomp filter, such as "
				"Docker's default one");
		else
			gt_obstacle_set(obstacle, "run outside of the container, if this is one",
					"perf_event_open is refused: %s", strerror(-err));
		return;
	case -EACCES:
		if (rights->has_paranoid && rights->paranoid > 2)
			gt_obstacle_set(obstacle, "sudo sysctl kernel.perf_event_paranoid=2",
					"perf_event_open is refused (perf_event_paranoid is %d)",
					rights->paranoid);
		else
			gt_obstacle_set(obstacle, BECOME_ROOT,
					"perf_event_open is refused: permission denied");
		return;
	default:
		gt_obstacle_set(obstacle, NULL, "perf_event_open fails: %s", strerror(-err));
	}
}
