/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/array.h"
#include "base/io.h"
#include "perfdata/perfdata.h"
#include "perfdata/sort.h"
#include "perfdata_builder.h"

/* libtraceevent does not free all of a format that it could not parse. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:tep_parse_event\n";
}

/* Where messages go while what they say, or that there are many, is not for the terminal. */
static int messages_fd;
static int terminal_fd;

static void hide_messages(void)
{
	fflush(stderr);
	assert_int_equal(ftruncate(messages_fd, 0), 0);
	dup2(messages_fd, STDERR_FILENO);
}

static void show_messages(void)
{
	fflush(stderr);
	dup2(terminal_fd, STDERR_FILENO);
}

/* The messages since hide_messages(); the caller frees them. */
static char *take_messages(void)
{
	char *text = NULL;

	show_messages();
	lseek(messages_fd, 0, SEEK_SET);
	assert_int_equal(gt_read_fd(messages_fd, 1 << 20, &text, NULL), 0);
	lseek(messages_fd, 0, SEEK_SET);
	return text;
}

static int set_up(void **state)
{
	(void)state;
	messages_fd = memfd_create("messages", MFD_CLOEXEC);
	terminal_fd = dup(STDERR_FILENO);
	return messages_fd < 0 || terminal_fd < 0 ? -1 : 0;
}

/* Opens a file that holds SIZE bytes. */
static int open_bytes(const void *bytes, size_t size, struct gt_perfdata **ret)
{
	_cleanup_close_ int fd = memfd_create("perf.data", MFD_CLOEXEC);
	_cleanup_free_ char *path = gt_format("/proc/self/fd/%d", fd);

	assert_int_equal(gt_write_all(fd, bytes, size), 0);
	return gt_perfdata_open(path, ret);
}

static struct gt_perfdata *open_built(struct builder *builder)
{
	size_t size = 0;
	_cleanup_free_ char *file = builder_finish(builder, &size);
	struct gt_perfdata *perfdata = NULL;

	assert_int_equal(open_bytes(file, size, &perfdata), 0);
	return perfdata;
}

/* Reads SIZE bytes as a file to its end: how many records came, or a negative errno. */
static int read_bytes(const void *bytes, size_t size)
{
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	struct gt_perf_record record;
	int count = 0, r = open_bytes(bytes, size, &perfdata);

	if (r < 0)
		return r;
	while ((r = gt_perfdata_next(perfdata, &record)) > 0)
		count++;
	return r < 0 ? r : count;
}

/* How an event would be printed is not needed; some libraries crash where that makes no sense. */
static void test_a_broken_print_format_is_no_matter(void **state)
{
	static const char broken[] = "\"%s\", __print_symbolic(REC->lo\xc8, { 0, \"a\" })";
	static const char start[] = "print fmt: ";
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	_cleanup_free_ char *file = NULL;
	struct gt_perf_field lock;
	struct builder builder;
	size_t size = 0;
	char *print;

	(void)state;
	builder_init(&builder);
	builder_sample(&builder, BUILDER_ACQUIRED, 0, 1, 10, 0xa0);
	file = builder_finish(&builder, &size);
	builder_clear(&builder);
	print = memmem(file, size, start, strlen(start));
	assert_non_null(print);
	print += strlen(start);
	assert_true(strcspn(print, "\n") >= strlen(broken));
	memset(print, ' ', strcspn(print, "\n"));
	memcpy(print, broken, strlen(broken));
	assert_int_equal(open_bytes(file, size, &perfdata), 0);
	assert_int_equal(gt_perfdata_find_field(perfdata, BUILDER_ACQUIRED, "lock", &lock), 0);
	assert_int_equal(lock.offset, 16);
}

/* Two rounds of two rings, with inversions in them and across them. */
static void build_rounds(struct builder *builder)
{
	builder_sample(builder, BUILDER_ACQUIRED, 0, 1, 10, 0xa0);
	builder_sample(builder, BUILDER_RELEASE, 0, 1, 30, 0xa1);
	builder_sample(builder, BUILDER_ACQUIRED, 0, 2, 20, 0xa2);
	builder_sample(builder, BUILDER_RELEASE, 0, 2, 70, 0xa3);
	builder_sample(builder, BUILDER_ACQUIRED, 1, 3, 5, 0xa4);
	builder_sample(builder, BUILDER_RELEASE, 1, 3, 40, 0xa5);
	builder_round(builder);
	builder_sample(builder, BUILDER_ACQUIRED, 0, 1, 90, 0xa6);
	builder_sample(builder, BUILDER_RELEASE, 0, 1, 80, 0xa7);
	builder_sample(builder, BUILDER_ACQUIRED, 1, 3, 60, 0xa8);
	builder_round(builder);
	builder_sample(builder, BUILDER_RELEASE, 1, 3, 100, 0xa9);
	builder_round(builder);
}

