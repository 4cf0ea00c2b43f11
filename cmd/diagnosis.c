/* SPDX-License-Identifier: MIT */
#include "cmd/diagnosis.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "cmd/load.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/trace_directory.h"
#include "cmd/verbs.h"
#include "probes/tracefs.h"

static const char calibration_code[] =
	"import threading, time\n"
	"end = time.monotonic() + 0.5\n"
	"def compute():\n"
	"    while time.monotonic() < end:\n"
	"        sum(range(1000))\n"
	"threads = [threading.Thread(target=compute) for _ in range(2)]\n"
	"for thread in threads: thread.start()\n"
	"for thread in threads: thread.join()\n";

/* From the line "CapEff:\t000001ffffffffff" of /proc/self/status. */
static uint64_t read_capabilities(void)
{
	static const char key[] = "CapEff:";
	_cleanup_free_ char *status = NULL;
	const char *line;

	if (gt_read_file("/proc/self/status", 65536, &status, NULL) < 0)
		return 0;
	line = strstr(status, key);
	return line ? strtoull(line + strlen(key), NULL, 16) : 0;
}

/* As the kernel decides it (perf_event_open(2)). */
static bool may_open_tracepoints(const struct gt_diagnosis *diagnosis)
{
	uint64_t rights = UINT64_C(1) << CAP_SYS_ADMIN | UINT64_C(1) << CAP_PERFMON;

	return diagnosis->capabilities & rights ||
	       (diagnosis->has_paranoid && diagnosis->paranoid < 0);
}

static void find_rights(struct gt_diagnosis *diagnosis)
{
	struct gt_log_capture capture;
	_cleanup_free_ char *paranoid = NULL, *path = NULL;
	_cleanup_close_ int fd = -1;

	diagnosis->uid = geteuid();
	diagnosis->capabilities = read_capabilities();
	if (gt_read_file("/proc/sys/kernel/perf_event_paranoid", 64, &paranoid, NULL) == 0) {
		diagnosis->has_paranoid = true;
		diagnosis->paranoid = (int)strtol(paranoid, NULL, 10);
	}
	gt_log_start_capture(&capture);
	if (gt_tracefs_find(&diagnosis->tracefs) == 0) {
		path = gt_format("%s/uprobe_events", diagnosis->tracefs);
		fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
		if (fd < 0 && errno == EROFS)
			gt_error("cannot install probes: tracefs cannot be written\n"
				 "  mount it anew: mount -o remount,rw %s",
				 diagnosis->tracefs);
		else if (fd < 0 || !may_open_tracepoints(diagnosis))
			gt_error("cannot %s: permission denied\n"
				 "  run giltrace as root, or give it CAP_SYS_ADMIN",
				 fd < 0 ? "install probes" : "open their events");
		else
			diagnosis->can_probe = true;
	}
	diagnosis->rights_problem = gt_log_end_capture(&capture);
	/* A word on mounting tracefs is none on a problem. */
	if (diagnosis->can_probe) {
		free(diagnosis->rights_problem);
		diagnosis->rights_problem = NULL;
	}
}

static void find_python(const struct gt_options *options, struct gt_diagnosis *diagnosis)
{
	struct gt_log_capture capture;

	gt_log_start_capture(&capture);
	diagnosis->has_sites = gt_traced_python_find(options, &diagnosis->python) == 0;
	diagnosis->has_python = diagnosis->python.elf != NULL;
	diagnosis->python_problem = gt_log_end_capture(&capture);
}

static bool differ_by_one(uint64_t a, uint64_t b)
{
	return a > b ? a - b <= 1 : b - a <= 1;
}

static int judge(const struct gt_recording *recording, bool is_gil_enabled,
		 struct gt_calibration *calibration)
{
	const struct gt_trace *trace = recording->trace;

