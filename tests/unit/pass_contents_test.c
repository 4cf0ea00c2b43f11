/* SPDX-License-Identifier: MIT */
/*
 * Records real processes with the real kernel: stacks, wake-ups, counters and files that are kept.
 * What the file has of them is looked at byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "elf/elf_file.h"
#include "perfdata/perfdata.h"
#include "record/counter_names.h"
#include "record/pass.h"

#define TRACEFS "/sys/kernel/tracing"
#define LARGE_RING_BYTES (UINT64_C(32) << 20)
#define MAX_FILE_BYTES ((size_t)1 << 30)

static const struct gt_pass_tracepoint switch_with_stack = {
	.system = "sched", .name = "sched_switch", .has_stack = true};

static char *const sleeping_command[] = {
	(char *)"/bin/sh", (char *)"-c",
	(char *)"for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done", NULL};
enum { SLEEPS = 10 };

struct recording {
	char path[40];
	char *bytes; /* the file's */
	size_t size;
	struct gt_pass_counts counts;
	struct gt_perfdata *perfdata;
	uint32_t pid;
	int fd; /* counts beside the pass; -1: does not */
};

static void clear(struct recording *recording)
{
	if (recording->perfdata)
		gt_perfdata_close(recording->perfdata);
	if (recording->fd >= 0)
		close(recording->fd);
	unlink(recording->path);
	free(recording->bytes);
}

/* Skips the test when this machine does not let it record tracepoints. */
static void need_tracepoints(void)
{
	if (geteuid() != 0) {
		print_message("skipped: recording tracepoints needs root\n");
		skip();
	}
	if (access(TRACEFS "/events/sched/sched_waking/format", R_OK) < 0) {
		print_message("skipped: %s cannot be read: %s\n", TRACEFS, strerror(errno));
		skip();
	}
}

static void need_wakeups(void)
{
	need_tracepoints();
	if (!gt_pass_may_record_wakeups()) {
		print_message("skipped: not in the first PID namespace\n");
		skip();
	}
}

/* Starts the command's process, which waits for a byte before its exec. */
static pid_t fork_held(char *const *command, int *ret_release_fd)
{
	int pipe_fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pipe_fds[1]);
		if (read(pipe_fds[0], &byte, 1) == 0)
			execv(command[0], command);
		_exit(127);
	}
	close(pipe_fds[0]);
	*ret_release_fd = pipe_fds[1];
	return pid;
}

/* Counts the same as a counter of the pass, of all threads together. */
static int open_total(const struct gt_pass_spec *spec, pid_t pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .disabled = 1, .enable_on_exec = 1, .inherit = 1};

	if (spec->counter_count == 0)
		return -1;
	attr.type = spec->counters[0].type;
	attr.config = spec->counters[0].config;
	attr.exclude_kernel = attr.exclude_hv = spec->counters[0].user_only;
	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Records what SPEC says, draining every millisecond, or only at the end. */
static struct recording record(struct gt_pass_spec spec, bool drain)
{
	struct recording recording = {.path = "/tmp/pass_contents_test.XXXXXX"};
	_cleanup_(gt_pass_closep) struct gt_pass *pass = NULL;
	int status = -1, release_fd, r;
	pid_t pid = fork_held(spec.command, &release_fd);

	close(mkstemp(recording.path));
	recording.pid = (uint32_t)pid;
	recording.fd = open_total(&spec, pid);
	spec.path = recording.path;
	spec.what = "the test's events";
	spec.tracefs = TRACEFS;
	r = gt_pass_open(&spec, pid, &pass);
	close(release_fd);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		poll(NULL, 0, 1);
		if (r == 0 && drain)
			assert_int_equal(gt_pass_drain(pass), 0);
	}
	assert_int_equal(r, 0);
	assert_int_equal(status, 0);
	assert_int_equal(gt_pass_finish(pass, &recording.counts), 0);
	assert_int_equal(
		gt_read_file(recording.path, MAX_FILE_BYTES, &recording.bytes, &recording.size), 0);
	assert_int_equal(gt_perfdata_open(recording.path, &recording.perfdata), 0);
	return recording;
}

