/* SPDX-License-Identifier: MIT */
/* meta.json: what is written is read again, and files of older versions are understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "record/meta.h"

static char path[] = "/tmp/meta_test.XXXXXX";

static int make_file(void **state)
{
	(void)state;
	return close(mkstemp(path));
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void test_what_was_written_is_read(void **state)
{
	_cleanup_(gt_meta_clear) struct gt_meta read = {0};
	struct gt_meta written = {.command = (char *[]){(char *)"a", (char *)"b c", NULL},
				  .probe = (char *)"both",
				  .agent_clock = (char *)"tsc",
				  .has_states = true,
				  .is_complete = false,
				  .exit_status = -1,
				  .event_cost_ns = 12,
				  .clock_ns = UINT64_C(1) << 60};

	(void)state;
	assert_int_equal(gt_meta_write(&written, path), 0);
	assert_int_equal(gt_meta_read(path, &read), 0);
	assert_string_equal(read.command[1], "b c");
	assert_null(read.command[2]);
	assert_string_equal(read.probe, "both");
	assert_string_equal(read.agent_clock, "tsc");
	assert_true(read.has_states);
	assert_false(read.is_complete);
	assert_int_equal(read.exit_status, -1);
	assert_int_equal(read.event_cost_ns, 12);
	assert_int_equal(read.clock_ns, written.clock_ns);
}

static void test_states_with_stacks(void **state)
{
	_cleanup_(gt_meta_clear) struct gt_meta read = {0};
	struct gt_elf_range waits[] = {{.start = 10, .end = 20}, {.start = 30, .end = 31}};
	struct gt_meta written = {
		.command = (char *[]){(char *)"a", NULL},
		.probe = (char *)"none",
		.without_gil = true,
		.has_states = true,
		.has_wakeups = true,
		.call_graph = (char *)"dwarf",
		.stack_bytes = 8192,
		.root = (char *)"/srv/root",
		.sites.waits = {.items = waits, .count = ARRAY_SIZE(waits)},
	};

	(void)state;
	assert_int_equal(gt_meta_write(&written, path), 0);
	assert_int_equal(gt_meta_read(path, &read), 0);
	assert_true(read.without_gil);
	assert_true(read.has_states);
	assert_true(read.has_wakeups);
	assert_string_equal(read.call_graph, "dwarf");
	assert_int_equal(read.stack_bytes, 8192);
	assert_string_equal(read.root, "/srv/root");
	assert_int_equal(read.sites.waits.count, 2);
	assert_int_equal(read.sites.waits.items[0].start, 10);
	assert_int_equal(read.sites.waits.items[1].end, 31);
}

static void write_text(const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(gt_write_all(fd, text, strlen(text)), 0);
}

static void test_broken_waits_are_refused(void **state)
{
	static const char *const broken[] = {"1", "[[2]]", "[[2, 1]]", "[[5, 6], [1, 2]]", "null"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		_cleanup_free_ char *text =
			gt_format("{\"schema\": 3, \"command\": [], \"stacks\": "
				  "{\"call_graph\": \"fp\", \"gil_waits\": %s}}",
				  broken[i]);
		struct gt_meta read = {0};

		write_text(text);
		assert_int_equal(gt_meta_read(path, &read), -EBADMSG);
	}
}

static void test_older_files_are_complete(void **state)
{
	static const char text[] = "{\"schema\": 1, \"command\": [\"a\"], \"probe\": \"uprobe\"}";
	_cleanup_(gt_meta_clear) struct gt_meta read = {0};

	(void)state;
	write_text(text);
	assert_int_equal(gt_meta_read(path, &read), 0);
	assert_true(read.is_complete);
	assert_false(read.has_states);
	assert_null(read.agent_clock);
	assert_false(read.without_gil);
	assert_false(read.has_wakeups);
	assert_null(read.call_graph);
	assert_null(read.root);
	assert_int_equal(read.sites.waits.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_written_is_read),
		cmocka_unit_test(test_states_with_stacks),
		cmocka_unit_test(test_broken_waits_are_refused),
		cmocka_unit_test(test_older_files_are_complete),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
