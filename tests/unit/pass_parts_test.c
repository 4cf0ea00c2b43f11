/* SPDX-License-Identifier: MIT */
/* What a recording pass is made of, fed with bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <perf/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/strings.h"
#include "elf/elf_file.h"
#include "record/counter_names.h"
#include "record/counters.h"
#include "record/followed_threads.h"
#include "record/kernel_symbols.h"
#include "record/mapped_files.h"
#include "record/pass_output.h"
#include "record/ring.h"

static void test_counters_have_names(void **state)
{
	struct gt_pass_counter counters[GT_DEFAULT_COUNTERS], counter = {0};
	_cleanup_free_ char *names = gt_counter_names();
	const char list[] = "cycles,minor-faults";

	(void)state;
	assert_non_null(strstr(names, "minor-faults, "));
	assert_non_null(strstr(names, ", instructions, "));
	assert_null(strstr(names, ",,"));
	gt_counters_default(true, counters);
	assert_string_equal(counters[0].name, "minor-faults");
	assert_string_equal(counters[2].name, "task-clock");
	assert_true(counters[1].user_only);
	assert_true(gt_counter_find(list, strlen("cycles"), false, &counter));
	assert_int_equal(counter.type, PERF_TYPE_HARDWARE);
	assert_int_equal(counter.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_false(counter.user_only);
	assert_true(gt_counter_find(list + 7, strlen(list + 7), false, &counter));
	assert_int_equal(counter.config, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	assert_false(gt_counter_find(list, strlen(list), false, &counter));
	assert_false(gt_counter_find("cycle", 5, false, &counter));
	assert_false(gt_counter_find("", 0, false, &counter));
}

static void test_kernel_symbols_are_saved(void **state)
{
	char path[] = "/tmp/pass_parts_test.XXXXXX", name[256], type;
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	unsigned long long address;
	size_t size = 0, count = 0;
	bool has_schedule = false;
	int r;

	(void)state;
	close(mkstemp(path));
	r = gt_kernel_symbols_save(path);
	if (r == -ENODATA) {
		unlink(path);
		print_message("skipped: this kernel does not show addresses to this user\n");
		skip();
	}
	assert_int_equal(r, 0);
	file = fopen(path, "re");
	assert_non_null(file);
	while (getline(&line, &size, file) > 0) {
		assert_int_equal(sscanf(line, "%llx %c %255s", &address, &type, name), 3);
		assert_true(address != 0);
		assert_non_null(strchr("tTwW", type));
		has_schedule |= strcmp(name, "schedule") == 0;
		count++;
	}
	unlink(path);
	assert_true(has_schedule);
	assert_true(count > 10000);
	assert_int_equal(gt_kernel_symbols_save("/no/such/folder/kallsyms"), -ENOENT);
}

static void test_rings_fit_the_machine(void **state)
{
	const uint64_t mib = UINT64_C(1) << 20;
	uint64_t last = UINT64_MAX;

	(void)state;
	for (uint32_t cpus = 1; cpus <= 1024; cpus *= 2) {
		uint64_t bytes = gt_pass_stack_ring_bytes(cpus);

		assert_in_range(bytes, mib, 32 * mib);
		assert_true(bytes <= last);
		assert_true(bytes == mib || bytes * cpus <= 512 * mib);
		last = bytes;
	}
}

/* A record of a task with what sample_id_all adds. */
static void note(struct gt_followed_threads *followed, uint32_t type, uint32_t tid,
		 uint64_t time_ns)
{
	struct {
		struct perf_record_fork task;
		struct gt_record_end end;
	} bytes = {.task = {.header = {.type = type, .size = sizeof(bytes)}, .tid = tid},
		   .end = {.tid = tid, .time_ns = time_ns}};
	struct gt_ring_record record = {.header = bytes.task.header,
					.first = (const uint8_t *)&bytes,
					.first_size = 20,
					.second = (const uint8_t *)&bytes + 20,
					.second_size = sizeof(bytes) - 20};

	assert_int_equal(gt_followed_threads_note(followed, &record, 16), 0);
}

