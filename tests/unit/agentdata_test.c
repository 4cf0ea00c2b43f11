/* SPDX-License-Identifier: MIT */
/* The reader of gil.agent, fed with files that are made here. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "agentdata/agentdata.h"
#include "agentdata/format.h"
#include "base/array.h"
#include "base/io.h"
#include "base/log.h"
#include "probes/agent/layout.h"
#include "trace/stats.h"
#include "trace/trace.h"

#define PID 100
#define COND UINT64_C(0x5000)
#define SWITCH_COND (COND + 0x58)
#define RETAKE UINT64_C(0x10100) /* where MAP_START puts the offset 0x1100 */
#define MAP_START UINT64_C(0x10000)

/* A file under construction. */
struct file {
	GT_ARRAY(uint8_t) bytes;
	bool is_finished;
};

static int memory_fd;
static char path[64];
static char *said; /* by the last open_file() and read_all() */

static void put(struct file *file, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t *byte = gt_array_push(&file->bytes);

		assert_non_null(byte);
		*byte = ((const uint8_t *)data)[i];
	}
}

static struct file new_file(uint64_t window_start_ns)
{
	struct file file = {0};
	struct gt_agent_file_header header = {.magic = GT_AGENT_FILE_MAGIC,
					      .version = GT_AGENT_FILE_VERSION,
					      .header_bytes = sizeof(header),
					      .window_start_ns = window_start_ns};

	put(&file, &header, sizeof(header));
	return file;
}

struct thread {
	uint32_t number, process, pid, tid, ppid, ptid;
	const char *name;
};

static void put_thread(struct file *file, uint64_t time_ns, struct thread thread)
{
	struct gt_agent_thread_block block = {
		.block = {.type = GT_AGENT_BLOCK_THREAD,
			  .thread = thread.number,
			  .bytes = sizeof(block)},
		.time_ns = time_ns,
		.process = thread.process,
		.pid = thread.pid,
		.tid = thread.tid,
		.ppid = thread.ppid,
		.ptid = thread.ptid,
		.map_start = MAP_START,
		.map_bytes = 0x1000,
		.map_offset = 0x1000,
	};

	if (thread.name)
		memcpy(block.comm, thread.name, strlen(thread.name));
	put(file, &block, sizeof(block));
}

static struct gt_agent_record record(uint64_t time_ns, enum gt_agent_kind kind)
{
	uint64_t value = kind == GT_AGENT_TAKE	     ? 0x1234
			 : kind == GT_AGENT_ACQUIRED ? SWITCH_COND
			 : kind == GT_AGENT_RELEASE  ? COND
						     : COND + 0x88;

	return (struct gt_agent_record){.time = (uint64_t)kind << GT_AGENT_KIND_SHIFT | time_ns,
					.value = value};
}

static void put_records(struct file *file, uint32_t number, uint64_t lost_before,
			const struct gt_agent_record *records, uint32_t count)
{
	struct gt_agent_records_block block = {
		.block = {.type = GT_AGENT_BLOCK_RECORDS,
			  .thread = number,
			  .bytes = (uint32_t)(sizeof(block) + count * sizeof(*records))},
		.lost_before = lost_before,
	};

	put(file, &block, sizeof(block));
	put(file, records, count * sizeof(*records));
}

#define PUT_RECORDS(file, number, lost, ...)                                                       \
	do {                                                                                       \
		const struct gt_agent_record records_[] = {__VA_ARGS__};                           \
		put_records(file, number, lost, records_, ARRAY_SIZE(records_));                   \
	} while (0)

static void put_name(struct file *file, uint32_t number, uint64_t time_ns, const char *name)
{
	struct gt_agent_name_block block = {
		.block = {.type = GT_AGENT_BLOCK_NAME, .thread = number, .bytes = sizeof(block)},
		.time_ns = time_ns};

	memcpy(block.comm, name, strlen(name));
	put(file, &block, sizeof(block));
}

static void put_end(struct file *file, uint32_t number, uint64_t time_ns, uint64_t lost)
{
	struct gt_agent_end_block block = {
		.block = {.type = GT_AGENT_BLOCK_END, .thread = number, .bytes = sizeof(block)},
		.time_ns = time_ns,
		.lost = lost};

	put(file, &block, sizeof(block));
}