	calibration->lost = trace->lost;
	calibration->inferred = trace->inferred;
	calibration->wall_ns = trace->end_ns - trace->start_ns;
	for (uint32_t i = 0; i < trace->gils.count; i++)
		calibration->has_ns += recording->stats.gils[i].held_ns;
	calibration->ok = trace->gils.count == 1 && trace->lost == 0 && trace->inferred == 0 &&
			  calibration->has_ns <= calibration->wall_ns;
	for (uint32_t i = 0; i < trace->threads.count; i++) {
		const struct gt_thread *thread = &trace->threads.items[i];
		struct gt_calibration_thread *counts;

		/* A shim may have run other programs on the way. */
		if (trace->processes.items[thread->process].gil_events == 0)
			continue;
		counts = gt_array_push(&calibration->threads);
		if (!counts)
			return gt_error_oom();
		counts->tid = thread->tid;
		counts->take = thread->takes;
		counts->acquired = thread->acquired;
		counts->release = thread->releases;
		calibration->ok &= counts->acquired > 0 &&
				   differ_by_one(counts->take, counts->acquired) &&
				   differ_by_one(counts->acquired, counts->release);
	}
	if (!is_gil_enabled) {
		calibration->ok = false;
		gt_error("the GIL is off: there are no holds to trace\n"
			 "  set PYTHON_GIL=1 to turn it on");
	} else if (trace->gils.count == 0) {
		gt_error("no thread used the GIL\n  is this a Python that starts another one?");
	} else if (!calibration->ok) {
		gt_error("the events do not balance: figures of this Python would be wrong\n"
			 "  please report this, with the output of giltrace doctor --json");
	}
	return 0;
}

/* As a user would: record into a directory, and read it back. */
static int run_calibration(const struct gt_options *options, bool is_gil_enabled,
			   struct gt_calibration *calibration)
{
	_cleanup_(gt_trace_directory_removep) char *directory = NULL;
	_cleanup_(gt_recording_clear) struct gt_recording recording = {0};
	char *const no_arguments[] = {NULL};
	struct gt_options calibration_options = {
		.python = options->python,
		.code = calibration_code,
		.arguments = no_arguments,
		.quiet = true,
	};
	struct gt_progress progress;
	int status, r;

	r = gt_trace_directory_make_temporary(&directory);
	if (r < 0)
		return r;
	if (gt_record_into(&calibration_options, directory, &status) != 0)
		return -EIO;
	if (status != 0) {
		gt_error("the calibration program exited with status %d", status);
		return -EIO;
	}
	gt_progress_init(&progress, true);
	r = gt_recording_load(directory, &progress, &recording);
	if (r < 0)
		return r;
	calibration->has_run = true;
	return judge(&recording, is_gil_enabled, calibration);
}

static void calibrate(const struct gt_options *options, bool is_gil_enabled,
		      struct gt_calibration *calibration)
{
	struct gt_log_capture capture;

	gt_log_start_capture(&capture);
	if (run_calibration(options, is_gil_enabled, calibration) < 0)
		calibration->ok = false;
	calibration->problem = gt_log_end_capture(&capture);
}

void gt_diagnose(const struct gt_options *options, struct gt_diagnosis *diagnosis)
{
	(void)uname(&diagnosis->kernel);
	find_rights(diagnosis);
	for (enum gt_event_kind kind = 0; kind < GT_EVENT_KINDS; kind++)
		diagnosis->events[kind] = gt_event_kind_works(kind, diagnosis->tracefs);
	find_python(options, diagnosis);
	if (diagnosis->can_probe && diagnosis->has_sites)
		calibrate(options, diagnosis->python.interpreter.is_gil_enabled,
			  &diagnosis->calibration);
	diagnosis->ok = diagnosis->calibration.ok;
}

void gt_diagnosis_clear(struct gt_diagnosis *diagnosis)
{
	gt_traced_python_clear(&diagnosis->python);
	gt_array_clear(&diagnosis->calibration.threads);
	free(diagnosis->calibration.problem);
	free(diagnosis->rights_problem);
	free(diagnosis->python_problem);
	*diagnosis = (struct gt_diagnosis){0};
}