static void test_threads_are_followed_from_birth_to_end(void **state)
{
	struct gt_followed_threads followed = {0};

	(void)state;
	assert_false(gt_followed_threads_have(&followed, 7, 100));
	assert_false(gt_followed_threads_have_ended(&followed));
	note(&followed, PERF_RECORD_FORK, 7, 100);
	assert_false(gt_followed_threads_have(&followed, 7, 99));
	assert_true(gt_followed_threads_have(&followed, 7, 100));
	assert_false(gt_followed_threads_have(&followed, 8, 100));
	note(&followed, PERF_RECORD_EXIT, 7, 200);
	assert_true(gt_followed_threads_have_ended(&followed));
	assert_true(gt_followed_threads_have(&followed, 7, 200));
	assert_false(gt_followed_threads_have(&followed, 7, 201));
	/* What a ring that is read late tells is no news. */
	note(&followed, PERF_RECORD_SWITCH, 7, 150);
	note(&followed, PERF_RECORD_READ, 7, 210);
	note(&followed, PERF_RECORD_LOST, 7, 220);
	assert_true(gt_followed_threads_have_ended(&followed));
	/* The number is given to another one; rings in either order. */
	note(&followed, PERF_RECORD_FORK, 7, 300);
	assert_false(gt_followed_threads_have(&followed, 7, 299));
	assert_true(gt_followed_threads_have(&followed, 7, 300));
	note(&followed, PERF_RECORD_EXIT, 7, 200);
	assert_true(gt_followed_threads_have(&followed, 7, 400));
	note(&followed, PERF_RECORD_EXIT, 7, 500);
	note(&followed, PERF_RECORD_EXIT, 9, 600);
	note(&followed, PERF_RECORD_FORK, 9, 500);
	assert_true(gt_followed_threads_have(&followed, 9, 550));
	assert_true(gt_followed_threads_have_ended(&followed));
	/* Threads that are being reaped have no number. */
	note(&followed, PERF_RECORD_SWITCH, 0, 400);
	note(&followed, PERF_RECORD_SWITCH, UINT32_MAX, 400);
	assert_false(gt_followed_threads_have(&followed, 0, 400));
	assert_false(gt_followed_threads_have(&followed, UINT32_MAX, 400));
	gt_followed_threads_clear(&followed);
}

static void test_records_in_two_pieces_are_copied(void **state)
{
	static const uint8_t bytes[] = {0, 0, 0, 0, 0, 0, 12, 0, 1, 2, 3, 4};
	uint8_t copy[4];

	(void)state;
	for (uint32_t cut = 8; cut <= sizeof(bytes); cut++) {
		struct gt_ring_record record = {.header = {.size = sizeof(bytes)},
						.first = bytes,
						.first_size = cut,
						.second = bytes + cut,
						.second_size = (uint32_t)sizeof(bytes) - cut};

		assert_true(gt_ring_record_copy(&record, 8, copy, 4));
		assert_memory_equal(copy, bytes + 8, 4);
		assert_true(gt_ring_record_copy(&record, 10, copy, 2));
		assert_memory_equal(copy, bytes + 10, 2);
		assert_false(gt_ring_record_copy(&record, 10, copy, 3));
		assert_false(gt_ring_record_copy(&record, 13, copy, 0));
		assert_false(gt_ring_record_copy(&record, UINT32_MAX, copy, 4));
	}
}

