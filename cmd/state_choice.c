/* SPDX-License-Identifier: MIT */
#include "cmd/state_choice.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cmd/options.h"
#include "cmd/rights.h"
#include "record/counter_names.h"
#include "record/event_kinds.h"

/* -errno when context switches cannot be recorded at all. */
static int choose_switches(const struct gt_options *options, const struct gt_rights *rights,
			   struct gt_state_choice *choice)
{
	_cleanup_(gt_obstacle_clear) struct gt_obstacle obstacle = {0};
	_cleanup_free_ char *text = NULL;
	int r = gt_event_kind_try(GT_EVENT_KIND_CONTEXT_SWITCH, NULL);

	choice->has_switches = r == 0;
	if (r == 0)
		return 0;
	gt_rights_explain_perf(rights, r, &obstacle);
	text = gt_obstacle_text(&obstacle);
	gt_log(options->gil_detect ? GT_LOG_WARNING : GT_LOG_ERROR, "%s: %s",
	       options->gil_detect ? "no on/off CPU" : "nothing can be recorded",
	       text ? text : strerror(-r));
	return r;
}

static void choose_stacks(const struct gt_options *options, struct gt_rights *rights,
			  struct gt_state_choice *choice)
{
	_cleanup_(gt_obstacle_clear) struct gt_obstacle obstacle = {0};
	_cleanup_free_ char *text = NULL;
	int r = gt_rights_find_tracepoints(rights, &obstacle);

	choice->has_stacks = r == 0;
	if (r == 0) {
		choice->has_memory = gt_rights_can_read_tracepoint(rights, "kmem/rss_stat");
		if (!choice->has_memory)
			gt_debug("no resident memory: this kernel has no tracepoint rss_stat");
		return;
	}
	text = gt_obstacle_text(&obstacle);
	gt_warning("%s" GT_STACKS_ARE_MISSING "%s",
		   options->gil_detect ? "" : "which sleeps are for the GIL is not known, and ",
		   text ? text : strerror(-r));
}

static void choose_wakeups(struct gt_state_choice *choice)
{
	choice->has_wakeups = choice->has_stacks && gt_pass_may_record_wakeups();
	if (choice->has_stacks && !choice->has_wakeups)
		gt_warning(GT_WAKEUPS_ARE_MISSING
			   "in a PID namespace, the kernel tells of threads by other numbers\n"
			   "  run giltrace outside of the container, if this is one");
}

static bool has_counter(const struct gt_state_choice *choice, const char *name)
{
	gt_array_for_each (&choice->counters, counter)
		if (strcmp(counter->name, name) == 0)
			return true;
	return false;
}

/* The kernel's part of it is counted where that is allowed. */
static int try_counter(const struct gt_pass_counter *counter, struct gt_pass_counter *ret)
{
	int r = gt_event_kind_try_counter(counter);

	*ret = *counter;
	if ((r == -EACCES || r == -EPERM) && !counter->user_only) {
		ret->user_only = true;
		r = gt_event_kind_try_counter(ret);
	}
	return r;
}

static int add_counter(const struct gt_pass_counter *counter, struct gt_state_choice *choice)
{
	struct gt_pass_counter tried, *added;
	int r;

	if (has_counter(choice, counter->name))
		return 0;
	r = try_counter(counter, &tried);
	if (r < 0)
		return r;
	added = gt_array_push(&choice->counters);
	if (!added)
		return -ENOMEM;
	*added = tried;
	return 0;
}

static int refuse_counter(const struct gt_rights *rights, const char *name, int err)
{
	_cleanup_(gt_obstacle_clear) struct gt_obstacle obstacle = {0};
	_cleanup_free_ char *text = NULL;

	if (err == -ENOMEM)
		return gt_error_oom();
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -EINVAL || err == -ENODEV ||
	    err == -ENXIO) {
		gt_error("this machine has no counter %s (a virtual machine often lacks them)\n"
			 "  leave it out of --counters",
			 name);
		return -EOPNOTSUPP;
	}
	gt_rights_explain_perf(rights, err, &obstacle);
	text = gt_obstacle_text(&obstacle);
	gt_error("cannot count %s: %s", name, text ? text : strerror(-err));
	return -EOPNOTSUPP;
}

/* Those that are always counted, where they can be; and those that were asked for. */
static int choose_counters(const struct gt_options *options, const struct gt_rights *rights,
			   struct gt_state_choice *choice)
{
	struct gt_pass_counter always[GT_DEFAULT_COUNTERS];

	gt_array_for_each (&options->counters, asked) {
		int r = add_counter(asked, choice);

		if (r < 0)
			return refuse_counter(rights, asked->name, r);
	}
	gt_counters_default(false, always);
	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		int r = add_counter(&always[i], choice);

		if (r == -ENOMEM)
			return gt_error_oom();
		if (r < 0)
			gt_debug_errno(r, "%s is not counted", always[i].name);
	}
	return 0;
}

int gt_state_choose(const struct gt_options *options, struct gt_rights *rights,
		    struct gt_state_choice *choice)
{
	int r;

	if (!options->state_detect)
		return 0;
	r = choose_counters(options, rights, choice);
	if (r < 0)
		return r;
	r = choose_switches(options, rights, choice);
	if (r < 0)
		return options->gil_detect ? 0 : r;
	choose_stacks(options, rights, choice);
	choose_wakeups(choice);
	return 0;
}

void gt_state_choice_clear(struct gt_state_choice *choice)
{
	gt_array_clear(&choice->counters);
	*choice = (struct gt_state_choice){0};
}