static void put_lost(struct file *file, uint64_t lost)
{
	struct gt_agent_lost_block block = {
		.block = {.type = GT_AGENT_BLOCK_LOST, .bytes = sizeof(block)}, .lost = lost};

	put(file, &block, sizeof(block));
	file->is_finished = true;
}

static void write_file(struct file *file)
{
	assert_int_equal(ftruncate(memory_fd, 0), 0);
	assert_true(lseek(memory_fd, 0, SEEK_SET) == 0);
	assert_int_equal(gt_write_all(memory_fd, file->bytes.items, file->bytes.count), 0);
}

static int open_file(struct file *file, bool gil_events_only, struct gt_agentdata **ret)
{
	struct gt_agentdata_spec spec = {.path = path,
					 .gil_file = "/opt/libpython3.8.so.1.0",
					 .build_id = "abcd",
					 .gil_events_only = gil_events_only};
	struct gt_log_capture capture;
	int r;

	write_file(file);
	gt_log_start_capture(&capture);
	r = gt_agentdata_open(&spec, ret);
	free(said);
	said = gt_log_end_capture(&capture);
	return r;
}

/* All events as text, one a line, in the order in which they come; the caller frees it. */
static char *read_text(struct file *file, bool gil_events_only)
{
	static const char *const names[] = {
		[GT_EVENT_FORK] = "fork",	  [GT_EVENT_EXIT] = "exit",
		[GT_EVENT_COMM] = "comm",	  [GT_EVENT_MAP] = "map",
		[GT_EVENT_LOST] = "lost",	  [GT_EVENT_TAKE] = "take",
		[GT_EVENT_ACQUIRED] = "acquired", [GT_EVENT_RELEASE] = "release",
		[GT_EVENT_SWITCHED] = "switched", [GT_EVENT_CUT] = "cut",
	};
	_cleanup_(gt_agentdata_closep) struct gt_agentdata *data = NULL;
	struct gt_event event;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	int r;

	if (!file->is_finished)
		put_lost(file, 0);
	assert_int_equal(open_file(file, gil_events_only, &data), 0);
	while ((r = gt_agentdata_next(data, &event)) > 0) {
		assert_int_equal(event.ring, GT_EVENT_NO_RING);
		fprintf(stream, "%llu %u/%u %s", (unsigned long long)event.time_ns, event.pid,
			event.tid, names[event.type]);
		if (event.type == GT_EVENT_FORK)
			fprintf(stream, " from %u/%u", event.fork.ppid, event.fork.ptid);
		else if (event.type == GT_EVENT_COMM)
			fprintf(stream, " %s%s", event.comm.name, event.comm.exec ? " exec" : "");
		else if (event.type == GT_EVENT_LOST)
			fprintf(stream, " %llu", (unsigned long long)event.lost);
		else if (event.type == GT_EVENT_MAP)
			assert_memory_equal(event.map.build_id, "\xab\xcd", 2);
		fputc('\n', stream);
	}
	assert_int_equal(r, 0);
	assert_int_equal(fclose(stream), 0);
	gt_array_clear(&file->bytes);
	return text;
}

static void check_text(struct file *file, bool gil_events_only, const char *expected)
{
	_cleanup_free_ char *text = read_text(file, gil_events_only);

	assert_string_equal(text, expected);
}

/* Blocks as they are written, not in the order of their times. */
static void put_two_threads(struct file *file)
{
	put_thread(file, 1000, (struct thread){1, 1, PID, PID, 0, 0, "python3"});
	PUT_RECORDS(file, 1, 0, record(1000, GT_AGENT_ACQUIRED), record(1500, GT_AGENT_RELEASE));
	put_thread(file, 1300, (struct thread){2, 1, PID, 101, 0, 0, "worker"});
	PUT_RECORDS(file, 2, 0, record(1300, GT_AGENT_TAKE), record(1500, GT_AGENT_ACQUIRED),
		    record(1700, GT_AGENT_RELEASE));
	put_name(file, 2, 1600, "renamed");
	PUT_RECORDS(file, 1, 0, record(1800, GT_AGENT_ACQUIRED));
	put_end(file, 2, 1750, 0);
	put_end(file, 1, 2000, 0);
	put_lost(file, 0);
}

