/* SPDX-License-Identifier: MIT */
#include "record/open_error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/log.h"
#include "record/kernel_number.h"

/* At this level, programs of others and raw data of tracepoints are open to all. */
#define ALL_IS_ALLOWED (-1)

static void explain_rights(const struct gt_open_attempt *attempt, int err)
{
	long long paranoid = 0;
	bool is_known =
		gt_kernel_number_read("/proc/sys/kernel/perf_event_paranoid", &paranoid) == 0;

	if (!is_known || geteuid() == 0 || paranoid <= attempt->allowed_paranoid)
		gt_error("cannot open %s (%s): %s, by a container's filter of system calls "
			 "or a locked down kernel\n"
			 "  run outside of the container, or allow it perf_event_open: "
			 "docker run %s",
			 attempt->what, attempt->name, strerror(-err),
			 attempt->allowed_paranoid == ALL_IS_ALLOWED ? "--privileged"
								     : "--cap-add PERFMON");
	else
		gt_error("cannot open %s (%s): %s (perf_event_paranoid is %lld)\n"
			 "  run as root, or: sudo sysctl kernel.perf_event_paranoid=%d",
			 attempt->what, attempt->name, strerror(-err), paranoid,
			 attempt->allowed_paranoid);
}

static void explain_refused_probe(const struct gt_open_attempt *attempt, int err)
{
	_cleanup_free_ char *file_system = NULL;

	if (attempt->probed && gt_file_system_name(attempt->probed, &file_system) == 0)
		gt_error("cannot open %s: the kernel refuses probes in %s, which is on a file "
			 "system of the kind %s\n"
			 "  copy that Python to another one, such as ext4 or tmpfs",
			 attempt->what, attempt->probed, file_system);
	else
		gt_error("cannot open %s (%s): %s", attempt->what, attempt->name, strerror(-err));
}

/* How kernels and their drivers say that they do not have a counter. */
static bool is_missing(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -EINVAL || err == -ENODEV ||
	       err == -ENXIO;
}

int gt_open_error(const struct gt_open_attempt *attempt, int err)
{
	if (attempt->counter && is_missing(err)) {
		gt_error("this machine has no counter '%s' (a virtual machine often lacks them)\n"
			 "  leave it out of --counters",
			 attempt->counter);
		return err;
	}
	switch (err) {
	case -EACCES:
	case -EPERM:
		explain_rights(attempt, err);
		break;
	case -ENOSYS:
		gt_error("cannot open %s: this system has no perf events (perf_event_open)",
			 attempt->what);
		break;
	case -EMFILE:
	case -ENFILE:
		gt_error("cannot open %s (%s): too many open files: one is needed for each event "
			 "and CPU\n  raise the limit: ulimit -n %d",
			 attempt->what, attempt->name, 16 * attempt->cpu_count + 1024);
		break;
	case -ESRCH:
		gt_error("cannot open %s: the process has ended", attempt->what);
		break;
	case -EIO:
		explain_refused_probe(attempt, err);
		break;
	default:
		gt_error("cannot open %s (%s): %s", attempt->what, attempt->name, strerror(-err));
	}
	return err;
}
