/* SPDX-License-Identifier: MIT */
#include "cmd/state_capture.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "cmd/buffer_size.h"
#include "cmd/optional_pass.h"
#include "cmd/options.h"
#include "cmd/rights.h"
#include "cmd/state_choice.h"
#include "cmd/trace_directory.h"
#include "record/kernel_symbols.h"

/* Memory changes with each page; every sixteenth change shows its course. */
#define MEMORY_PERIOD 16

static uint32_t stack_bytes(const struct gt_options *options)
{
	if (options->call_graph == GT_CALL_GRAPH_FP)
		return 0;
	return options->stack_bytes ? options->stack_bytes : GT_PASS_DEFAULT_STACK_BYTES;
}

static void save_kernel_symbols(const char *directory)
{
	_cleanup_free_ char *path = gt_format("%s/%s", directory, GT_TRACE_KERNEL_SYMBOLS_FILE);

	/* They may be hidden from this user: then the kernel's functions have no names. */
	if (path)
		(void)gt_kernel_symbols_save(path);
}

/* One try, with what CHOICE has. */
static int open_pass(const struct gt_state_capture_spec *spec, const struct gt_state_choice *choice,
		     pid_t pid, struct gt_pass **ret, char **ret_why)
{
	static const struct gt_pass_tracepoint tracepoints[] = {
		{.system = "sched", .name = "sched_switch", .has_stack = true},
		{.system = "kmem", .name = "rss_stat", .period = MEMORY_PERIOD},
	};
	_cleanup_free_ char *kept_files =
		gt_format("%s/%s", spec->directory, GT_TRACE_FILES_DIRECTORY);
	struct gt_pass_spec pass = {
		.path = spec->path,
		.what = choice->has_stacks ? "the scheduler's events" : "context switches",
		.context_switches = true,
		.counters = choice->counters.items,
		.counter_count = choice->counters.count,
		.ring_bytes = gt_buffer_size_of_states(spec->options, choice->has_stacks),
		.may_shrink_rings = true,
		.command = spec->arguments,
	};

	if (!kept_files)
		return gt_error_oom();
	if (choice->has_stacks) {
		pass.tracefs = spec->rights->tracefs;
		pass.tracepoints = tracepoints;
		pass.tracepoint_count = choice->has_memory ? 2 : 1;
		pass.wakeups = choice->has_wakeups;
		pass.call_graph = spec->options->call_graph;
		pass.stack_bytes = stack_bytes(spec->options);
		pass.kept_files = kept_files;
	}
	return gt_optional_pass_open(&pass, pid, ret, ret_why);
}

static const char *text_of(const char *why)
{
	return why ? why : "out of memory";
}

/* With stacks; with wake-ups, too, where that is possible. */
static int open_with_stacks(const struct gt_state_capture_spec *spec,
			    struct gt_state_choice *choice, pid_t pid, struct gt_pass **ret)
{
	_cleanup_free_ char *why = NULL, *why_stacks = NULL;
	int r = open_pass(spec, choice, pid, ret, &why);

	if (r == 0)
		return 0;
	if (choice->has_wakeups) {
		choice->has_wakeups = false;
		r = open_pass(spec, choice, pid, ret, &why_stacks);
	}
	if (r == 0)
		gt_warning(GT_WAKEUPS_ARE_MISSING "%s", text_of(why));
	else
		gt_warning(GT_STACKS_ARE_MISSING "%s", text_of(why_stacks ? why_stacks : why));
	return r;
}

/*
 * Without stacks. Where the limit on memory for rings is reached with those of the counters, it
 * goes without these.
 */
static int open_switches(const struct gt_state_capture_spec *spec, struct gt_state_choice *choice,
			 pid_t pid, struct gt_pass **ret, char **ret_why)
{
	_cleanup_free_ char *why = NULL;
	uint32_t counter_count = choice->counters.count;
	int r = open_pass(spec, choice, pid, ret, ret_why), without;

	if ((r != -EPERM && r != -ENOMEM) || counter_count == 0)
		return r;
	choice->counters.count = 0;
	without = open_pass(spec, choice, pid, ret, &why);
	choice->counters.count = counter_count;
	if (without < 0)
		return r;
	gt_warning("nothing is counted: %s", text_of(*ret_why));
	return 0;
}

int gt_state_capture_open(const struct gt_state_capture_spec *spec, struct gt_state_choice *choice,
			  pid_t pid, struct gt_pass **ret)
{
	bool is_all_there_is = !spec->options->gil_detect;
	_cleanup_free_ char *why = NULL;
	int r;

	if (choice->has_stacks && open_with_stacks(spec, choice, pid, ret) == 0) {
		save_kernel_symbols(spec->directory);
		return 0;
	}
	choice->has_stacks = choice->has_wakeups = choice->has_memory = false;
	r = open_switches(spec, choice, pid, ret, &why);
	if (r < 0)
		gt_log(is_all_there_is ? GT_LOG_ERROR : GT_LOG_WARNING, "%s%s",
		       is_all_there_is ? "" : "no on/off CPU: ", text_of(why));
	return r;
}

int gt_state_capture_describe(const struct gt_options *options,
			      const struct gt_state_choice *choice, struct gt_meta *meta)
{
	meta->has_states = true;
	meta->has_wakeups = choice->has_wakeups;
	if (!choice->has_stacks)
		return 0;
	meta->call_graph = strdup(options->call_graph == GT_CALL_GRAPH_FP ? "fp" : "dwarf");
	if (!meta->call_graph)
		return gt_error_oom();
	meta->stack_bytes = stack_bytes(options);
	return 0;
}