static void check_rounds(struct gt_perfdata *perfdata)
{
	static const struct {
		uint64_t time_ns;
		uint32_t tid, ring;
		uint64_t lock;
	} expected[] = {
		{5, 3, 1, 0xa4},  {10, 1, 0, 0xa0},  {20, 2, 0, 0xa2}, {30, 1, 0, 0xa1},
		{40, 3, 1, 0xa5}, {60, 3, 1, 0xa8},  {70, 2, 0, 0xa3}, {80, 1, 0, 0xa7},
		{90, 1, 0, 0xa6}, {100, 3, 1, 0xa9},
	};
	struct gt_perf_field lock;
	struct gt_perf_record record;

	assert_int_equal(gt_perfdata_find_field(perfdata, BUILDER_ACQUIRED, "lock", &lock), 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		uint64_t value = 0;

		assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
		assert_int_equal(record.type, PERF_RECORD_SAMPLE);
		assert_int_equal(record.time_ns, expected[i].time_ns);
		assert_int_equal(record.pid, BUILDER_PID);
		assert_int_equal(record.tid, expected[i].tid);
		assert_int_equal(record.ring, expected[i].ring);
		assert_true(gt_perf_field_read(&record, &lock, &value));
		assert_int_equal(value, expected[i].lock);
		assert_string_equal(gt_perfdata_event(perfdata, record.event)->name,
				    record.event == BUILDER_ACQUIRED ? "acquired" : "release");
	}
	assert_int_equal(gt_perfdata_next(perfdata, &record), 0);
	assert_int_equal(gt_perfdata_late_records(perfdata), 0);
}

static void test_records_come_in_time_order(void **state)
{
	struct builder builder;

	(void)state;
	builder_init(&builder);
	build_rounds(&builder);
	{
		_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = open_built(&builder);

		check_rounds(perfdata);
	}
	builder_clear(&builder);
}

static void test_attributes_of_other_sizes_are_read(void **state)
{
	static const uint32_t sizes[] = {PERF_ATTR_SIZE_VER0, sizeof(struct perf_event_attr) + 24};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct builder builder;
		struct gt_perfdata *perfdata;

		builder_init(&builder);
		builder.attr_size = sizes[i];
		build_rounds(&builder);
		perfdata = open_built(&builder);
		check_rounds(perfdata);
		gt_perfdata_close(perfdata);
		builder_clear(&builder);
	}
}

static void test_late_records_are_counted(void **state)
{
	static const uint64_t expected_ns[] = {100, 50, 200, 300};
	struct builder builder;
	struct gt_perfdata *perfdata;
	struct gt_perf_record record;

	(void)state;
	builder_init(&builder);
	builder_sample(&builder, BUILDER_ACQUIRED, 0, 1, 100, 0);
	builder_round(&builder);
	builder_sample(&builder, BUILDER_ACQUIRED, 0, 1, 200, 0);
	builder_round(&builder);
	builder_sample(&builder, BUILDER_ACQUIRED, 0, 1, 300, 0);
	builder_sample(&builder, BUILDER_ACQUIRED, 1, 1, 50, 0);
	builder_round(&builder);
	perfdata = open_built(&builder);
	for (size_t i = 0; i < ARRAY_SIZE(expected_ns); i++) {
		assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
		assert_int_equal(record.time_ns, expected_ns[i]);
	}
	assert_int_equal(gt_perfdata_late_records(perfdata), 1);
	gt_perfdata_close(perfdata);
	builder_clear(&builder);
}

static int compare_keys(const void *a, const void *b)
{
	const struct gt_sort_key *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->position < right->position ? -1 : left->position > right->position;
}

