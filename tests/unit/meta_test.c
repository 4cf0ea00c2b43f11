/* SPDX-License-Identifier: MIT */
/* meta.json: what is written is read again, and files of older versions are understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static void test_older_files_are_complete(void **state)
{
	static const char text[] = "{\"schema\": 1, \"command\": [\"a\"], \"probe\": \"uprobe\"}";
	_cleanup_(gt_meta_clear) struct gt_meta read = {0};
	_cleanup_close_ int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	(void)state;
	assert_int_equal(gt_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(gt_meta_read(path, &read), 0);
	assert_true(read.is_complete);
	assert_false(read.has_states);
	assert_null(read.agent_clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_written_is_read),
		cmocka_unit_test(test_older_files_are_complete),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