static bool next(struct recording *recording, struct gt_perf_record *record)
{
	int r = gt_perfdata_next(recording->perfdata, record);

	assert_true(r >= 0);
	if (r == 0)
		assert_int_equal(gt_perfdata_late_records(recording->perfdata), 0);
	return r > 0;
}

static bool is_of(const struct recording *recording, const struct gt_perf_record *record,
		  const char *event)
{
	return record->event != GT_PERF_NO_INDEX &&
	       strcmp(gt_perfdata_event(recording->perfdata, record->event)->name, event) == 0;
}

static uint64_t load(const struct recording *recording, uint64_t offset)
{
	uint64_t value;

	assert_true(offset + sizeof(value) <= recording->size);
	memcpy(&value, recording->bytes + offset, sizeof(value));
	return value;
}

/*
 * The parts of a sample of sched_switch, one behind the other, up to its end. Gives how much of the
 * stack it has.
 */
static uint64_t check_stack(const struct recording *recording, const struct gt_perf_record *record,
			    uint32_t stack_bytes)
{
	const struct perf_event_attr *attr =
		gt_perfdata_event(recording->perfdata, record->event)->attr;
	/* The header, the identifier, the address, the ids and the time. */
	uint64_t at = record->offset + sizeof(struct perf_event_header) + 4 * sizeof(uint64_t);
	uint64_t frames = load(recording, at), copied;

	/* The kernel's and the user's, and their marks. */
	assert_in_range(frames, 2, 127 + 2);
	assert_int_equal(load(recording, at + 8), (uint64_t)PERF_CONTEXT_KERNEL);
	for (uint64_t i = 1; i < frames && attr->exclude_callchain_user; i++)
		assert_int_not_equal(load(recording, at + 8 + 8 * i), (uint64_t)PERF_CONTEXT_USER);
	at += (1 + frames) * sizeof(uint64_t);
	/* Its size, its bytes, and both a multiple of 8. */
	at += sizeof(uint32_t) + (load(recording, at) & UINT32_MAX);
	assert_int_equal((at - record->offset) % sizeof(uint64_t), 0);
	if (stack_bytes == 0) {
		assert_int_equal(at, record->offset + record->size);
		return 0;
	}
	/* A kernel thread that loads a program has no user's registers yet. */
	if (load(recording, at) == PERF_SAMPLE_REGS_ABI_NONE)
		return 0;
	assert_int_equal(load(recording, at), PERF_SAMPLE_REGS_ABI_64);
	at += (1 + (uint64_t)__builtin_popcountll(attr->sample_regs_user)) * sizeof(uint64_t);
	/* The stack's bottom may be less far. */
	assert_true(load(recording, at) <= stack_bytes);
	at += sizeof(uint64_t) + load(recording, at);
	copied = load(recording, at);
	assert_true(copied <= stack_bytes);
	assert_int_equal(at + sizeof(uint64_t), record->offset + record->size);
	return copied;
}

/*
 * Samples of more than a page, and of nearly half a ring, so that many lie at its end and at its
 * start; up to what a record can hold.
 */
static void test_stacks_are_copied(void **state)
{
	static const uint32_t sizes[] = {4096, 16380, 65528};

	(void)state;
	need_tracepoints();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_(clear) struct recording recording =
			record((struct gt_pass_spec){.tracepoints = &switch_with_stack,
						     .tracepoint_count = 1,
						     .stack_bytes = sizes[i],
						     .context_switches = true,
						     .ring_bytes = i == 0 ? 1 : LARGE_RING_BYTES,
						     .command = sleeping_command},
			       true);
		struct gt_perf_record sample;
		uint64_t samples = 0, full = 0;

		while (next(&recording, &sample)) {
			if (sample.type != PERF_RECORD_SAMPLE)
				continue;
			samples++;
			full += check_stack(&recording, &sample, GT_ALIGN_UP(sizes[i], 8u)) >= 1024;
		}
		assert_int_equal(samples, recording.counts.samples);
		assert_true(samples > 2 * SLEEPS);
		assert_true(full > samples / 2);
		if (i > 0)
			assert_int_equal(recording.counts.lost, 0);
	}
}