/* Whatever the order in which they come: each time is given once, equal ones in their order. */
static void test_sorter_sorts(void **state)
{
	enum { COUNT = 20000, STEP = 997 };
	struct gt_sort_key *expected = calloc(COUNT, sizeof(*expected));
	struct gt_sorter sorter = {0};
	const struct gt_sort_key *key;
	uint32_t given = 0;

	(void)state;
	srand(1);
	for (uint32_t i = 0; i < COUNT; i++) {
		/* Runs of several lengths, inversions in them, and equal times. */
		uint64_t time_ns =
			(uint64_t)(i % (STEP * (1 + i / 5000))) / 2 + (uint64_t)rand() % 8;

		expected[i] = (struct gt_sort_key){.time_ns = time_ns, .position = i};
		assert_int_equal(gt_sorter_add(&sorter, time_ns, i), 0);
	}
	qsort(expected, COUNT, sizeof(*expected), compare_keys);
	assert_int_equal(gt_sorter_release_half(&sorter), 0);
	while ((key = gt_sorter_next(&sorter)))
		assert_int_equal(key->position, expected[given++].position);
	assert_int_equal(given, COUNT / 2);
	gt_sorter_compact(&sorter);
	assert_int_equal(gt_sorter_release(&sorter, expected[COUNT - 100].time_ns), 0);
	while ((key = gt_sorter_next(&sorter)))
		assert_int_equal(key->position, expected[given++].position);
	assert_true(given > COUNT - 100 && given <= COUNT);
	gt_sorter_compact(&sorter);
	assert_int_equal(gt_sorter_release(&sorter, UINT64_MAX), 0);
	while ((key = gt_sorter_next(&sorter)))
		assert_int_equal(key->position, expected[given++].position);
	assert_int_equal(given, COUNT);
	gt_sorter_clear(&sorter);
	free(expected);
}

static void build_tasks(struct builder *builder)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time_ns;
	} task = {BUILDER_PID, BUILDER_PID, 2, 1, 20};
	struct {
		uint32_t pid, tid;
		char name[16];
	} comm = {BUILDER_PID, 1, "python3"};
	struct {
		uint32_t pid, tid;
		uint64_t start, length, file_offset;
		uint8_t build_id_size, unused[3], build_id[20];
		uint32_t protection, flags;
		char path[16];
	} mapping = {
		BUILDER_PID, 1,	   0x4000,	   0x1000, 0x2000, 8, {0}, {1, 2, 3, 4, 5, 6, 7, 8},
		PROT_EXEC,   0x02, "/usr/lib/x.so"};
	uint64_t lost[] = {builder_id(BUILDER_ACQUIRED, 0), 77};

	builder_record(builder, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &comm, sizeof(comm),
		       1, 10);
	builder_record(builder, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &mapping,
		       sizeof(mapping), 1, 11);
	builder_record(builder, PERF_RECORD_FORK, 0, &task, sizeof(task), 1, 20);
	builder_record(builder, PERF_RECORD_LOST, 0, lost, sizeof(lost), 0, 30);
	builder_record(builder, PERF_RECORD_EXIT, 0, &task, sizeof(task), 2, 40);
}

static void test_tasks_are_taken_apart(void **state)
{
	struct builder builder;
	struct gt_perfdata *perfdata;
	struct gt_perf_record record;

	(void)state;
	builder_init(&builder);
	build_tasks(&builder);
	perfdata = open_built(&builder);

	assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
	assert_int_equal(record.type, PERF_RECORD_COMM);
	assert_int_equal(record.time_ns, 10);
	assert_int_equal(record.tid, 1);
	assert_int_equal(record.event, BUILDER_DUMMY);
	assert_int_equal(record.ring, 1);
	assert_true(record.comm.exec);
	assert_string_equal(record.comm.name, "python3");

	assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
	assert_int_equal(record.type, PERF_RECORD_MMAP2);
	assert_int_equal(record.mmap.start, 0x4000);
	assert_int_equal(record.mmap.length, 0x1000);
	assert_int_equal(record.mmap.file_offset, 0x2000);
	assert_string_equal(record.mmap.path, "/usr/lib/x.so");
	assert_true(record.mmap.executable);
	assert_int_equal(record.mmap.build_id_size, 8);
	assert_memory_equal(record.mmap.build_id, "\1\2\3\4\5\6\7\10", 8);

	assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
	assert_int_equal(record.type, PERF_RECORD_FORK);
	assert_int_equal(record.pid, BUILDER_PID);
	assert_int_equal(record.tid, 2);
	assert_int_equal(record.task.ptid, 1);

	assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
	assert_int_equal(record.type, PERF_RECORD_LOST);
	assert_int_equal(record.lost.count, 77);
	assert_int_equal(record.ring, 1);

	assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
	assert_int_equal(record.type, PERF_RECORD_EXIT);
	assert_int_equal(record.tid, 2);
	assert_int_equal(gt_perfdata_next(perfdata, &record), 0);
	gt_perfdata_close(perfdata);
	builder_clear(&builder);
}

