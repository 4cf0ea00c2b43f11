/* SPDX-License-Identifier: MIT */
#include "cmd/load_unwinder.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "cmd/trace_directory.h"

#define OWN_KERNEL_SYMBOLS "/proc/kallsyms"

static int make(const struct gt_unwinder_spec *spec, struct gt_unwinder **ret)
{
	return gt_unwinder_new(spec, ret) < 0 ? gt_error_oom() : 0;
}

int gt_load_unwinder(const char *directory, const struct gt_meta *meta, struct gt_unwinder **ret)
{
	_cleanup_free_ char *symbols = NULL, *files = NULL;
	struct gt_unwinder_spec spec = {
		.root = meta->root,
		.gil_build_id = meta->build_id,
		.gil_path = meta->gil_file,
		.gil_waits = &meta->sites.waits,
	};

	*ret = NULL;
	if (!meta->has_states || !meta->call_graph)
		return 0;
	symbols = gt_format("%s/%s", directory, GT_TRACE_KERNEL_SYMBOLS_FILE);
	files = gt_format("%s/%s", directory, GT_TRACE_FILES_DIRECTORY);
	if (!symbols || !files)
		return gt_error_oom();
	if (access(symbols, R_OK) == 0)
		spec.kernel_symbols = symbols;
	spec.kept_files = files;
	return make(&spec, ret);
}

static bool has_stacks(const struct gt_perfdata *perfdata)
{
	for (uint32_t i = 0; i < gt_perfdata_event_count(perfdata); i++) {
		const struct gt_perf_event *event = gt_perfdata_event(perfdata, i);

		if (event->name && strcmp(event->name, "sched_switch") == 0 &&
		    event->attr->sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER))
			return true;
	}
	return false;
}

int gt_load_unwinder_of_file(const struct gt_perfdata *perfdata, struct gt_unwinder **ret)
{
	const char *release = gt_perfdata_info(perfdata)->os_release;
	struct gt_unwinder_spec spec = {0};
	struct utsname kernel;

	*ret = NULL;
	if (!has_stacks(perfdata))
		return 0;
	if (release && uname(&kernel) == 0 && strcmp(release, kernel.release) == 0)
		spec.kernel_symbols = OWN_KERNEL_SYMBOLS;
	return make(&spec, ret);
}