static void test_chains_of_frame_pointers(void **state)
{
	_cleanup_(clear) struct recording recording = {.fd = -1};
	struct gt_perf_record sample;
	uint64_t samples = 0;

	(void)state;
	need_tracepoints();
	recording = record((struct gt_pass_spec){.tracepoints = &switch_with_stack,
						 .tracepoint_count = 1,
						 .call_graph = GT_CALL_GRAPH_FP,
						 .ring_bytes = LARGE_RING_BYTES,
						 .command = sleeping_command},
			   true);
	while (next(&recording, &sample)) {
		if (sample.type != PERF_RECORD_SAMPLE)
			continue;
		check_stack(&recording, &sample, 0);
		samples++;
	}
	assert_true(samples > 2 * SLEEPS);
}

/* Stock perf shows the user's part of stacks, with names. */
static void test_perf_shows_stacks(void **state)
{
	_cleanup_(clear) struct recording recording = {.fd = -1};
	_cleanup_free_ char *command = NULL;

	(void)state;
	need_tracepoints();
	if (system("perf --version >/dev/null 2>&1") != 0) {
		print_message("skipped: perf is not installed\n");
		skip();
	}
	recording = record((struct gt_pass_spec){.tracepoints = &switch_with_stack,
						 .tracepoint_count = 1,
						 .stack_bytes = 8192,
						 .wakeups = gt_pass_may_record_wakeups(),
						 .ring_bytes = LARGE_RING_BYTES,
						 .command = sleeping_command},
			   true);
	command = gt_format("perf script --no-inline -i %s 2>/dev/null | "
			    "grep -c '\\(clock_\\)\\?nanosleep.*libc' | awk '{ exit $1 < %d }'",
			    recording.path, SLEEPS);
	assert_int_equal(system(command), 0);
}

static void test_a_stack_can_be_too_large(void **state)
{
	struct gt_pass_spec spec = {.path = "/tmp",
				    .what = "the test's events",
				    .tracefs = TRACEFS,
				    .tracepoints = &switch_with_stack,
				    .tracepoint_count = 1,
				    .stack_bytes = 65529};
	struct gt_pass *pass = NULL;

	(void)state;
	need_tracepoints();
	assert_int_equal(gt_pass_open(&spec, getpid(), &pass), -EINVAL);
	assert_null(pass);
}

/* One sample for each so many. */
static void test_samples_have_a_period(void **state)
{
	enum { COUNT = 20000, PERIOD = 100 };
	static const struct gt_pass_tracepoint tracepoint = {
		.system = "raw_syscalls", .name = "sys_enter", .period = PERIOD};
	static const char *const command[] = {"/bin/dd", "if=/dev/zero", "of=/dev/null",
					      "bs=1",	 "count=20000",	 "status=none",
					      NULL};
	_cleanup_(clear) struct recording recording = {.fd = -1};

	(void)state;
	need_tracepoints();
	recording = record((struct gt_pass_spec){.tracepoints = &tracepoint,
						 .tracepoint_count = 1,
						 .ring_bytes = LARGE_RING_BYTES,
						 .command = (char *const *)command},
			   true);
	assert_in_range(recording.counts.samples, 2 * COUNT / PERIOD - 10, 2 * COUNT / PERIOD + 10);
}

#define FOREIGN_NAME "not_of_the_pass"