/* They have no body: whose they are and when is in what is behind each record. */
static void test_context_switches_are_passed_on(void **state)
{
	static const uint16_t misc[] = {
		0,
		PERF_RECORD_MISC_SWITCH_OUT,
		PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
	};
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	_cleanup_(builder_clear) struct builder builder;
	struct gt_perf_record record;

	(void)state;
	builder_init(&builder);
	for (uint32_t i = 0; i < ARRAY_SIZE(misc); i++)
		builder_record(&builder, PERF_RECORD_SWITCH, misc[i], "", 0, 8 + i, 10 + i);
	perfdata = open_built(&builder);
	for (uint32_t i = 0; i < ARRAY_SIZE(misc); i++) {
		assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
		assert_int_equal(record.type, PERF_RECORD_SWITCH);
		assert_int_equal(record.misc, misc[i]);
		assert_int_equal(record.pid, BUILDER_PID);
		assert_int_equal(record.tid, 8 + i);
		assert_int_equal(record.time_ns, 10 + i);
		assert_int_equal(record.ring, 1);
	}
	assert_int_equal(gt_perfdata_next(perfdata, &record), 0);
}

/* perf record -g of one event: no identifiers, counters and a call chain before the raw data. */
static void test_raw_data_is_found_behind_other_fields(void **state)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = 1001,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
	};
	struct {
		struct perf_event_header header;
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time_ns, cpu, period;
		uint64_t count, enabled, values[2][2];
		uint64_t frame_count, frames[3];
		struct builder_raw raw;
	} sample = {
		.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(sample)},
		.pid = BUILDER_PID,
		.tid = 9,
		.time_ns = 33,
		.count = 2,
		.frame_count = 3,
		.raw = builder_raw(9, 0xabc),
	};
	struct builder builder;
	struct gt_perfdata *perfdata;
	struct gt_perf_record record;
	struct gt_perf_field lock;
	uint64_t value = 0;

	(void)state;
	builder_init(&builder);
	builder.only_attr = &attr;
	builder_put(&builder, &sample, sizeof(sample));
	perfdata = open_built(&builder);
	assert_int_equal(gt_perfdata_event_count(perfdata), 1);
	assert_int_equal(gt_perfdata_find_field(perfdata, 0, "lock", &lock), 0);
	assert_int_equal(gt_perfdata_find_field(perfdata, 0, "caller", &lock), -ENOENT);
	assert_int_equal(gt_perfdata_next(perfdata, &record), 1);
	assert_int_equal(record.tid, 9);
	assert_int_equal(record.time_ns, 33);
	assert_int_equal(record.event, 0);
	assert_int_equal(record.ring, GT_PERF_NO_INDEX);
	assert_true(gt_perf_field_read(&record, &lock, &value));
	assert_int_equal(value, 0xabc);
	gt_perfdata_close(perfdata);
	builder_clear(&builder);
}

/* perf record --call-graph dwarf of one event, with branches before the registers. */
struct stack_sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t frame_count, frames[2];
	struct builder_raw raw;
	uint64_t branch_count, branch_index, branches[2][3];
	uint64_t abi, registers[3];
	uint64_t stack_size;
	uint8_t stack[32];
	uint64_t stack_used;
	uint64_t weight;
};

enum { STACK_MASK = 0x181 };

static struct stack_sample stack_sample(void)
{
	struct stack_sample sample = {
		.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(sample)},
		.pid = BUILDER_PID,
		.tid = 9,
		.time_ns = 33,
		.frame_count = 2,
		.frames = {(uint64_t)PERF_CONTEXT_USER, 0x1234},
		.raw = builder_raw(9, 0xabc),
		.branch_count = 2,
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.registers = {7, 8, 9},
		.stack_size = 32,
		.stack = "the stack",
		.stack_used = 24,
	};

	return sample;
}

