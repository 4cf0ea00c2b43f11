/* SPDX-License-Identifier: MIT */
#include "record/event_attr.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/log.h"
#include "record/kernel_number.h"
#include "record/pass.h"

#define SAMPLE_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* The kernel takes less than 64 KiB, in words. */
#define MAX_STACK_BYTES 65528u

/* The general registers, the instruction's address, and the flags: all that unwinding can need. */
#if defined(__x86_64__)
#define BITS_UP_TO(last) ((UINT64_C(2) << (last)) - 1)
#define USER_REGISTERS                                                                             \
	(BITS_UP_TO(PERF_REG_X86_FLAGS) |                                                          \
	 (BITS_UP_TO(PERF_REG_X86_R15) & ~BITS_UP_TO(PERF_REG_X86_R8 - 1)))
#elif defined(__aarch64__)
#define USER_REGISTERS ((UINT64_C(1) << PERF_REG_ARM64_MAX) - 1)
#else
#define USER_REGISTERS UINT64_C(0) /* not known: the kernel refuses to record none */
#endif

static bool has_stacks(const struct gt_pass_spec *spec)
{
	for (uint32_t i = 0; i < spec->tracepoint_count; i++)
		if (spec->tracepoints[i].has_stack)
			return true;
	return false;
}

static struct perf_event_attr common_attr(const struct gt_pass_spec *spec)
{
	/*
	 * perf script shows no stacks of samples without an address. All events have it then, so
	 * that all samples are alike.
	 */
	uint64_t address = has_stacks(spec) ? PERF_SAMPLE_IP : 0;

	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_period = 1,
		.sample_type = SAMPLE_TYPE | address,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

struct perf_event_attr gt_event_attr_of_tasks(const struct gt_pass_spec *spec)
{
	struct perf_event_attr attr = common_attr(spec);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	/*
	 * It never samples. But with such an event the kernel does not swap the events of two tasks
	 * that inherited them instead of switching them: an event then keeps the process that it
	 * was made for, by which uprobes are filtered. Otherwise the exit of one process can take
	 * the probes out of another that goes on.
	 */
	attr.sample_type |= PERF_SAMPLE_READ;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.task = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	/* What perf needs to unwind stacks itself is in mappings without code. */
	attr.mmap_data = has_stacks(spec) && spec->call_graph == GT_CALL_GRAPH_DWARF;
	attr.build_id = 1;
	attr.context_switch = spec->context_switches;
	return attr;
}

static int find_tracepoint(const struct gt_pass_spec *spec,
			   const struct gt_pass_tracepoint *tracepoint, uint64_t *ret)
{
	_cleanup_free_ char *path = gt_format("%s/events/%s/%s/id", spec->tracefs,
					      tracepoint->system, tracepoint->name);
	long long id;
	int r;

	if (!path)
		return gt_error_oom();
	r = gt_kernel_number_read(path, &id);
	if (r == -ENOENT) {
		gt_error("cannot record %s: this kernel has no event %s:%s (no %s)", spec->what,
			 tracepoint->system, tracepoint->name, path);
		return r;
	}
	if (r == -EACCES || r == -EPERM) {
		gt_error("cannot record %s: %s cannot be read: %s\n"
			 "  run as root, or let an administrator open tracefs to you",
			 spec->what, path, strerror(-r));
		return r;
	}
	if (r < 0)
		return gt_error_errno(r, "cannot record %s: %s cannot be read", spec->what, path);
	*ret = (uint64_t)id;
	return 0;
}

static int add_stack(const struct gt_pass_spec *spec, struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (spec->call_graph == GT_CALL_GRAPH_FP)
		return 0;
	if (spec->stack_bytes > MAX_STACK_BYTES) {
		gt_error("cannot record %s: a sample holds no more than %u bytes of a stack, and "
			 "not %" PRIu32 "\n  ask for less with --stack-size",
			 spec->what, MAX_STACK_BYTES, spec->stack_bytes);
		return -EINVAL;
	}
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = USER_REGISTERS;
	attr->sample_stack_user = GT_ALIGN_UP(spec->stack_bytes, (uint32_t)sizeof(uint64_t));
	attr->exclude_callchain_user = 1;
	return 0;
}

int gt_event_attr_of_tracepoint(const struct gt_pass_spec *spec,
				const struct gt_pass_tracepoint *tracepoint,
				struct perf_event_attr *ret)
{
	struct perf_event_attr attr = common_attr(spec);
	uint64_t id = 0;
	int r = find_tracepoint(spec, tracepoint, &id);

	if (r < 0)
		return r;
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = id;
	attr.sample_type |= PERF_SAMPLE_RAW;
	attr.sample_period = GT_MAX(tracepoint->period, 1u);
	r = tracepoint->has_stack ? add_stack(spec, &attr) : 0;
	if (r < 0)
		return r;
	*ret = attr;
	return 0;
}

int gt_event_attr_of_all_tasks(const struct gt_pass_spec *spec,
			       const struct gt_pass_tracepoint *tracepoint,
			       struct perf_event_attr *ret)
{
	int r = gt_event_attr_of_tracepoint(spec, tracepoint, ret);

	if (r < 0)
		return r;
	ret->inherit = 0;
	ret->enable_on_exec = 0;
	return 0;
}

struct perf_event_attr gt_event_attr_of_counter(const struct gt_pass_spec *spec,
						const struct gt_pass_counter *counter)
{
	struct perf_event_attr attr = common_attr(spec);

	attr.type = counter->type;
	attr.config = counter->config;
	attr.sample_period = 0;
	attr.read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	/* Each thread tells at its end what it has counted by itself; see counters.h. */
	attr.inherit_stat = 1;
	attr.exclude_kernel = counter->user_only;
	attr.exclude_hv = counter->user_only;
	return attr;
}

bool gt_event_attr_simplify(struct perf_event_attr *attr)
{
	if (attr->sample_type & PERF_SAMPLE_READ) /* with inherit: from Linux 6.12 */
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
	else if (attr->read_format & PERF_FORMAT_LOST) /* from Linux 6.0 */
		attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	else if (attr->build_id) /* from Linux 5.12 */
		attr->build_id = 0;
	else
		return false;
	return true;
}

uint32_t gt_event_attr_ids_offset(const struct perf_event_attr *attr)
{
	uint32_t fields_in_front = attr->sample_type & PERF_SAMPLE_IP ? 2 : 1;

	return (uint32_t)sizeof(struct perf_event_header) +
	       fields_in_front * (uint32_t)sizeof(uint64_t);
}
