/* SPDX-License-Identifier: MIT */
/* Records real processes with the real kernel, and reads the files back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "perfdata/perfdata.h"
#include "record/pass.h"

#define TRACEFS "/sys/kernel/tracing"

/* The ring of a test that must not lose anything. */
#define LARGE_RING_BYTES (UINT64_C(16) << 20)

/* A process that waits before its exec. */
struct held_child {
	pid_t pid;
	int release_fd;
};

static struct held_child start_child(const char *const *command)
{
	struct held_child child = {0};
	int pipe_fds[2];
	char byte;

	assert_int_equal(pipe(pipe_fds), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		close(pipe_fds[1]);
		if (read(pipe_fds[0], &byte, 1) == 0)
			execv(command[0], (char *const *)command);
		_exit(127);
	}
	close(pipe_fds[0]);
	child.release_fd = pipe_fds[1];
	return child;
}

struct recording {
	char path[32];
	struct gt_pass_counts counts;
};

static void remove_recording(struct recording *recording)
{
	unlink(recording->path);
}

static void make_path(struct recording *recording)
{
	strcpy(recording->path, "/tmp/pass_test.XXXXXX");
	close(mkstemp(recording->path));
}

/* Skips the test when this machine does not let it record TRACEPOINT. */
static void need_tracepoint(const struct gt_pass_tracepoint *tracepoint)
{
	_cleanup_free_ char *path =
		gt_format(TRACEFS "/events/%s/%s/id", tracepoint->system, tracepoint->name);

	if (geteuid() != 0) {
		print_message("skipped: recording tracepoints needs root\n");
		skip();
	}
	if (access(path, R_OK) < 0) {
		print_message("skipped: %s cannot be read: %s\n", path, strerror(errno));
		skip();
	}
}

/* Records what SPEC says, draining every millisecond, or only at the end. */
static struct recording record_pass(struct gt_pass_spec spec, bool drain)
{
	struct recording recording = {0};
	struct held_child child = start_child((const char *const *)spec.command);
	_cleanup_(gt_pass_closep) struct gt_pass *pass = NULL;
	int status = -1, r;

	make_path(&recording);
	spec.path = recording.path;
	spec.what = "the test's events";
	r = gt_pass_open(&spec, child.pid, &pass);
	close(child.release_fd);
	while (waitpid(child.pid, &status, WNOHANG) == 0) {
		poll(NULL, 0, 1);
		if (r == 0 && drain)
			assert_int_equal(gt_pass_drain(pass), 0);
	}
	assert_int_equal(r, 0);
	assert_int_equal(status, 0);
	assert_int_equal(gt_pass_finish(pass, &recording.counts), 0);
	return recording;
}

static struct recording record(const char *const *command,
			       const struct gt_pass_tracepoint *tracepoints, uint32_t count,
			       uint64_t ring_bytes, bool drain)
{
	return record_pass((struct gt_pass_spec){.tracefs = TRACEFS,
						 .tracepoints = tracepoints,
						 .tracepoint_count = count,
						 .ring_bytes = ring_bytes,
						 .command = (char *const *)command},
			   drain);
}

struct totals {
	uint64_t switches_in, switches_out;
	uint64_t samples, lost, execs, exits, mappings;
};

/* Reads a recording to its end, and checks what holds for all of them. */
static struct totals read_back(const struct recording *recording)
{
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	struct totals totals = {0};
	struct gt_perf_record record;
	uint64_t last_ns = 0;
	int r;