/* Reads SIZE bytes of SAMPLE. 1, or the error. The record is good as long as *RET_PERFDATA. */
static int read_stack_sample(const struct stack_sample *sample, size_t size,
			     struct gt_perfdata **ret_perfdata, struct gt_perf_record *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = 1001,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT,
		.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX,
		.sample_regs_user = STACK_MASK,
		.sample_stack_user = 32,
		.sample_id_all = 1,
	};
	struct stack_sample cut = *sample;
	_cleanup_(builder_clear) struct builder builder;

	builder_init(&builder);
	builder.only_attr = &attr;
	cut.header.size = (uint16_t)size;
	builder_put(&builder, &cut, size);
	*ret_perfdata = open_built(&builder);
	return gt_perfdata_next(*ret_perfdata, ret);
}

static void test_stacks_are_given(void **state)
{
	struct stack_sample sample = stack_sample();
	struct gt_perfdata *perfdata;
	struct gt_perf_record record;

	(void)state;
	assert_int_equal(read_stack_sample(&sample, sizeof(sample), &perfdata, &record), 1);
	assert_int_equal(record.tid, 9);
	assert_int_equal(record.sample.raw_size, sample.raw.size);
	assert_int_equal(record.sample.frame_count, 2);
	assert_memory_equal(record.sample.frames, sample.frames, sizeof(sample.frames));
	assert_memory_equal(record.sample.registers, sample.registers, sizeof(sample.registers));
	assert_int_equal(record.sample.register_mask, STACK_MASK);
	assert_int_equal(record.sample.stack_bytes, 24);
	assert_memory_equal(record.sample.stack, sample.stack, 24);
	assert_false(record.sample.stack_is_cut);
	gt_perfdata_close(perfdata);

	sample.stack_used = 32;
	assert_int_equal(read_stack_sample(&sample, sizeof(sample), &perfdata, &record), 1);
	assert_int_equal(record.sample.stack_bytes, 32);
	assert_true(record.sample.stack_is_cut);
	gt_perfdata_close(perfdata);
}

/* Other registers have other numbers there. */
static void test_registers_of_32_bits_are_none(void **state)
{
	struct stack_sample sample = stack_sample();
	struct gt_perfdata *perfdata;
	struct gt_perf_record record;

	(void)state;
	sample.abi = PERF_SAMPLE_REGS_ABI_32;
	assert_int_equal(read_stack_sample(&sample, sizeof(sample), &perfdata, &record), 1);
	assert_null(record.sample.registers);
	assert_int_equal(record.sample.register_mask, 0);
	assert_int_equal(record.sample.stack_bytes, 24);
	gt_perfdata_close(perfdata);
}

/* A thread of the kernel: no registers are behind the word, and nothing is behind the size. */
static void test_samples_without_a_user_have_no_stack(void **state)
{
	struct stack_sample sample = stack_sample();
	struct gt_perfdata *perfdata;
	struct gt_perf_record record;
	size_t size = offsetof(struct stack_sample, registers) + sizeof(uint64_t);

	(void)state;
	sample.abi = PERF_SAMPLE_REGS_ABI_NONE;
	sample.registers[0] = 0; /* where the size of the stack is */
	assert_int_equal(read_stack_sample(&sample, size, &perfdata, &record), 1);
	assert_null(record.sample.registers);
	assert_null(record.sample.stack);
	assert_int_equal(record.sample.stack_bytes, 0);
	assert_int_equal(record.sample.frame_count, 2);
	gt_perfdata_close(perfdata);
}

