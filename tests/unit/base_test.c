/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/macros.h"
#include "base/strings.h"

static void test_array_keeps_items(void **state)
{
	GT_ARRAY(uint64_t) numbers = {0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t *item = gt_array_push(&numbers);

		assert_non_null(item);
		assert_int_equal(*item, 0);
		*item = i;
	}
	assert_int_equal(numbers.count, 1000);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(numbers.items[i], i);
	gt_array_clear(&numbers);
}

static void test_hash_finds_what_was_set(void **state)
{
	struct gt_hash hash = {0};

	(void)state;
	assert_int_equal(gt_hash_get(&hash, 7), GT_HASH_NONE);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(gt_hash_set(&hash, (uint64_t)i << 32, i), 0);
	assert_int_equal(gt_hash_set(&hash, 0, 77), 0);
	assert_int_equal(hash.count, 10000);
	assert_int_equal(gt_hash_get(&hash, 0), 77);
	for (uint32_t i = 1; i < 10000; i++)
		assert_int_equal(gt_hash_get(&hash, (uint64_t)i << 32), i);
	assert_int_equal(gt_hash_get(&hash, 1), GT_HASH_NONE);
	gt_hash_clear(&hash);
}

static void check_escaped(char *(*dup)(const char *, size_t), const char *text, size_t length,
			  const char *expected)
{
	_cleanup_free_ char *escaped = dup(text, length);

	assert_string_equal(escaped, expected);
}

static void test_hostile_text_becomes_harmless(void **state)
{
	(void)state;
	check_escaped(gt_utf8_dup, "na\xc3\xafve", 6, "na\xc3\xafve");
	check_escaped(gt_utf8_dup, "\xff\xfe", 2, "\\xff\\xfe");
	/* Overlong, surrogate, cut off, NUL. */
	check_escaped(gt_utf8_dup, "\xc0\xaf", 2, "\\xc0\\xaf");
	check_escaped(gt_utf8_dup, "\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
	check_escaped(gt_utf8_dup, "\xe2\x82", 2, "\\xe2\\x82");
	check_escaped(gt_utf8_dup, "a\0b", 3, "a\\x00b");
	check_escaped(gt_utf8_dup, "\x1b[2J\n", 5, "\x1b[2J\n");
	check_escaped(gt_terminal_dup, "\x1b[2J\n", 5, "\\x1b[2J\\x0a");
	/* Right-to-left override. */
	check_escaped(gt_terminal_dup, "a\xe2\x80\xae", 4, "a\\xe2\\x80\\xae");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_array_keeps_items),
		cmocka_unit_test(test_hash_finds_what_was_set),
		cmocka_unit_test(test_hostile_text_becomes_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
