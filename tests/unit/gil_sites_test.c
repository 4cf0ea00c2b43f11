/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/strings.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "python/gil_sites.h"

/* What is checked is read here by hand, so that the finder does not vouch for itself. */

static uint64_t address_of(const struct gt_elf *elf, uint64_t offset)
{
	uint64_t address = 0;

	assert_true(gt_elf_offset_to_address(elf, offset, &address));
	return address;
}

/* Where the call or jump at ADDRESS goes; its return address in *RET_NEXT. */
static uint64_t call_target(const struct gt_elf *elf, uint64_t address, uint64_t *ret_next)
{
	const unsigned char *bytes = gt_elf_bytes(elf, address, 7);
	uint32_t opcode_size = 1;
	int32_t distance;

	assert_non_null(bytes);
	if (bytes[0] == 0x67 && bytes[1] == 0xe8)
		opcode_size = 2;
	else if (bytes[0] == 0xff && (bytes[1] == 0x15 || bytes[1] == 0x25))
		opcode_size = 2;
	else
		assert_true(bytes[0] == 0xe8 || bytes[0] == 0xe9);
	memcpy(&distance, bytes + opcode_size, sizeof(distance));
	*ret_next = address + opcode_size + sizeof(distance);
	return *ret_next + (uint64_t)(int64_t)distance;
}

/* True when a call that leads to TARGET calls NAME. */
static bool is_import(const struct gt_elf *elf, uint64_t target, const char *name)
{
	gt_elf_imports imports = {0};
	bool found = false;

	assert_int_equal(gt_elf_imports_read(elf, &name, 1, &imports), 0);
	gt_array_for_each (&imports, import)
		found = found || import->address == target;
	gt_array_clear(&imports);
	return found;
}

static void check_calls(const struct gt_elf *elf, const gt_gil_offsets *offsets, const char *name)
{
	gt_array_for_each (offsets, offset) {
		uint64_t next;

		assert_true(
			is_import(elf, call_target(elf, address_of(elf, *offset), &next), name));
	}
}

static void check_order(const gt_gil_offsets *offsets)
{
	for (uint32_t i = 1; i < offsets->count; i++)
		assert_true(offsets->items[i - 1] < offsets->items[i]);
}

/* Each site lies in a function of one of these names, or in a part or copy of it. */
static void check_functions(const struct gt_elf *elf, const gt_gil_offsets *offsets,
			    const char *name, bool same)
{
	gt_elf_functions functions = {0};

	assert_int_equal(gt_elf_symbols_read(elf, &functions), 0);
	gt_array_for_each (offsets, offset) {
		uint32_t function = gt_elf_function_at(&functions, address_of(elf, *offset));

		assert_true(function < functions.count);
		assert_true(gt_string_starts_with(functions.items[function].name, name) == same);
	}
	gt_array_clear(&functions);
}

static bool is_take(const struct gt_elf *elf, const struct gt_gil_sites *sites, uint64_t target)
{
	gt_array_for_each (&sites->offsets[GT_GIL_SITE_TAKE], offset)
		if (address_of(elf, *offset) == target)
			return true;
	return false;
}