/* Wherever it ends before the last field that is read, and whatever its counts and sizes are. */
static void test_stacks_are_not_read_past_their_sample(void **state)
{
	struct stack_sample good = stack_sample(), sample;
	uint64_t *const sizes[] = {
		&sample.frame_count,
		&sample.branch_count,
		&sample.stack_size,
		&sample.stack_used,
	};
	struct gt_perfdata *perfdata;
	struct gt_perf_record record;

	(void)state;
	hide_messages();
	for (size_t size = offsetof(struct stack_sample, frame_count);
	     size < offsetof(struct stack_sample, weight); size += sizeof(uint64_t)) {
		assert_int_equal(read_stack_sample(&good, size, &perfdata, &record), -EBADMSG);
		gt_perfdata_close(perfdata);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (uint32_t shift = 6; shift < 64; shift++) {
			sample = good;
			*sizes[i] = UINT64_C(1) << shift;
			assert_int_equal(
				read_stack_sample(&sample, sizeof(sample), &perfdata, &record),
				-EBADMSG);
			gt_perfdata_close(perfdata);
		}
	free(take_messages());
}

/* A PERF_RECORD_READ of SIZE bytes of VALUES, of an event that is read in FORMAT. */
static int read_count(uint64_t format, const uint64_t *values, size_t size,
		      struct gt_perf_record *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.read_format = format,
	};
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
	} start = {.header = {.type = PERF_RECORD_READ, .size = (uint16_t)(sizeof(start) + size)},
		   .pid = BUILDER_PID,
		   .tid = 8};
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	_cleanup_(builder_clear) struct builder builder;

	builder_init(&builder);
	builder.only_attr = &attr;
	builder_put(&builder, &start, sizeof(start));
	builder_put(&builder, values, size);
	perfdata = open_built(&builder);
	return gt_perfdata_next(perfdata, ret);
}

static void test_counts_of_threads_are_read(void **state)
{
	static const uint64_t values[] = {1000, 300, 200, 77};
	const uint64_t enabled = PERF_FORMAT_TOTAL_TIME_ENABLED;
	const uint64_t running = PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct gt_perf_record record;

	(void)state;
	assert_int_equal(
		read_count(enabled | running | PERF_FORMAT_ID, values, sizeof(values), &record), 1);
	assert_int_equal(record.type, PERF_RECORD_READ);
	assert_int_equal(record.pid, BUILDER_PID);
	assert_int_equal(record.tid, 8);
	assert_int_equal(record.read.value, 1000);
	assert_int_equal(record.read.enabled_ns, 300);
	assert_int_equal(record.read.running_ns, 200);
	assert_int_equal(read_count(running, values, 16, &record), 1);
	assert_int_equal(record.read.value, 1000);
	assert_int_equal(record.read.enabled_ns, 0);
	assert_int_equal(record.read.running_ns, 300);
	assert_int_equal(read_count(PERF_FORMAT_GROUP, values, sizeof(values), &record), 1);
	assert_int_equal(record.tid, 8);
	assert_int_equal(record.read.value, 0);
	hide_messages();
	assert_int_equal(read_count(0, values, 0, &record), -EBADMSG);
	assert_int_equal(read_count(enabled | running, values, 16, &record), -EBADMSG);
	free(take_messages());
}

/* The records of PLAIN, compressed PIECE bytes at a time. */
static void compress(struct builder *builder, const struct builder *plain, size_t piece)
{
	ZSTD_CStream *stream = ZSTD_createCStream();

	ZSTD_initCStream(stream, 1);
	for (size_t at = 0; at < plain->data_size; at += piece) {
		char packed[4096];
		ZSTD_inBuffer input = {.src = plain->data + at,
				       .size = GT_MIN(piece, plain->data_size - at)};
		ZSTD_outBuffer output = {.dst = packed, .size = sizeof(packed)};
		struct perf_event_header header = {.type = PERF_RECORD_COMPRESSED};

		ZSTD_compressStream(stream, &output, &input);
		assert_int_equal(ZSTD_flushStream(stream, &output), 0);
		assert_int_equal(input.pos, input.size);
		header.size = (uint16_t)(sizeof(header) + output.pos);
		builder_put(builder, &header, sizeof(header));
		builder_put(builder, packed, output.pos);
	}
	ZSTD_freeCStream(stream);
}

static void test_compressed_records_are_read(void **state)
{
	static const size_t pieces[] = {7, 64, 100, 100000};
	struct builder plain;

	(void)state;
	builder_init(&plain);
	build_rounds(&plain);
	fflush(plain.out);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct builder builder;
		struct gt_perfdata *perfdata;

		builder_init(&builder);
		builder.compressed_ring_bytes = 4096;
		compress(&builder, &plain, pieces[i]);
		perfdata = open_built(&builder);
		check_rounds(perfdata);
		gt_perfdata_close(perfdata);
		builder_clear(&builder);
	}
	builder_clear(&plain);
}

