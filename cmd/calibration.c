/* SPDX-License-Identifier: MIT */
#include "cmd/calibration.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "cmd/load.h"
#include "cmd/progress.h"
#include "cmd/trace_directory.h"
#include "cmd/verbs.h"

static const char calibration_code[] =
	"import threading, time\n"
	"end = time.monotonic() + 0.5\n"
	"def compute():\n"
	"    while time.monotonic() < end:\n"
	"        sum(range(1000))\n"
	"threads = [threading.Thread(target=compute) for _ in range(2)]\n"
	"for thread in threads: thread.start()\n"
	"for thread in threads: thread.join()\n";

static bool differ_by_one(uint64_t a, uint64_t b)
{
	return a > b ? a - b <= 1 : b - a <= 1;
}

static int judge(const struct gt_recording *recording, enum gt_probe_way way, bool is_gil_enabled,
		 struct gt_calibration *calibration)
{
	const struct gt_trace *trace = recording->trace;
	/* The agent tells of a take only when it has to wait. */
	bool has_every_take = way == GT_PROBE_WAY_UPROBE;

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
		calibration->ok &=
			counts->acquired > 0 &&
			(!has_every_take || differ_by_one(counts->take, counts->acquired)) &&
			differ_by_one(counts->acquired, counts->release);
	}
	if (!is_gil_enabled) {
		calibration->ok = false;
		gt_error("the GIL is off: there are no holds to trace\n"
			 "  set PYTHON_GIL=1 to turn it on");
	} else if (trace->gils.count == 0) {
		gt_error("no thread was seen to use the GIL\n  is this a Python that starts "
			 "another one?");
	} else if (!calibration->ok) {
		gt_error("the events do not balance: figures of this Python would be wrong\n"
			 "  please report this, with the output of giltrace doctor --json");
	}
	return 0;
}

/* As a user would: record into a directory, and read it back. */
static int run(const struct gt_options *options, enum gt_probe_way way, bool is_gil_enabled,
	       struct gt_calibration *calibration)
{
	_cleanup_(gt_trace_directory_removep) char *directory = NULL;
	_cleanup_(gt_recording_clear) struct gt_recording recording = {0};
	char *const no_arguments[] = {NULL};
	struct gt_options calibration_options = {
		.python = options->python,
		.gil_detect = true,
		.probe_way = way,
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
	return judge(&recording, way, is_gil_enabled, calibration);
}

void gt_calibrate(const struct gt_options *options, enum gt_probe_way way, bool is_gil_enabled,
		  struct gt_calibration *calibration)
{
	struct gt_log_capture capture;

	gt_log_start_capture(&capture);
	if (run(options, way, is_gil_enabled, calibration) < 0)
		calibration->ok = false;
	calibration->problem = gt_log_end_capture(&capture);
}

void gt_calibration_clear(struct gt_calibration *calibration)
{
	gt_array_clear(&calibration->threads);
	free(calibration->problem);
	*calibration = (struct gt_calibration){0};
}