static void check_sites(const struct gt_elf *elf, const struct gt_gil_sites *sites,
			uint32_t retake_count)
{
	const gt_gil_offsets *offsets = sites->offsets;
	gt_elf_functions functions = {0};

	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		check_order(&offsets[kind]);
	assert_in_range(offsets[GT_GIL_SITE_TAKE].count, 1, 3);
	assert_in_range(offsets[GT_GIL_SITE_ACQUIRED].count, 1, 3);
	assert_in_range(offsets[GT_GIL_SITE_RELEASE].count, 1, 13);
	assert_in_range(offsets[GT_GIL_SITE_SWITCHED].count, 1, 26);
	assert_int_equal(offsets[GT_GIL_SITE_RETAKE].count, retake_count);
	check_calls(elf, &offsets[GT_GIL_SITE_ACQUIRED], "pthread_cond_signal");
	check_calls(elf, &offsets[GT_GIL_SITE_RELEASE], "pthread_cond_signal");
	check_calls(elf, &offsets[GT_GIL_SITE_SWITCHED], "pthread_mutex_unlock");
	check_functions(elf, &offsets[GT_GIL_SITE_TAKE], "take_gil", true);
	check_functions(elf, &offsets[GT_GIL_SITE_ACQUIRED], "take_gil", true);
	check_functions(elf, &offsets[GT_GIL_SITE_RELEASE], "take_gil", false);
	check_functions(elf, &offsets[GT_GIL_SITE_SWITCHED], "take_gil", false);
	/* Take is at the very entry, or the caller's address is not where it is looked for. */
	assert_int_equal(gt_elf_symbols_read(elf, &functions), 0);
	gt_array_for_each (&offsets[GT_GIL_SITE_TAKE], offset) {
		uint64_t address = address_of(elf, *offset);
		uint32_t function = gt_elf_function_at(&functions, address);

		assert_int_equal(functions.items[function].start, address);
	}
	gt_array_clear(&functions);
	gt_array_for_each (&offsets[GT_GIL_SITE_RETAKE], offset) {
		uint64_t next, behind = address_of(elf, *offset);

		assert_true(is_take(elf, sites, call_target(elf, behind - 5, &next)));
		assert_int_equal(next, behind);
	}
}

static void check_interpreter(const char *path, unsigned int minor)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};
	uint64_t start = gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	print_message("%s\n", path);
	assert_int_equal(gt_elf_open(path, &elf), 0);
	assert_int_equal(gt_gil_sites_find(elf, &sites), 0);
	/* 20 – 40 ms are usual; the limit leaves room for sanitizers. */
	assert_true(gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start < 3 * GT_NS_PER_SEC);
	assert_string_equal(sites.found_by, "symbols");
	assert_string_not_equal(gt_elf_build_id(elf), "");
	check_sites(elf, &sites, minor <= 12 ? 1 : 0);
}

/* The libpythons of pyenv: those are not stripped. */
static bool find_libraries(glob_t *ret)
{
	const char *home = getenv("HOME");
	_cleanup_free_ char *pattern = NULL;

	pattern = gt_format("%s/.pyenv/versions/*/lib/libpython3.*.so.1.0", home ? home : "");
	assert_non_null(pattern);
	if (glob(pattern, 0, NULL, ret) == 0)
		return true;
	print_message("no libpython in %s\n", pattern);
	return false;
}

static void test_every_interpreter_has_its_sites(void **state)
{
	glob_t libraries;

	(void)state;
	if (!find_libraries(&libraries))
		skip();
	for (size_t i = 0; i < libraries.gl_pathc; i++) {
		const char *name = strrchr(libraries.gl_pathv[i], '/');
		unsigned int minor;

		assert_int_equal(sscanf(name, "/libpython3.%u", &minor), 1);
		check_interpreter(libraries.gl_pathv[i], minor);
	}
	globfree(&libraries);
}

/* The build makes gil_sites_fixture.c in several ways; NAME is one of them. */
static char *fixture_path(const char *name)
{
	const char *folder = getenv("GILTRACE_TEST_FIXTURES");
	char *path;

	if (!folder) {
		print_message("GILTRACE_TEST_FIXTURES is not set\n");
		skip();
	}
	path = gt_format("%s/libgil_sites_%s.so", folder, name);
	assert_non_null(path);
	if (access(path, R_OK) < 0) {
		print_message("%s is not made by this compiler\n", path);
		free(path);
		skip();
	}
	return path;
}

static void check_fixture(const char *name)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};
	_cleanup_free_ char *path = fixture_path(name);

	assert_int_equal(gt_elf_open(path, &elf), 0);
	assert_int_equal(gt_gil_sites_find(elf, &sites), 0);
	check_sites(elf, &sites, 1);
	assert_int_equal(sites.offsets[GT_GIL_SITE_TAKE].count, 1);
	check_functions(elf, &sites.offsets[GT_GIL_SITE_RETAKE], "fixture_evaluate", true);
	check_functions(elf, &sites.offsets[GT_GIL_SITE_RELEASE], "fixture_wake", false);
	/* In drop_gil, and in the function that it is inlined in. */
	assert_in_range(sites.offsets[GT_GIL_SITE_RELEASE].count, 2, 4);
	assert_in_range(sites.offsets[GT_GIL_SITE_SWITCHED].count, 2, 4);
}