static void expect_refusal(const void *bytes, size_t size, int error, const char *message)
{
	_cleanup_free_ char *messages = NULL;
	int r;

	hide_messages();
	r = read_bytes(bytes, size);
	messages = take_messages();
	assert_int_equal(r, error);
	if (!strstr(messages, message))
		fail_msg("expected \"%s\", got: %s", message, messages);
}

static void test_a_record_that_inflates_is_refused(void **state)
{
	struct builder plain, builder;
	_cleanup_free_ char *file = NULL;
	size_t size = 0;

	(void)state;
	builder_init(&plain);
	builder_init(&builder);
	for (int i = 0; i < 1000; i++)
		build_rounds(&plain);
	fflush(plain.out);
	builder.compressed_ring_bytes = 4096;
	compress(&builder, &plain, plain.data_size);
	file = builder_finish(&builder, &size);
	expect_refusal(file, size, -EBADMSG, "zstd");
	builder_clear(&builder);
	builder_clear(&plain);
}

static void test_auxiliary_data_is_stepped_over(void **state)
{
	struct perf_record_auxtrace auxtrace = {
		.header = {.type = PERF_RECORD_AUXTRACE, .size = sizeof(auxtrace)}, .size = 24};
	static const char data[24] = "not a record at all";
	struct builder builder;
	struct gt_perfdata *perfdata;

	(void)state;
	builder_init(&builder);
	builder_put(&builder, &auxtrace, sizeof(auxtrace));
	builder_put(&builder, data, sizeof(data));
	build_rounds(&builder);
	perfdata = open_built(&builder);
	check_rounds(perfdata);
	gt_perfdata_close(perfdata);
	builder_clear(&builder);
}

/* Without its size, the header's last word, a file of tasks is read up to its last whole record. */
static void test_unfinished_files(void **state)
{
	static const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
						    .config = PERF_COUNT_SW_DUMMY,
						    .sample_type = BUILDER_IDENTIFIED,
						    .sample_id_all = 1};
	static const struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time_ns;
	} fork = {1, 1, 2, 1, 0};
	struct gt_perf_file_header header;
	_cleanup_free_ char *file = NULL, *messages = NULL;
	struct builder builder;
	size_t size = 0, start, end;

	(void)state;
	builder_init(&builder);
	builder.only_attr = &attr;
	for (uint64_t i = 1; i <= 3; i++)
		builder_record(&builder, PERF_RECORD_FORK, 0, &fork, sizeof(fork), 2, i * 10);
	builder_round(&builder);
	file = builder_finish(&builder, &size);
	memcpy(&header, file, sizeof(header));
	start = header.data.offset;
	end = start + header.data.size;
	header.data.size = 0;
	memcpy(file, &header, sizeof(header));
	hide_messages();
	for (size_t cut = start; cut <= end; cut++) {
		size_t whole =
			(cut - start) / ((end - start - sizeof(struct perf_event_header)) / 3);

		assert_int_equal(read_bytes(file, cut), whole);
	}
	messages = take_messages();
	assert_non_null(strstr(messages, "was not finished"));
	expect_refusal(file, start - 1, -EBADMSG, "was not finished");
	builder_clear(&builder);
}

/* The names of its tracepoints are behind the records. */
static void test_unfinished_tracepoints_are_refused(void **state)
{
	struct gt_perf_file_header header;
	_cleanup_free_ char *file = NULL;
	struct builder builder;
	size_t size = 0;

	(void)state;
	builder_init(&builder);
	build_rounds(&builder);
	file = builder_finish(&builder, &size);
	memcpy(&header, file, sizeof(header));
	header.data.size = 0;
	memcpy(file, &header, sizeof(header));
	expect_refusal(file, size, -EBADMSG, "was not finished");
	builder_clear(&builder);
}