/* At 1500, the one lets go before the other has it. A name cannot come before its thread's past. */
static void test_threads_are_merged(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_two_threads(&file);
	check_text(&file, true,
		   "1000 100/100 map\n"
		   "1000 100/100 acquired\n"
		   "1300 100/101 take\n"
		   "1500 100/100 release\n"
		   "1500 100/101 acquired\n"
		   "1700 100/101 release\n"
		   "1800 100/100 acquired\n");
	assert_null(said);
}

static void test_tasks_are_made(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_two_threads(&file);
	check_text(&file, false,
		   "1000 100/100 comm python3 exec\n"
		   "1000 100/100 map\n"
		   "1000 100/100 acquired\n"
		   "1300 100/101 fork from 100/100\n"
		   "1300 100/101 comm worker\n"
		   "1300 100/101 take\n"
		   "1500 100/100 release\n"
		   "1500 100/101 acquired\n"
		   "1700 100/101 release\n"
		   "1700 100/101 comm renamed\n"
		   "1750 100/101 exit\n"
		   "1800 100/100 acquired\n"
		   "2000 100/100 exit\n");
}

static void test_main_thread_that_was_not_seen(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_thread(&file, 1000, (struct thread){1, 1, PID, 101, 0, 0, "embedded"});
	PUT_RECORDS(&file, 1, 0, record(1000, GT_AGENT_ACQUIRED));
	put_thread(&file, 1100, (struct thread){2, 1, PID, 102, 0, 0, "second"});
	put_end(&file, 1, 1200, 0);
	put_end(&file, 2, 1300, 0);
	check_text(&file, false,
		   "1000 100/100 comm embedded exec\n"
		   "1000 100/101 fork from 100/100\n"
		   "1000 100/101 comm embedded\n"
		   "1000 100/101 map\n"
		   "1000 100/101 acquired\n"
		   "1100 100/102 fork from 100/100\n"
		   "1100 100/102 comm second\n"
		   "1200 100/101 exit\n"
		   "1300 100/102 exit\n"
		   "1300 100/100 exit\n");
}

/* It is told of once it is seen, without a second birth; then others come from those that live. */
static void test_main_thread_that_is_seen_late(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_thread(&file, 1000, (struct thread){1, 1, PID, 101, 0, 0, "first"});
	put_thread(&file, 1100, (struct thread){2, 1, PID, PID, 0, 0, "main"});
	put_end(&file, 2, 1200, 0);
	put_thread(&file, 1300, (struct thread){3, 1, PID, 102, 0, 0, "third"});
	check_text(&file, false,
		   "1000 100/100 comm first exec\n"
		   "1000 100/101 fork from 100/100\n"
		   "1000 100/101 comm first\n"
		   "1000 100/101 map\n"
		   "1100 100/100 comm main\n"
		   "1200 100/100 exit\n"
		   "1300 100/102 fork from 100/101\n"
		   "1300 100/102 comm third\n");
}

static void test_processes(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_thread(&file, 1000, (struct thread){1, 1, PID, PID, 0, 0, "python3"});
	put_thread(&file, 1010, (struct thread){2, 1, PID, 101, 0, 0, "worker"});
	/* Forked by a thread, by one that nobody knows (without a name of its own), and by nobody
	 * that is known. */
	put_thread(&file, 1100, (struct thread){3, 2, 200, 200, PID, 101, "child"});
	put_thread(&file, 1200, (struct thread){4, 3, 300, 300, PID, 77, ""});
	put_thread(&file, 1300, (struct thread){5, 4, 400, 400, 66, 66, "other"});
	/* Started, not forked; and the same again by exec. */
	put_thread(&file, 1400, (struct thread){6, 5, 500, 500, PID, 0, "spawned"});
	put_thread(&file, 1500, (struct thread){7, 6, 500, 500, 0, 0, "execed"});
	put_end(&file, 6, 1600, 0);
	put_end(&file, 7, 1700, 0);
	check_text(&file, false,
		   "1000 100/100 comm python3 exec\n"
		   "1000 100/100 map\n"
		   "1010 100/101 fork from 100/100\n"
		   "1010 100/101 comm worker\n"
		   "1100 200/200 fork from 100/101\n"
		   "1100 200/200 comm child\n"
		   "1100 200/200 map\n"
		   "1200 300/300 fork from 100/100\n"
		   "1200 300/300 map\n"
		   "1300 400/400 comm other exec\n"
		   "1300 400/400 map\n"
		   "1400 500/500 fork from 100/100\n"
		   "1400 500/500 comm spawned exec\n"
		   "1400 500/500 map\n"
		   "1500 500/500 comm execed exec\n"
		   "1500 500/500 map\n"
		   "1700 500/500 exit\n");
}