/* Two processes of another program that wake one another all the time. */
static pid_t start_ping_pong(void)
{
	int ping[2], pong[2];
	char byte = '.';
	pid_t pid;

	assert_int_equal(pipe(ping), 0);
	assert_int_equal(pipe(pong), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NAME, FOREIGN_NAME);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (write(ping[1], &byte, 1) == 1 && read(pong[0], &byte, 1) == 1)
				;
			_exit(0);
		}
		while (read(ping[0], &byte, 1) == 1 && write(pong[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	for (int i = 0; i < 2; i++) {
		close(ping[i]);
		close(pong[i]);
	}
	return pid;
}

static void stop_ping_pong(const pid_t *pid)
{
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
}

struct wakeup_totals {
	uint64_t followed, foreign, lost;
};

/* All threads that any record names as the pass's own. */
static struct gt_hash find_threads(struct recording *recording)
{
	struct gt_hash threads = {0};
	struct gt_perf_record record;

	while (next(recording, &record))
		if (record.type == PERF_RECORD_FORK || record.type == PERF_RECORD_COMM)
			assert_int_equal(gt_hash_set(&threads, record.tid, 0), 0);
	gt_perfdata_close(recording->perfdata);
	recording->perfdata = NULL;
	assert_int_equal(gt_perfdata_open(recording->path, &recording->perfdata), 0);
	return threads;
}

static struct wakeup_totals count_wakeups(struct recording *recording)
{
	struct gt_hash threads = find_threads(recording);
	struct wakeup_totals totals = {0};
	struct gt_perf_record record;

	while (next(recording, &record)) {
		struct gt_perf_field field;
		uint64_t tid = 0;

		if (!is_of(recording, &record, "sched_waking"))
			continue;
		if (record.type == PERF_RECORD_LOST)
			totals.lost += record.lost.count;
		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(
			gt_perfdata_find_field(recording->perfdata, record.event, "pid", &field),
			0);
		assert_true(gt_perf_field_read(&record, &field, &tid));
		if (gt_hash_get(&threads, tid) == GT_HASH_NONE)
			totals.foreign++;
		else
			totals.followed++;
	}
	gt_hash_clear(&threads);
	return totals;
}

static struct recording record_beside_others(char *const *command, bool drain)
{
	_cleanup_(stop_ping_pong) pid_t other = start_ping_pong();

	assert_true(other > 0);
	return record((struct gt_pass_spec){.context_switches = true,
					    .wakeups = true,
					    .ring_bytes = LARGE_RING_BYTES,
					    .command = command},
		      drain);
}

/* Of the timers' wake-ups none is missing, although no thread of the pass causes them. */
static void test_wakeups_of_the_pass_alone(void **state)
{
	_cleanup_(clear) struct recording recording = {.fd = -1};
	struct wakeup_totals totals;

	(void)state;
	need_wakeups();
	recording = record_beside_others(sleeping_command, true);
	totals = count_wakeups(&recording);
	/* Each sleep's, and the shell's at its end. */
	assert_true(totals.followed >= 2 * SLEEPS);
	assert_int_equal(totals.foreign, 0);
	assert_int_equal(totals.followed, recording.counts.samples);
	assert_int_equal(totals.lost, recording.counts.lost_wakeups);
	assert_int_equal(recording.counts.lost, 0);
	assert_null(memmem(recording.bytes, recording.size, FOREIGN_NAME, strlen(FOREIGN_NAME)));
}

/* Rings that nobody reads lose wake-ups, and nothing else. */
static void test_lost_wakeups_are_counted(void **state)
{
	static char *const command[] = {(char *)"/bin/sleep", (char *)"2", NULL};
	_cleanup_(clear) struct recording recording = {.fd = -1};

	(void)state;
	need_wakeups();
	recording = record_beside_others(command, false);
	assert_int_equal(recording.counts.lost, 0);
	assert_int_equal(count_wakeups(&recording).lost, recording.counts.lost_wakeups);
	if (recording.counts.lost_wakeups == 0) {
		print_message("skipped: this machine is too slow to fill the rings\n");
		skip();
	}
}

static void test_wakeups_need_the_first_namespace(void **state)
{
	struct gt_pass_spec spec = {
		.path = "/tmp", .what = "the test's events", .tracefs = TRACEFS, .wakeups = true};
	struct gt_pass *pass = NULL;
	int status = -1;
	pid_t pid;

	(void)state;
	need_wakeups();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWPID) < 0)
			_exit(77);
		pid = fork();
		if (pid == 0)
			_exit(gt_pass_may_record_wakeups() ||
			      gt_pass_open(&spec, getpid(), &pass) != -EOPNOTSUPP);
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("skipped: no PID namespace can be made\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

enum { THREADS = 3, PAGES = 1000 };

static void *touch_pages(void *pages)
{
	size_t page = (size_t)getpagesize(), size = (size_t)pages * page;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += page)
		memory[at] = 1;
	return NULL;
}

/* Threads that each touch more pages than the one before, the first one the most. */
static int touch(void)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, touch_pages, (void *)((i + 1) * PAGES)) != 0)
			return 1;
	touch_pages((void *)(uintptr_t)((THREADS + 1) * PAGES));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* What each thread has counted, in the order of their births; the sum of all. */