static void test_files_of_other_kinds_are_refused_by_name(void **state)
{
	struct gt_perf_file_header header = {.magic = GT_PERF_FILE_MAGIC, .size = sizeof(header)};
	struct gt_perfdata *perfdata = NULL;
	_cleanup_free_ char *file = NULL, *messages = NULL;
	struct builder builder;
	size_t size = 0;

	(void)state;
	expect_refusal("", 0, -EBADMSG, "is empty");
	expect_refusal("PERF", 4, -EBADMSG, "is not a perf.data file");
	expect_refusal("#!/usr/bin/python3\n", 19, -EBADMSG, "is not a perf.data file");
	expect_refusal(&header, 100, -EBADMSG, "ends within its header");
	expect_refusal(&header, sizeof(header), -EBADMSG, "was not finished");
	header.size = 16;
	expect_refusal(&header, 16, -EOPNOTSUPP, "written to a pipe");
	header.magic = bswap_64(GT_PERF_FILE_MAGIC);
	expect_refusal(&header, sizeof(header), -EOPNOTSUPP, "byte order");
	expect_refusal("PERFFILE", 8, -EOPNOTSUPP, "version 1");

	builder_init(&builder);
	build_rounds(&builder);
	file = builder_finish(&builder, &size);
	expect_refusal(file, size / 2, -EBADMSG, "is truncated");
	builder_clear(&builder);

	hide_messages();
	assert_int_equal(gt_perfdata_open("/proc", &perfdata), -EISDIR);
	assert_int_equal(gt_perfdata_open("/nonexistent", &perfdata), -ENOENT);
	messages = take_messages();
	assert_non_null(strstr(messages, "/proc is a directory"));
	assert_non_null(strstr(messages, "cannot open /nonexistent"));
	assert_null(perfdata);
}

/* A file with every kind of record in it, part of it compressed. */
static char *build_everything(size_t *ret_size)
{
	struct builder plain, builder;
	char *file;

	builder_init(&plain);
	builder_init(&builder);
	build_rounds(&plain);
	fflush(plain.out);
	builder.compressed_ring_bytes = 4096;
	build_tasks(&builder);
	build_rounds(&builder);
	compress(&builder, &plain, 100);
	file = builder_finish(&builder, ret_size);
	builder_clear(&builder);
	builder_clear(&plain);
	return file;
}

static void test_every_truncation_is_refused(void **state)
{
	size_t size = 0, accepted = 0;
	_cleanup_free_ char *file = build_everything(&size);

	(void)state;
	assert_int_equal(read_bytes(file, size), 25);
	hide_messages();
	for (size_t i = 0; i < size; i++)
		accepted += read_bytes(file, i) >= 0;
	show_messages();
	assert_int_equal(accepted, 0);
}

/* Nothing in a file makes the reader crash, or read where it should not (seen with ASan). */
static void test_broken_bytes_are_survived(void **state)
{
	enum { ROUNDS = 20000 };
	size_t size = 0;
	_cleanup_free_ char *file = build_everything(&size);
	int accepted = 0;

	(void)state;
	srand(2);
	hide_messages();
	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_free_ char *broken = malloc(size);
		int changes = 1 + rand() % 4;

		memcpy(broken, file, size);
		while (changes-- > 0)
			broken[(size_t)rand() % size] = (char)rand();
		accepted += read_bytes(broken, size) >= 0;
	}
	show_messages();
	/* Changes of times and ids leave a sound file; most others do not. */
	assert_true(accepted > 0 && accepted < ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_broken_print_format_is_no_matter),
		cmocka_unit_test(test_records_come_in_time_order),
		cmocka_unit_test(test_attributes_of_other_sizes_are_read),
		cmocka_unit_test(test_late_records_are_counted),
		cmocka_unit_test(test_sorter_sorts),
		cmocka_unit_test(test_tasks_are_taken_apart),
		cmocka_unit_test(test_context_switches_are_passed_on),
		cmocka_unit_test(test_raw_data_is_found_behind_other_fields),
		cmocka_unit_test(test_stacks_are_given),
		cmocka_unit_test(test_registers_of_32_bits_are_none),
		cmocka_unit_test(test_samples_without_a_user_have_no_stack),
		cmocka_unit_test(test_stacks_are_not_read_past_their_sample),
		cmocka_unit_test(test_counts_of_threads_are_read),
		cmocka_unit_test(test_compressed_records_are_read),
		cmocka_unit_test(test_a_record_that_inflates_is_refused),
		cmocka_unit_test(test_auxiliary_data_is_stepped_over),
		cmocka_unit_test(test_unfinished_files),
		cmocka_unit_test(test_unfinished_tracepoints_are_refused),
		cmocka_unit_test(test_files_of_other_kinds_are_refused_by_name),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_broken_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