/* Of two CPUs; what it was not on need not be told. */
static void test_where_nothing_was_counted_is_told(void **state)
{
	static const struct {
		uint32_t ring;
		uint64_t value, running_ns;
		bool is_told;
	} parts[] = {
		{0, 5, 100, true}, {0, 0, 0, true},   {1, 0, 0, false},
		{1, 5, 100, true}, {1, 0, 900, true},
	};
	struct gt_event_count told[2] = {0};
	struct gt_counter counter = {.told = told};
	struct gt_counters counters = {.items = &counter, .count = 1, .pid = 100};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct {
			struct perf_event_header header;
			uint32_t pid, tid;
			uint64_t value, enabled_ns, running_ns, id;
		} read = {.header = {.type = PERF_RECORD_READ, .size = sizeof(read)},
			  .pid = 100,
			  .tid = 101,
			  .value = parts[i].value,
			  .enabled_ns = 1000,
			  .running_ns = parts[i].running_ns};
		struct gt_ring_record record = {.header = read.header,
						.first = (const uint8_t *)&read,
						.first_size = sizeof(read)};

		assert_int_equal(gt_counters_note(&counters, 0, parts[i].ring, &record),
				 parts[i].is_told);
	}
	assert_int_equal(told[0].value, 5);
	assert_int_equal(told[1].running_ns, 1000);
	assert_false(counters.has_first);
}

/* As the kernel tells that the file PATH, of BUILD_ID, is mapped at START. */
static void note_mapping(struct gt_mapped_files *mapped, const char *path, const char *build_id,
			 const void *start, size_t size)
{
	struct perf_record_mmap2 mmap2 = {
		.header = {.type = PERF_RECORD_MMAP2,
			   .misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID,
			   .size = sizeof(mmap2)},
		.pid = (uint32_t)getpid(),
		.start = (uint64_t)(uintptr_t)start,
		.len = size,
		.build_id_size = (uint8_t)(strlen(build_id) / 2),
	};
	struct gt_ring_record record = {.header = mmap2.header,
					.first = (const uint8_t *)&mmap2,
					.first_size = sizeof(mmap2)};

	for (uint32_t i = 0; i < mmap2.build_id_size; i++)
		assert_int_equal(sscanf(build_id + i * 2, "%2hhx", &mmap2.build_id[i]), 1);
	snprintf(mmap2.filename, sizeof(mmap2.filename), "%s", path);
	gt_mapped_files_note(mapped, &record);
}

/* By another file at its path, before anybody could look at it there. */
static void test_a_file_is_kept_that_was_replaced(void **state)
{
	char folder[] = "/tmp/pass_parts_test.XXXXXX";
	_cleanup_free_ char *path = gt_format("%s/program", mkdtemp(folder));
	_cleanup_free_ char *kept = gt_format("%s/kept", folder), *copy = NULL;
	_cleanup_free_ char *make = gt_format("cp /proc/%d/exe %s", getpid(), path);
	_cleanup_free_ char *replace = gt_format("rm %s && cp /bin/true %s", path, path);
	_cleanup_free_ char *clean = gt_format("rm -r %s", folder);
	struct gt_mapped_files mapped = {0};
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	size_t size = (size_t)getpagesize();
	struct stat status;
	void *start;
	int fd;

	(void)state;
	if (geteuid() != 0) {
		rmdir(folder);
		print_message("skipped: needs root\n");
		skip();
	}
	assert_int_equal(gt_elf_open("/proc/self/exe", &elf), 0);
	copy = gt_format("%s/%s", kept, gt_elf_build_id(elf));
	assert_int_equal(system(make), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	start = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(start, MAP_FAILED);
	close(fd);
	assert_int_equal(system(replace), 0);
	note_mapping(&mapped, path, gt_elf_build_id(elf), start, size);
	gt_mapped_files_keep(&mapped, kept);
	assert_int_equal(stat(copy, &status), 0);
	assert_int_equal(status.st_size, gt_elf_size(elf));
	gt_mapped_files_clear(&mapped);
	munmap(start, size);
	assert_int_equal(system(clean), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters_have_names),
		cmocka_unit_test(test_kernel_symbols_are_saved),
		cmocka_unit_test(test_rings_fit_the_machine),
		cmocka_unit_test(test_threads_are_followed_from_birth_to_end),
		cmocka_unit_test(test_records_in_two_pieces_are_copied),
		cmocka_unit_test(test_where_nothing_was_counted_is_told),
		cmocka_unit_test(test_a_file_is_kept_that_was_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