	assert_int_equal(gt_perfdata_open(recording->path, &perfdata), 0);
	while ((r = gt_perfdata_next(perfdata, &record)) > 0) {
		assert_true(record.time_ns >= last_ns);
		assert_true(record.event < gt_perfdata_event_count(perfdata));
		assert_true(record.ring < (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
		last_ns = record.time_ns;
		totals.samples += record.type == PERF_RECORD_SAMPLE;
		totals.exits += record.type == PERF_RECORD_EXIT;
		totals.execs += record.type == PERF_RECORD_COMM && record.comm.exec;
		totals.mappings += record.type == PERF_RECORD_MMAP2;
		totals.switches_in += record.type == PERF_RECORD_SWITCH &&
				      !(record.misc & PERF_RECORD_MISC_SWITCH_OUT);
		totals.switches_out += record.type == PERF_RECORD_SWITCH &&
				       record.misc & PERF_RECORD_MISC_SWITCH_OUT;
		if (record.type == PERF_RECORD_LOST)
			totals.lost += record.lost.count;
	}
	assert_int_equal(r, 0);
	assert_int_equal(gt_perfdata_late_records(perfdata), 0);
	assert_int_equal(totals.samples, recording->counts.samples);
	assert_int_equal(totals.lost, recording->counts.lost);
	return totals;
}

/* The line that perf script -F tid,time,event,trace would show, without padding, up to its pid. */
static void check_line(const char *line, const struct gt_perfdata *perfdata,
		       const struct gt_perf_record *record)
{
	const struct gt_perf_event *event = gt_perfdata_event(perfdata, record->event);
	const char *pid_text = strstr(line, " pid=");
	struct gt_perf_field field;
	char system[32], name[64];
	uint64_t seconds, nanoseconds, pid = 0;
	uint32_t tid;

	assert_int_equal(sscanf(line, " %" SCNu32 " %" SCNu64 ".%" SCNu64 ": %31[^:]:%63[^:]", &tid,
				&seconds, &nanoseconds, system, name),
			 5);
	assert_int_equal(tid, record->tid);
	assert_int_equal(seconds * 1000000000 + nanoseconds, record->time_ns);
	assert_string_equal(system, event->system);
	assert_string_equal(name, event->name);
	assert_int_equal(gt_perfdata_find_field(perfdata, record->event, "pid", &field), 0);
	assert_true(gt_perf_field_read(record, &field, &pid));
	assert_non_null(pid_text);
	assert_int_equal(strtoull(pid_text + strlen(" pid="), NULL, 10), pid);
}

/* Compares each sample with what perf script shows, when perf is there. */
static void compare_with_perf(const struct recording *recording)
{
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	_cleanup_free_ char *command = gt_format("perf script --ns -F tid,time,event,trace -i %s "
						 "2>/dev/null",
						 recording->path);
	_cleanup_free_ char *line = NULL;
	struct gt_perf_record record;
	size_t line_size = 0;
	FILE *perf;

	if (system("perf --version >/dev/null 2>&1") != 0) {
		print_message("not compared with perf script: perf is not installed\n");
		return;
	}
	perf = popen(command, "r");
	assert_non_null(perf);
	assert_int_equal(gt_perfdata_open(recording->path, &perfdata), 0);
	while (gt_perfdata_next(perfdata, &record) > 0) {
		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		assert_true(getline(&line, &line_size, perf) > 0);
		check_line(line, perfdata, &record);
	}
	assert_true(getline(&line, &line_size, perf) < 0);
	assert_int_equal(pclose(perf), 0);
}

static void test_a_process_tree_is_recorded(void **state)
{
	static const struct gt_pass_tracepoint tracepoints[] = {
		{.system = "sched", .name = "sched_process_exec"},
		{.system = "sched", .name = "sched_process_exit"},
	};
	static const char *const command[] = {"/bin/sh", "-c",
					      "for i in 1 2 3 4; do /bin/true; done; exit 0", NULL};
	_cleanup_(remove_recording) struct recording recording = {0};
	struct totals totals;

	(void)state;
	need_tracepoint(&tracepoints[0]);
	recording = record(command, tracepoints, ARRAY_SIZE(tracepoints), LARGE_RING_BYTES, true);
	totals = read_back(&recording);
	assert_int_equal(totals.execs, 5);
	assert_int_equal(totals.exits, 5);
	assert_int_equal(totals.samples, 10);
	assert_int_equal(totals.lost, 0);
	assert_true(totals.mappings >= 5);
	compare_with_perf(&recording);
}

/* What perf record itself writes: with call chains, compressed, of one event without identifiers.
 */
static void test_recordings_of_perf_are_read(void **state)
{
	static const struct gt_pass_tracepoint sound = {.system = "sched",
							.name = "sched_process_exec"};
	static const char *const options[] = {
		"-e sched:sched_process_exec,sched:sched_process_exit",
		"-e sched:sched_process_exec,sched:sched_process_exit -g -z",
		"-e sched:sched_process_exec",
	};

	(void)state;
	need_tracepoint(&sound);
	if (system("perf --version >/dev/null 2>&1") != 0) {
		print_message("skipped: perf is not installed\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		_cleanup_(remove_recording) struct recording recording = {0};
		_cleanup_free_ char *command = NULL;

		make_path(&recording);
		command = gt_format("perf record -q %s -o %s -- sh -c "
				    "'for i in 1 2 3 4; do /bin/true; done' >/dev/null 2>&1",
				    options[i], recording.path);
		assert_int_equal(system(command), 0);
		compare_with_perf(&recording);
	}
}

static void test_the_header_describes_the_recording(void **state)
{
	static const struct gt_pass_tracepoint tracepoint = {.system = "sched",
							     .name = "sched_process_exec"};
	static const char *const command[] = {"/bin/true", "an argument", NULL};
	_cleanup_(remove_recording) struct recording recording = {0};
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	const struct gt_perfdata_info *info;

	(void)state;
	need_tracepoint(&tracepoint);
	recording = record(command, &tracepoint, 1, LARGE_RING_BYTES, true);
	assert_int_equal(gt_perfdata_open(recording.path, &perfdata), 0);
	info = gt_perfdata_info(perfdata);
	assert_string_equal(info->command, "/bin/true an argument");
	assert_int_equal(info->clock_id, CLOCK_MONOTONIC);
	assert_true(info->realtime_ns > info->clock_ns);
	assert_non_null(info->hostname);
	assert_non_null(info->os_release);
	assert_non_null(info->arch);
	assert_int_equal(gt_perfdata_event_count(perfdata), 2);
	assert_string_equal(gt_perfdata_event(perfdata, 0)->name, "dummy:u");
	assert_string_equal(gt_perfdata_event(perfdata, 1)->system, "sched");
	assert_string_equal(gt_perfdata_event(perfdata, 1)->name, "sched_process_exec");
}

/*
 * A ring that is not drained loses most, and its end is always in the middle of a record. Nothing
 * may be lost in silence: what was written and what was lost are all that happened.
 */
static void test_losses_are_counted(void **state)
{
	static const struct gt_pass_tracepoint tracepoint = {.system = "raw_syscalls",
							     .name = "sys_enter"};
	/* Records of tasks and mappings that are lost too. */
	enum { OTHER_RECORDS = 64 };
	static const char *const command[] = {"/bin/dd", "if=/dev/zero", "of=/dev/null",
					      "bs=1",	 "count=20000",	 "status=none",
					      NULL};
	uint64_t all;

	(void)state;
	need_tracepoint(&tracepoint);
	{
		_cleanup_(remove_recording) struct recording recording =
			record(command, &tracepoint, 1, LARGE_RING_BYTES, true);

		all = read_back(&recording).samples;
		assert_true(all > 40000);
		assert_int_equal(recording.counts.lost, 0);
	}
	for (int drain = 0; drain < 2; drain++) {
		_cleanup_(remove_recording) struct recording recording =
			record(command, &tracepoint, 1, 1, drain);
		struct totals totals = read_back(&recording);

		assert_in_range(totals.samples + totals.lost, all, all + OTHER_RECORDS);
		assert_true(drain || totals.lost > all / 2);
	}
}

/* A function for a uprobe: not inlined, and no call of it left out. */
__attribute__((noinline)) static void probed(uint32_t count)
{
	__asm__ volatile("" : : "r"(count) : "memory");
}

enum { SPINNERS = 4, SPINS = 10000 };

/* Processes that call probed() and end one after the other. */
static int spin(void)
{
	for (uint32_t i = 1; i <= SPINNERS; i++) {
		if (fork() != 0)
			continue;
		for (uint32_t count = 0; count < i * SPINS; count++) {
			probed(count);
			/* Switches between the processes. */
			if (count % 64 == 0)
				sched_yield();
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

/* Where an address of this program lies in its file; 0 when that cannot be found out. */
static uint64_t file_offset(uintptr_t address)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (maps && getline(&line, &size, maps) > 0) {
		uint64_t start, end, offset;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    address >= start && address < end)
			return address - start + offset;
	}
	return 0;
}

static int write_probe(const char *definition)
{
	int fd = open(TRACEFS "/uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	int r = fd < 0 ? -errno : gt_write_all(fd, definition, strlen(definition));

	close(fd);
	return r;
}

static int remove_probe(void **state)
{
	_cleanup_free_ char *definition = gt_format("-:giltrace_test_pass_%d/probed\n", getpid());

	(void)state;
	/* There is none when the test was skipped. */
	write_probe(definition);
	return 0;
}

/*
 * Each process keeps its probes when another one ends: the kernel takes them out of the wrong
 * process when it has swapped the events of the two.
 */
static void test_processes_keep_their_probes(void **state)
{
	static const struct gt_pass_tracepoint sound = {.system = "sched",
							.name = "sched_process_exec"};
	char program[PATH_MAX] = {0};
	const char *const command[] = {program, "spin", NULL};
	_cleanup_free_ char *group = gt_format("giltrace_test_pass_%d", getpid());
	_cleanup_free_ char *definition = NULL;
	_cleanup_(remove_recording) struct recording recording = {0};
	_cleanup_(gt_perfdata_closep) struct gt_perfdata *perfdata = NULL;
	struct gt_pass_tracepoint tracepoint = {.system = group, .name = "probed"};

	(void)state;
	need_tracepoint(&sound);
	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	definition = gt_format("p:%s/probed %s:0x%" PRIx64 "\n", group, program,
			       file_offset((uintptr_t)probed));
	if (write_probe(definition) < 0) {
		print_message("skipped: no uprobe can be placed\n");
		skip();
	}
	recording = record(command, &tracepoint, 1, LARGE_RING_BYTES, true);
	assert_int_equal(gt_perfdata_open(recording.path, &perfdata), 0);
	if (!(gt_perfdata_event(perfdata, 0)->attr->sample_type & PERF_SAMPLE_READ)) {
		print_message("skipped: this kernel (before 6.12) swaps inherited events\n");
		skip();
	}
	assert_int_equal(recording.counts.lost, 0);
	assert_int_equal(recording.counts.samples, SPINS * SPINNERS * (SPINNERS + 1) / 2);
}

static void test_what_cannot_be_opened_is_told(void **state)
{
	static const struct gt_pass_tracepoint sound = {.system = "sched",
							.name = "sched_process_exec"};
	static const struct gt_pass_tracepoint missing = {.system = "sched",
							  .name = "no_such_event"};
	static const char *const command[] = {"/bin/true", NULL};
	struct gt_pass_spec spec = {
		.path = "/tmp",
		.what = "the test's events",
		.tracefs = TRACEFS,
		.tracepoints = &missing,
		.tracepoint_count = 1,
		.command = (char *const *)command,
	};
	struct gt_pass *pass = NULL;
	struct held_child child;

	(void)state;
	need_tracepoint(&sound);
	child = start_child(command);
	assert_int_equal(gt_pass_open(&spec, child.pid, &pass), -ENOENT);
	spec.tracepoints = &sound;
	assert_int_equal(gt_pass_open(&spec, child.pid, &pass), -EISDIR);
	assert_null(pass);
	close(child.release_fd);
	waitpid(child.pid, NULL, 0);
}

static char *const sleeping_command[] = {
	(char *)"/bin/sh", (char *)"-c",
	(char *)"for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.005; done", NULL};
enum { SLEEPS = 10 };

/* Skips the test where a kernel or a container gives nobody an event. */
static void need_events(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .context_switch = 1,
				       .exclude_kernel = 1};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0) {
		print_message("skipped: no event can be opened: %s\n", strerror(errno));
		skip();
	}
	close((int)fd);
}

static void test_context_switches_are_recorded(void **state)
{
	_cleanup_(remove_recording) struct recording recording = {0};
	_cleanup_free_ char *command = NULL;
	struct totals totals;

	(void)state;
	need_events();
	recording = record_pass((struct gt_pass_spec){.command = sleeping_command,
						      .context_switches = true,
						      .may_shrink_rings = true,
						      .ring_bytes = LARGE_RING_BYTES},
				true);
	totals = read_back(&recording);
	assert_int_equal(totals.lost, 0);
	assert_int_equal(totals.samples, 0);
	assert_int_equal(totals.execs, SLEEPS + 1);
	/* The shell for each sleep, and each sleep in its sleep and at its end. */
	assert_true(totals.switches_out >= 3 * SLEEPS);
	/* A fork's child gets on a CPU, and its end takes it off without a record. */
	assert_int_equal(totals.switches_in - totals.switches_out, SLEEPS);
	if (system("perf --version >/dev/null 2>&1") != 0) {
		print_message("not compared with perf script: perf is not installed\n");
		return;
	}
	command = gt_format("test $(perf script --show-switch-events -i %s 2>/dev/null | "
			    "grep -c PERF_RECORD_SWITCH) = %" PRIu64,
			    recording.path, totals.switches_in + totals.switches_out);
	assert_int_equal(system(command), 0);
}

/*
 * Two users of rings that are too large for one of them: both get smaller ones, and not even the
 * memory that a process may lock is asked for.
 */
static void test_rings_shrink(void **state)
{
	struct rlimit nothing = {0, 0};
	struct held_child child;
	struct gt_pass *passes[2] = {NULL, NULL};
	struct recording recordings[ARRAY_SIZE(passes)] = {0};

	(void)state;
	need_events();
	child = start_child((const char *const *)sleeping_command);
	setrlimit(RLIMIT_MEMLOCK, &nothing);
	for (size_t i = 0; i < ARRAY_SIZE(passes); i++) {
		struct gt_pass_spec spec = {.path = recordings[i].path,
					    .what = "the test's events",
					    .command = sleeping_command,
					    .context_switches = true,
					    .may_shrink_rings = true,
					    .ring_bytes = LARGE_RING_BYTES};

		make_path(&recordings[i]);
		assert_int_equal(gt_pass_open(&spec, child.pid, &passes[i]), 0);
		print_message("a ring of pass %zu can be left alone for %u ms\n", i,
			      gt_pass_rest_ms(passes[i]));
	}
	close(child.release_fd);
	while (waitpid(child.pid, NULL, WNOHANG) == 0) {
		poll(NULL, 0, (int)gt_pass_rest_ms(passes[1]));
		for (size_t i = 0; i < ARRAY_SIZE(passes); i++)
			assert_int_equal(gt_pass_drain(passes[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(passes); i++) {
		struct totals totals;

		assert_int_equal(gt_pass_finish(passes[i], &recordings[i].counts), 0);
		totals = read_back(&recordings[i]);
		assert_int_equal(totals.lost, 0);
		assert_true(totals.switches_out >= 3 * SLEEPS);
		gt_pass_close(passes[i]);
		remove_recording(&recordings[i]);
	}
}

/* What a plain user may do, in a process that has given up its rights for good. */
static int run_as_nobody(void)
{
	enum { NOBODY = 65534 };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context_switches_are_recorded),
		cmocka_unit_test(test_rings_shrink),
	};
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 &&
		    (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		     setresuid(NOBODY, NOBODY, NOBODY) < 0))
			_exit(1);
		/* A change of user takes away what lets a process look at its own children. */
		prctl(PR_SET_DUMPABLE, 1);
		exit(cmocka_run_group_tests_name("a plain user", tests, NULL, NULL));
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_tree_is_recorded),
		cmocka_unit_test(test_recordings_of_perf_are_read),
		cmocka_unit_test(test_the_header_describes_the_recording),
		cmocka_unit_test(test_context_switches_are_recorded),
		cmocka_unit_test(test_losses_are_counted),
		cmocka_unit_test_teardown(test_processes_keep_their_probes, remove_probe),
		cmocka_unit_test(test_what_cannot_be_opened_is_told),
	};

	if (argc == 2 && strcmp(argv[1], "spin") == 0)
		return spin();
	return run_as_nobody() + cmocka_run_group_tests(tests, NULL, NULL);
}