static uint64_t sum_counts(struct recording *recording, uint64_t counts[THREADS + 1])
{
	struct gt_hash births = {0};
	struct gt_perf_record record;
	uint64_t sum = 0;

	assert_int_equal(gt_hash_set(&births, recording->pid, births.count), 0);
	while (next(recording, &record)) {
		uint64_t ids, value;
		uint32_t birth;

		if (record.type == PERF_RECORD_FORK)
			assert_int_equal(gt_hash_set(&births, record.tid, births.count), 0);
		if (record.type != PERF_RECORD_READ)
			continue;
		assert_true(is_of(recording, &record, "minor-faults"));
		ids = load(recording, record.offset + sizeof(struct perf_event_header));
		value = load(recording, record.offset + 2 * sizeof(uint64_t));
		birth = gt_hash_get(&births, ids >> 32);
		assert_int_not_equal(birth, GT_HASH_NONE);
		/* A sanitizer starts one more at the end. */
		if (birth <= THREADS)
			counts[birth] += value;
		sum += value;
	}
	gt_hash_clear(&births);
	return sum;
}

static void test_threads_are_counted(void **state)
{
	char program[PATH_MAX] = {0};
	char *const command[] = {program, (char *)"touch", NULL};
	struct gt_pass_counter counters[GT_DEFAULT_COUNTERS];

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		skip();
	}
	gt_counters_default(false, counters);
	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	for (int drain = 0; drain < 2; drain++) {
		_cleanup_(clear) struct recording recording =
			record((struct gt_pass_spec){.counters = counters,
						     .counter_count = 1,
						     .ring_bytes = LARGE_RING_BYTES,
						     .command = command},
			       drain);
		uint64_t counts[THREADS + 1] = {0}, sum = sum_counts(&recording, counts), total;

		assert_int_equal(read(recording.fd, &total, sizeof(total)), sizeof(total));
		assert_int_equal(sum, total);
		for (uint64_t i = 0; i < THREADS; i++)
			assert_in_range(counts[1 + i], (i + 1) * PAGES,
					(i + 1) * PAGES + PAGES / 2);
		/* And what a program needs to get going, which with a sanitizer is much. */
		assert_true(counts[0] >= (THREADS + 1) * PAGES);
	}
}

/* What was lost may be a thread's count: then that of the first one is not known. */
static void test_losses_leave_the_first_thread_out(void **state)
{
	_cleanup_(clear) struct recording recording = {.fd = -1};
	struct gt_pass_counter counters[GT_DEFAULT_COUNTERS];
	struct gt_perf_record read;

	(void)state;
	need_tracepoints();
	gt_counters_default(false, counters);
	recording = record((struct gt_pass_spec){.tracepoints = &switch_with_stack,
						 .tracepoint_count = 1,
						 .stack_bytes = 65528,
						 .counters = counters,
						 .counter_count = GT_DEFAULT_COUNTERS,
						 .ring_bytes = 1,
						 .command = sleeping_command},
			   false);
	assert_true(recording.counts.lost > 0);
	while (next(&recording, &read))
		if (read.type == PERF_RECORD_READ)
			assert_int_not_equal(load(&recording, read.offset + 8) >> 32,
					     recording.pid);
}