static void test_calls_through_the_plt(void **state)
{
	(void)state;
	check_fixture("plt");
}

static void test_calls_through_the_got(void **state)
{
	(void)state;
	check_fixture("noplt");
}

static void test_calls_with_landing_pads(void **state)
{
	(void)state;
	check_fixture("endbr");
}

static void test_stripped_program_is_told(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	struct gt_gil_sites sites = {0};

	(void)state;
	if (gt_elf_open("/bin/true", &elf) < 0)
		skip();
	assert_int_equal(gt_gil_sites_find(elf, &sites), -ENODATA);
	assert_null(sites.found_by);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(gt_gil_site_name(GT_GIL_SITE_TAKE), "take");
	assert_string_equal(gt_gil_site_name(GT_GIL_SITE_RETAKE), "retake");
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		assert_non_null(gt_gil_site_name((enum gt_gil_site_kind)kind));
}

/* Any answer will do, but a sane one: sites, or a negative errno. */
static void search_in(int fd)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};
	_cleanup_free_ char *path = gt_format("/proc/self/fd/%d", fd);
	int r;

	assert_non_null(path);
	r = gt_elf_open(path, &elf);
	if (r == 0)
		r = gt_gil_sites_find(elf, &sites);
	assert_true(r <= 0);
	if (r < 0)
		assert_null(sites.found_by);
}

/* A copy in memory, to be damaged. */
static int copy_of(const char *path, size_t *ret_size)
{
	_cleanup_free_ char *content = NULL;
	int fd = memfd_create("damaged", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(gt_read_file(path, (size_t)256 << 20, &content, ret_size), 0);
	assert_int_equal(gt_write_all(fd, content, *ret_size), 0);
	return fd;
}

/* Damage makes messages by the hundred. */
static int silence(void)
{
	_cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int saved = dup(STDERR_FILENO);

	assert_true(null >= 0 && saved >= 0);
	assert_true(dup2(null, STDERR_FILENO) >= 0);
	return saved;
}

static void end_silence(int saved)
{
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
}

static void flip_byte(int fd, uint64_t offset, unsigned char mask)
{
	unsigned char byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= mask;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
}

static void check_damaged(const char *path, uint64_t step)
{
	static const unsigned char masks[] = {0x01, 0x80, 0xff};
	_cleanup_close_ int fd = -1;
	uint64_t section_table;
	size_t size = 0;
	int saved;

	fd = copy_of(path, &size);
	assert_int_equal(pread(fd, &section_table, 8, 40), 8);
	saved = silence();
	/* The headers of the file and its segments, then those of its sections. */
	for (uint64_t i = 0; i < 1024; i += step) {
		uint64_t offset = i < 512 ? i : section_table + (i - 512);

		for (size_t mask = 0; offset < size && mask < ARRAY_SIZE(masks); mask++) {
			flip_byte(fd, offset, masks[mask]);
			search_in(fd);
			flip_byte(fd, offset, masks[mask]);
		}
	}
	for (size_t left = size; left > 0; left = left / 8 * 7) {
		assert_int_equal(ftruncate(fd, (off_t)left), 0);
		search_in(fd);
	}
	end_silence(saved);
}

static void test_damaged_files_are_refused(void **state)
{
	_cleanup_free_ char *fixture = fixture_path("plt");
	glob_t libraries;

	(void)state;
	check_damaged(fixture, 3);
	if (find_libraries(&libraries)) {
		check_damaged(libraries.gl_pathv[0], 37);
		globfree(&libraries);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_interpreter_has_its_sites),
		cmocka_unit_test(test_calls_through_the_plt),
		cmocka_unit_test(test_calls_through_the_got),
		cmocka_unit_test(test_calls_with_landing_pads),
		cmocka_unit_test(test_stripped_program_is_told),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_damaged_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