/* What was lost, came behind the record before; and an end never comes before the last record. */
static void test_losses_and_ends(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_thread(&file, 1000, (struct thread){1, 1, PID, PID, 0, 0, "python3"});
	PUT_RECORDS(&file, 1, 0, record(1000, GT_AGENT_ACQUIRED));
	PUT_RECORDS(&file, 1, 7, record(1500, GT_AGENT_RELEASE));
	put_thread(&file, 1200, (struct thread){2, 1, PID, 101, 0, 0, "worker"});
	put_records(&file, 2, 0, NULL, 0);
	PUT_RECORDS(&file, 2, 2, record(1600, GT_AGENT_ACQUIRED));
	put_end(&file, 1, 1400, 3);
	put_end(&file, 2, 0, 4);
	put_lost(&file, 5);
	check_text(&file, false,
		   "1000 100/100 comm python3 exec\n"
		   "1000 100/100 map\n"
		   "1000 100/100 acquired\n"
		   "1000 100/100 lost 7\n"
		   "1200 100/101 fork from 100/100\n"
		   "1200 100/101 comm worker\n"
		   "1200 100/101 lost 2\n"
		   "1500 100/100 release\n"
		   "1500 100/100 lost 3\n"
		   "1500 100/100 exit\n"
		   "1600 100/101 acquired\n"
		   "1600 100/101 lost 4\n"
		   "1600 0/0 lost 5\n");
}

static void test_clock_that_goes_back(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_thread(&file, 1000, (struct thread){1, 1, PID, PID, 0, 0, "python3"});
	PUT_RECORDS(&file, 1, 0, record(1500, GT_AGENT_ACQUIRED), record(1400, GT_AGENT_RELEASE),
		    record(1450, GT_AGENT_SWITCHED), record(1600, GT_AGENT_ACQUIRED));
	check_text(&file, true,
		   "1000 100/100 map\n"
		   "1500 100/100 acquired\n"
		   "1500 100/100 release\n"
		   "1500 100/100 switched\n"
		   "1600 100/100 acquired\n");
}

/* Cut off anywhere: up to its last whole block, with a warning, and nothing is claimed behind it.
 */
static void test_cut_off(void **state)
{
	struct file whole = new_file(0);

	(void)state;
	put_two_threads(&whole);
	for (uint32_t count = sizeof(struct gt_agent_file_header); count < whole.bytes.count;
	     count++) {
		_cleanup_(gt_agentdata_closep) struct gt_agentdata *data = NULL;
		struct file file = {0};
		struct gt_event event = {0};
		uint64_t done, total, last_ns = 0;

		put(&file, whole.bytes.items, count);
		assert_int_equal(open_file(&file, false, &data), 0);
		while (gt_agentdata_next(data, &event) > 0) {
			assert_true(event.time_ns >= last_ns);
			last_ns = event.time_ns;
		}
		gt_agentdata_progress(data, &done, &total);
		assert_int_equal(done, total);
		assert_non_null(strstr(said, "was cut off at offset"));
		assert_int_equal(event.type, GT_EVENT_CUT);
		gt_array_clear(&file.bytes);
	}
	gt_array_clear(&whole.bytes);
}

static void check_broken(struct file *file, const char *reason)
{
	_cleanup_(gt_agentdata_closep) struct gt_agentdata *data = NULL;
	struct gt_log_capture capture;
	struct gt_event event;
	int r = open_file(file, false, &data);

	if (r == 0) {
		gt_log_start_capture(&capture);
		while ((r = gt_agentdata_next(data, &event)) > 0)
			;
		free(said);
		said = gt_log_end_capture(&capture);
	}
	assert_int_equal(r, -EBADMSG);
	assert_non_null(said);
	assert_non_null(strstr(said, path));
	assert_non_null(strstr(said, reason));
	gt_array_clear(&file->bytes);
}

