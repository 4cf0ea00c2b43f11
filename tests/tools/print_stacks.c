/* SPDX-License-Identifier: MIT */
/*
 * print_stacks FILE: unwinds the stacks of a perf.data file and prints them, for comparison with
 * perf script. A sample is a line "TID NANOSECONDS", and a line "OFFSET<tab>NAME<tab>FILE" for each
 * user frame, innermost first; OFFSET is in the file. Marks have neither offset nor file.
 *
 * print_stacks --time COUNT FILE: does all of it COUNT times but the printing, and prints the
 * nanoseconds of the fastest time, and what was counted in each: samples, user frames, stacks that
 * were cut, and broken ones. Kernel code is not named: that would be a matter of the size of
 * /proc/kallsyms.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perfdata/perfdata.h"
#include "unwind/unwinder.h"

static void print_stack(struct gt_unwinder *unwinder, const struct gt_perf_record *record,
			uint32_t stack)
{
	const struct gt_stacks *stacks = gt_unwinder_stacks(unwinder);
	const uint64_t *offsets;
	uint32_t count = gt_unwinder_offsets(unwinder, &offsets), user = 0;

	printf("%" PRIu32 " %" PRIu64 "\n", record->tid, record->time_ns);
	for (; stack != GT_STACK_NONE; stack = stacks->stacks.items[stack].parent) {
		const struct gt_frame *frame = gt_stacks_top(stacks, stack);

		if (frame->kind == GT_FRAME_MARK)
			printf("\t%s\t\n", frame->name);
		else if (frame->kind == GT_FRAME_USER && user < count)
			printf("%" PRIx64 "\t%s\t%s\n", offsets[user++], frame->name, frame->file);
	}
}

static int unwind_sample(struct gt_unwinder *unwinder, const struct gt_perf_record *record,
			 uint32_t *ret_stack)
{
	struct gt_stack_sample sample = {
		.frames = record->sample.frames,
		.frame_count = record->sample.frame_count,
		.registers = record->sample.registers,
		.register_mask = record->sample.register_mask,
		.stack = record->sample.stack,
		.stack_bytes = record->sample.stack_bytes,
		.is_cut = record->sample.stack_is_cut,
	};

	return gt_unwinder_unwind(unwinder, record->pid, &sample, ret_stack);
}

static int map(struct gt_unwinder *unwinder, const struct gt_perf_record *record)
{
	struct gt_mapping mapping = {
		.start = record->mmap.start,
		.length = record->mmap.length,
		.file_offset = record->mmap.file_offset,
		.path = record->mmap.path,
		.build_id = record->mmap.build_id,
		.build_id_size = record->mmap.build_id_size,
	};

	return gt_unwinder_map(unwinder, record->pid, &mapping);
}

static int feed(struct gt_unwinder *unwinder, const struct gt_perf_record *record, bool is_printed)
{
	uint32_t stack;
	int r = 0;

	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (record->mmap.executable &&
		    (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
			r = map(unwinder, record);
		break;
	case PERF_RECORD_FORK:
		if (record->pid != record->task.ppid)
			r = gt_unwinder_fork(unwinder, record->task.ppid, record->pid);
		break;
	case PERF_RECORD_COMM:
		if (record->comm.exec)
			gt_unwinder_exec(unwinder, record->pid);
		break;
	case PERF_RECORD_SAMPLE:
		r = unwind_sample(unwinder, record, &stack);
		if (r == 0 && is_printed)
			print_stack(unwinder, record, stack);
		break;
	default:
		break;
	}
	return r;
}

static int read_file(const char *path, bool is_printed, struct gt_unwinder_counts *ret_counts)
{
	static const struct gt_unwinder_spec spec = {0};
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = NULL;
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	struct gt_perf_record record;
	int r = gt_unwinder_new(&spec, &unwinder);

	if (r == 0)
		r = gt_perfdata_open(path, &perfdata);
	while (r >= 0 && (r = gt_perfdata_next(perfdata, &record)) > 0)
		r = feed(unwinder, &record, is_printed);
	if (r == 0)
		*ret_counts = gt_unwinder_counts(unwinder);
	return r;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int measure(const char *path, long times)
{
	struct gt_unwinder_counts counts = {0};
	uint64_t best_ns = UINT64_MAX;

	for (long i = 0; i < times; i++) {
		uint64_t start_ns = now_ns();

		if (read_file(path, false, &counts) < 0)
			return EXIT_FAILURE;
		best_ns = GT_MIN(best_ns, now_ns() - start_ns);
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", best_ns,
	       counts.samples, counts.frames, counts.cut, counts.broken);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct gt_unwinder_counts counts;

	if (argc == 4 && strcmp(argv[1], "--time") == 0)
		return measure(argv[3], strtol(argv[2], NULL, 10));
	if (argc != 2) {
		fprintf(stderr, "usage: print_stacks [--time COUNT] FILE\n");
		return EXIT_FAILURE;
	}
	return read_file(argv[1], true, &counts) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