static void test_a_missing_counter_is_named(void **state)
{
	const struct gt_pass_counter counter = {
		.name = "moon-phases", .type = PERF_TYPE_SOFTWARE, .config = 9999};
	struct gt_pass_spec spec = {.path = "/tmp",
				    .what = "the test's events",
				    .counters = &counter,
				    .counter_count = 1};
	_cleanup_free_ char *text = NULL;
	struct gt_pass *pass = NULL;
	struct gt_log_capture log;
	int r;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		skip();
	}
	gt_log_start_capture(&log);
	r = gt_pass_open(&spec, getpid(), &pass);
	text = gt_log_end_capture(&log);
	assert_true(r < 0);
	assert_non_null(text);
	assert_non_null(strstr(text, "no counter 'moon-phases'"));
}

/* A library that any program can do with. */
static char *find_library(void)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (maps && getline(&line, &size, maps) > 0) {
		char *path = strchr(line, '/');

		if (!path || !strstr(path, "libcmocka.so"))
			continue;
		path[strcspn(path, "\n")] = '\0';
		return strdup(path);
	}
	return NULL;
}

static void remove_folder(char *const *folder)
{
	_cleanup_free_ char *command = gt_format("rm -rf %s", *folder);

	assert_int_equal(system(command), 0);
	free(*folder);
}

/* Whether FOLDER, which only its owner may enter, has one file: COPY, which is as ORIGINAL. */
static void check_kept(const char *folder, const char *copy, const char *original)
{
	_cleanup_free_ char *compare = gt_format("cmp %s %s/%s", original, folder, copy);
	_cleanup_free_ char *count = gt_format("test $(ls %s | wc -l) = 1", folder);
	struct stat status;

	assert_int_equal(system(compare), 0);
	assert_int_equal(system(count), 0);
	assert_int_equal(stat(folder, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
}

/* A library that is unpacked, and run and deleted by COMMANDS; and others, which stay. */
static void keep_deleted(const char *library, const char *folder, const char *commands)
{
	_cleanup_free_ char *script =
		gt_format("cd %s && cp %s gone.so && %s", folder, library, commands);
	_cleanup_free_ char *kept = gt_format("%s/kept", folder);
	char *command[] = {(char *)"/bin/sh", (char *)"-c", script, NULL};
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(clear) struct recording recording =
		record((struct gt_pass_spec){.kept_files = kept,
					     .ring_bytes = LARGE_RING_BYTES,
					     .may_shrink_rings = true,
					     .command = command},
		       true);

	assert_int_equal(recording.counts.lost, 0);
	assert_int_equal(gt_elf_open(library, &elf), 0);
	check_kept(kept, gt_elf_build_id(elf), library);
}

static void check_deleted(const char *commands)
{
	_cleanup_free_ char *library = find_library();
	_cleanup_(remove_folder) char *folder = strdup("/tmp/pass_contents_test.XXXXXX");

	if (!library || geteuid() != 0) {
		print_message("skipped: needs root, and a library to copy\n");
		skip();
	}
	assert_non_null(mkdtemp(folder));
	keep_deleted(library, folder, commands);
}

static void test_deleted_files_are_kept(void **state)
{
	(void)state;
	check_deleted("LD_PRELOAD=$PWD/gone.so sleep 0.3 && rm gone.so");
}

/* Before anybody could look for it by its path. */
static void test_files_deleted_before_are_kept(void **state)
{
	(void)state;
	check_deleted("exec 9<gone.so && rm gone.so && LD_PRELOAD=/proc/self/fd/9 sleep 0.3");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_are_copied),
		cmocka_unit_test(test_chains_of_frame_pointers),
		cmocka_unit_test(test_perf_shows_stacks),
		cmocka_unit_test(test_a_stack_can_be_too_large),
		cmocka_unit_test(test_samples_have_a_period),
		cmocka_unit_test(test_wakeups_of_the_pass_alone),
		cmocka_unit_test(test_lost_wakeups_are_counted),
		cmocka_unit_test(test_wakeups_need_the_first_namespace),
		cmocka_unit_test(test_threads_are_counted),
		cmocka_unit_test(test_losses_leave_the_first_thread_out),
		cmocka_unit_test(test_a_missing_counter_is_named),
		cmocka_unit_test(test_deleted_files_are_kept),
		cmocka_unit_test(test_files_deleted_before_are_kept),
	};

	if (argc == 2 && strcmp(argv[1], "touch") == 0)
		return touch();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