static void test_broken_files_are_refused(void **state)
{
	const struct gt_agent_block blocks[] = {
		{.type = GT_AGENT_BLOCK_THREAD, .thread = 1, .bytes = 0},
		{.type = GT_AGENT_BLOCK_THREAD, .thread = 1, .bytes = 20},
		{.type = GT_AGENT_BLOCK_THREAD, .thread = 1, .bytes = 24},
		{.type = GT_AGENT_BLOCK_RECORDS, .thread = 1, .bytes = 16},
		{.type = GT_AGENT_BLOCK_RECORDS, .thread = 1, .bytes = 32},
		{.type = GT_AGENT_BLOCK_NAME, .thread = 1, .bytes = 24},
		{.type = GT_AGENT_BLOCK_END, .thread = 1, .bytes = 24},
		{.type = GT_AGENT_BLOCK_LOST, .bytes = 16},
		{.type = 0, .bytes = 64},
		{.type = 99, .bytes = 64},
	};
	struct file file;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		file = new_file(0);
		put(&file, &blocks[i], sizeof(blocks[i]));
		check_broken(&file, "broken at offset 32: a block");
	}
	file = new_file(0);
	file.bytes.items[0] ^= 1;
	check_broken(&file, "it is no file of giltrace's agent");
	file = new_file(0);
	file.bytes.items[8] = 77;
	check_broken(&file, "version 77");
	file = new_file(0);
	file.bytes.items[12] = 200;
	check_broken(&file, "a header of 200 bytes");
	file = new_file(0);
	file.bytes.count = 20;
	check_broken(&file, "ends within its header");
	file = (struct file){0};
	check_broken(&file, "is empty");
}

/* As check_text(), and REASON is said on the way, as a warning. */
static void check_tolerated(struct file *file, const char *reason, const char *expected)
{
	_cleanup_free_ char *text = NULL, *reading = NULL;
	struct gt_log_capture capture;

	gt_log_start_capture(&capture);
	text = read_text(file, false);
	reading = gt_log_end_capture(&capture);
	assert_string_equal(text, expected);
	assert_non_null(strstr(said ? said : reading, reason));
}

/* What is broken of one thread does not take the others along. */
static void test_broken_threads_are_left_out(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_end(&file, 7, 0, 3);
	PUT_RECORDS(&file, 7, 1, record(900, GT_AGENT_ACQUIRED));
	put_thread(&file, 1000, (struct thread){1, 1, PID, PID, 0, 0, "python3"});
	check_tolerated(&file,
			"broken at offset 32: a block of thread 7, of which nothing was said",
			"1000 100/100 comm python3 exec\n"
			"1000 100/100 map\n"
			"1000 0/0 lost 5\n");

	file = new_file(0);
	put_thread(&file, 1000, (struct thread){1, 1, PID, PID, 0, 0, "python3"});
	PUT_RECORDS(&file, 1, 0, record(1000, GT_AGENT_ACQUIRED), record(9999, 0), record(1, 15),
		    record(1500, GT_AGENT_RELEASE), record(1, 9));
	put_thread(&file, 1200, (struct thread){2, 1, PID, 101, 0, 0, "worker"});
	put_end(&file, 1, 1600, 0);
	check_tolerated(&file, "a record of kind 0",
			"1000 100/100 comm python3 exec\n"
			"1000 100/100 map\n"
			"1000 100/100 acquired\n"
			"1000 100/100 lost 2\n"
			"1200 100/101 fork from 100/100\n"
			"1200 100/101 comm worker\n"
			"1500 100/100 release\n"
			"1500 100/100 lost 1\n"
			"1600 100/100 exit\n");

	file = new_file(0);
	put_thread(&file, 1000, (struct thread){1, 1, PID, PID, 0, 0, "python3"});
	put_thread(&file, 1100, (struct thread){2, 1, 300, 300, 0, 0, "python3"});
	PUT_RECORDS(&file, 2, 3, record(1100, GT_AGENT_ACQUIRED), record(1200, GT_AGENT_RELEASE));
	put_end(&file, 2, 1300, 4);
	PUT_RECORDS(&file, 1, 0, record(1400, GT_AGENT_ACQUIRED));
	check_tolerated(&file, "has two pids, 100 and 300",
			"1000 100/100 comm python3 exec\n"
			"1000 100/100 map\n"
			"1400 100/100 acquired\n"
			"1400 0/0 lost 9\n");
}

