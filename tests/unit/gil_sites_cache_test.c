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
#include <ftw.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/macros.h"
#include "elf/elf_file.h"
#include "python/gil_sites_cache.h"

struct fixture {
	char folder[32]; /* the user's cache */
	char *path;	 /* of the cached file */
	struct gt_elf *elf;
	struct gt_gil_sites sites; /* as they are found */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const char *folder = getenv("GILTRACE_TEST_FIXTURES");
	_cleanup_free_ char *library = NULL;

	if (!fixture || !folder)
		return -1;
	strcpy(fixture->folder, "/tmp/giltrace-test-XXXXXX");
	library = gt_format("%s/libgil_sites_plt.so", folder);
	if (!mkdtemp(fixture->folder) || setenv("XDG_CACHE_HOME", fixture->folder, 1) < 0 ||
	    !library || gt_elf_open(library, &fixture->elf) < 0 ||
	    gt_gil_sites_find(fixture->elf, &fixture->sites) < 0)
		return -1;
	fixture->path = gt_format("%s/giltrace/sites/%s.json", fixture->folder,
				  gt_elf_build_id(fixture->elf));
	*state = fixture;
	return fixture->path ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	unsetenv("XDG_CACHE_HOME");
	nftw(fixture->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	gt_gil_sites_clear(&fixture->sites);
	gt_elf_close(fixture->elf);
	free(fixture->path);
	free(fixture);
	return 0;
}

/* Finds the sites, through the cache: they must be right in any case. */
static void find(const struct fixture *fixture)
{
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};

	assert_int_equal(gt_gil_sites_find_cached(fixture->elf, &sites), 0);
	assert_string_equal(sites.found_by, fixture->sites.found_by);
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++) {
		const gt_gil_offsets *found = &sites.offsets[kind];
		const gt_gil_offsets *expected = &fixture->sites.offsets[kind];

		assert_int_equal(found->count, expected->count);
		assert_memory_equal(found->items, expected->items,
				    found->count * sizeof(*found->items));
	}
	assert_int_equal(sites.waits.count, fixture->sites.waits.count);
	assert_memory_equal(sites.waits.items, fixture->sites.waits.items,
			    sites.waits.count * sizeof(*sites.waits.items));
}

static void read_cached(const struct fixture *fixture, char **ret)
{
	assert_int_equal(gt_read_file(fixture->path, 1 << 20, ret, NULL), 0);
}

static void write_cached(const struct fixture *fixture, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(fixture->path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

/* TEXT with OLD replaced by NEW. */
static char *replaced(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);

	assert_non_null(at);
	return gt_format("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

static void test_hit(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};
	_cleanup_free_ char *text = NULL, *changed = NULL;
	struct stat status;

	find(fixture);
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	find(fixture);
	/* It is not only written, but also read. */
	read_cached(fixture, &text);
	changed = replaced(text, "\"symbols\"", "\"debuglink\"");
	write_cached(fixture, changed);
	assert_int_equal(gt_gil_sites_find_cached(fixture->elf, &sites), 0);
	assert_string_equal(sites.found_by, "debuglink");
}

static void check_rewritten(const struct fixture *fixture, const char *valid, const char *broken)
{
	_cleanup_free_ char *text = NULL;

	write_cached(fixture, broken);
	find(fixture);
	read_cached(fixture, &text);
	assert_string_equal(text, valid);
}

static void test_what_does_not_fit_is_rewritten(void **state)
{
	static const char *const changes[][2] = {
		{"\"giltrace_sites\": ", "\"giltrace_sites\": 9"},
		{"\"size\": ", "\"size\": 1"},
		{"\"build_id\": \"", "\"build_id\": \"0"},
		{"\"symbols\"", "\"somebody\""},
		{"\"symbols\"", "17"},
		{"\"code\": ", "\"code\": 1"},
		{"\"take\"", "\"tike\""},
		{"\"take\": [", "\"take\": [ -5,"},
		{"\"take\": [", "\"take\": [ 1e3,"},
		{"\"take\": [", "\"take\": [ 9999999999999,"},
		{"\"release\": [", "\"release\": [], \"more\": ["},
		/* Twice the same. */
		{"\"retake\": [", "\"retake\": [ 4096, 4096,"},
		{"\"waits\": [", "\"waits\": [], \"more\": ["},
		{"\"waits\": [", "\"waits\": [ 4096,"},
		{"\"waits\": [", "\"waits\": [ [4096, 4096],"},
		{"\"waits\": [", "\"waits\": [ [9999999999999, 9999999999999],"},
		/* Out of order. */
		{"\"waits\": [", "\"waits\": [ [4096, 1000000],"},
		{"{", "["},
	};
	struct fixture *fixture = *state;
	_cleanup_free_ char *valid = NULL;

	find(fixture);
	read_cached(fixture, &valid);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_free_ char *broken = replaced(valid, changes[i][0], changes[i][1]);

		assert_non_null(broken);
		check_rewritten(fixture, valid, broken);
	}
	check_rewritten(fixture, valid, "");
	for (size_t length = strlen(valid); length > 0; length /= 2) {
		_cleanup_free_ char *cut = strndup(valid, length - 1);

		assert_non_null(cut);
		if (length < strlen(valid))
			check_rewritten(fixture, valid, cut);
	}
}

/* The file that a link leads to is neither read nor written. */
static void test_links_are_not_followed(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_free_ char *victim = gt_format("%s/victim", fixture->folder), *text = NULL;
	_cleanup_free_ char *folder = gt_format("%s/giltrace", fixture->folder);
	_cleanup_free_ char *elsewhere = gt_format("%s/elsewhere", fixture->folder);
	_cleanup_fclose_ FILE *file = NULL;
	struct stat status;

	assert_true(victim && folder && elsewhere);
	find(fixture);
	assert_int_equal(unlink(fixture->path), 0);
	file = fopen(victim, "we");
	assert_non_null(file);
	assert_true(fputs("precious", file) >= 0 && fflush(file) == 0);
	assert_int_equal(symlink(victim, fixture->path), 0);
	find(fixture);
	assert_int_equal(gt_read_file(victim, 100, &text, NULL), 0);
	assert_string_equal(text, "precious");
	/* The link is gone, a file is in its place. */
	assert_int_equal(lstat(fixture->path, &status), 0);
	assert_true(S_ISREG(status.st_mode));

	assert_int_equal(rename(folder, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, folder), 0);
	assert_int_equal(unlink(fixture->path), 0);
	find(fixture);
	assert_int_equal(stat(fixture->path, &status), -1);
}

static void test_folders_of_others_are_left_alone(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	if (geteuid() != 0) {
		print_message("only root can make a folder that belongs to another user\n");
		skip();
	}
	assert_int_equal(chown(fixture->folder, 1, 1), 0);
	find(fixture);
	assert_int_equal(stat(fixture->path, &status), -1);
	assert_int_equal(errno, ENOENT);
}

static void test_no_cache_to_be_had(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(setenv("XDG_CACHE_HOME", "/dev/null", 1), 0);
	find(fixture);
	assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
	find(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_does_not_fit_is_rewritten, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_links_are_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_folders_of_others_are_left_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_no_cache_to_be_had, setup, teardown),
	};

	if (!getenv("GILTRACE_TEST_FIXTURES")) {
		fputs("GILTRACE_TEST_FIXTURES is not set\n", stderr);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