/* In a namespace without the recorder's /proc: numbers that nobody else has. */
static void test_numbers_that_are_not_known(void **state)
{
	struct file file = new_file(0);

	(void)state;
	put_thread(&file, 1000, (struct thread){1, 1, 0, 0, 0, 0, "first"});
	put_thread(&file, 1100, (struct thread){2, 1, 0, 0, 0, 0, "second"});
	/* Some of it is known. */
	put_thread(&file, 1200, (struct thread){3, 2, 0, 0, 0, 0, "other"});
	put_thread(&file, 1300, (struct thread){4, 2, 200, 201, 0, 0, "known"});
	put_thread(&file, 1400, (struct thread){5, 3, PID, PID, 0, 0, "main"});
	put_thread(&file, 1500, (struct thread){6, 3, PID, 0, 0, 0, "worker"});
	put_thread(&file, 1550, (struct thread){6, 3, PID, 0, 0, 0, "worker"});
	put_end(&file, 2, 1600, 0);
	put_end(&file, 1, 1700, 0);
	check_text(&file, false,
		   "1000 8388608/8388608 comm first exec\n"
		   "1000 8388608/8388608 map\n"
		   "1100 8388608/8388609 fork from 8388608/8388608\n"
		   "1100 8388608/8388609 comm second\n"
		   "1200 8388610/8388610 comm other exec\n"
		   "1200 8388610/8388610 map\n"
		   "1300 8388610/201 fork from 8388610/8388610\n"
		   "1300 8388610/201 comm known\n"
		   "1400 100/100 comm main exec\n"
		   "1400 100/100 map\n"
		   "1500 100/8388613 fork from 100/100\n"
		   "1500 100/8388613 comm worker\n"
		   "1600 8388608/8388609 exit\n"
		   "1700 8388608/8388608 exit\n");
	assert_null(said);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

/* Whatever the bytes: no read beyond the file, an end, times in order, and a sound model. */
static void test_any_bytes(void **state)
{
	struct file whole = new_file(0);

	(void)state;
	put_two_threads(&whole);
	put_thread(&whole, 1900, (struct thread){3, 2, 200, 200, PID, 101, "child"});
	PUT_RECORDS(&whole, 3, 1, record(1950, GT_AGENT_ACQUIRED));
	for (uint64_t seed = 1; seed < 3000; seed++) {
		_cleanup_(gt_agentdata_closep) struct gt_agentdata *data = NULL;
		_cleanup_(gt_trace_freep) struct gt_trace *trace = gt_trace_new();
		struct gt_log_capture capture;
		struct file file = {0};
		struct gt_event event;
		uint64_t random = seed, last_ns = 0;
		char *messages;

		put(&file, whole.bytes.items, whole.bytes.count);
		for (uint32_t i = next_random(&random) % 4; i-- > 0;)
			file.bytes.items[32 + next_random(&random) % (file.bytes.count - 32)] =
				(uint8_t)next_random(&random);
		if (open_file(&file, seed % 2, &data) == 0) {
			trace->takes_are_waits = true;
			gt_log_start_capture(&capture);
			while (gt_agentdata_next(data, &event) > 0) {
				assert_true(event.time_ns >= last_ns);
				last_ns = event.time_ns;
				assert_int_equal(gt_trace_feed(trace, &event), 0);
			}
			assert_int_equal(gt_trace_finish(trace), 0);
			messages = gt_log_end_capture(&capture);
			free(messages);
		}
		gt_array_clear(&file.bytes);
	}
	gt_array_clear(&whole.bytes);
}

/* Thousands of threads, each with a few blocks: all records, in order. */
static void test_many_threads(void **state)
{
	_cleanup_(gt_agentdata_closep) struct gt_agentdata *data = NULL;
	struct file file = new_file(0);
	struct gt_event event;
	uint64_t last_ns = 0, count = 0, acquired = 0, seed = 1;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++)
		put_thread(&file, 1000 + i, (struct thread){i + 1, 1, PID, PID + i, 0, 0, "t"});
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 3000; i++) {
			uint64_t time_ns = 10000 + round * 5000 + next_random(&seed) % 4000;

			PUT_RECORDS(&file, i + 1, 0, record(time_ns, GT_AGENT_ACQUIRED),
				    record(time_ns + 5, GT_AGENT_RELEASE));
		}
	put_lost(&file, 0);
	assert_int_equal(open_file(&file, false, &data), 0);
	while (gt_agentdata_next(data, &event) > 0) {
		assert_true(event.time_ns >= last_ns);
		last_ns = event.time_ns;
		count++;
		acquired += event.type == GT_EVENT_ACQUIRED;
	}
	assert_int_equal(acquired, 9000);
	assert_int_equal(count, 18000 + 2 * 3000);
	gt_array_clear(&file.bytes);
}

/* From the file to the figures, with perf's word of the tasks and without. */
static void test_model_of_a_file(void **state)
{
	_cleanup_(gt_agentdata_closep) struct gt_agentdata *data = NULL;
	_cleanup_(gt_trace_freep) struct gt_trace *trace = gt_trace_new();
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	uint64_t offset = 0x1100;
	struct gt_python python = {.path = (char *)"/opt/libpython3.8.so.1.0",
				   .build_id = (char *)"abcd",
				   .retake_offsets = {.items = &offset, .count = 1}};
	struct gt_agent_record retake = record(1250, GT_AGENT_TAKE);
	struct file file = new_file(0);
	struct gt_event event;

	(void)state;
	retake.value = RETAKE;
	put_thread(&file, 1000, (struct thread){1, 1, PID, PID, 0, 0, "python3"});
	PUT_RECORDS(&file, 1, 0, record(1000, GT_AGENT_ACQUIRED), record(1200, GT_AGENT_RELEASE),
		    retake, record(1300, GT_AGENT_ACQUIRED), record(1400, GT_AGENT_RELEASE),
		    record(1450, GT_AGENT_ACQUIRED));
	put_end(&file, 1, 1500, 0);
	put_lost(&file, 0);
	trace->takes_are_waits = true;
	assert_int_equal(gt_trace_add_python(trace, &python), 0);
	assert_int_equal(open_file(&file, false, &data), 0);
	while (gt_agentdata_next(data, &event) > 0)
		assert_int_equal(gt_trace_feed(trace, &event), 0);
	assert_int_equal(gt_trace_finish(trace), 0);
	assert_int_equal(gt_stats_compute(trace, &stats), 0);
	assert_int_equal(trace->threads.count, 1);
	assert_int_equal(trace->start_ns, 1000);
	assert_int_equal(stats.threads[0].has_ns, 200 + 100 + 50);
	assert_int_equal(stats.threads[0].wait_ns, 100);
	assert_int_equal(stats.threads[0].no_ns, 50);
	assert_int_equal(trace->inferred, 0);
	assert_int_equal(trace->processes.items[0].python, 0);
	gt_array_clear(&file.bytes);
}

/* In memory: thousands of files are written, and a disk would have to take each. */
static int make_memory(void **state)
{
	(void)state;
	memory_fd = memfd_create("gil.agent", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_fd);
	return memory_fd < 0 ? -1 : 0;
}

static int close_memory(void **state)
{
	(void)state;
	free(said);
	return close(memory_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_are_merged),
		cmocka_unit_test(test_tasks_are_made),
		cmocka_unit_test(test_main_thread_that_was_not_seen),
		cmocka_unit_test(test_main_thread_that_is_seen_late),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_losses_and_ends),
		cmocka_unit_test(test_clock_that_goes_back),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_broken_files_are_refused),
		cmocka_unit_test(test_broken_threads_are_left_out),
		cmocka_unit_test(test_numbers_that_are_not_known),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_model_of_a_file),
	};

	return cmocka_run_group_tests(tests, make_memory, close_memory);
}
