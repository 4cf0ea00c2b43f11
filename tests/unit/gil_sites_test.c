/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/strings.h"
#include "base/json.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "python/gil_returns.h"
#include "python/gil_sites.h"
#include "python/runtime_offsets.h"

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

/* call *%rax and the like, whose target is not in the instruction. */
static bool is_call_through_register(const struct gt_elf *elf, uint64_t address)
{
	const unsigned char *bytes = gt_elf_bytes(elf, address, 3);

	assert_non_null(bytes);
	if (bytes[0] == 0x41)
		bytes++;
	return bytes[0] == 0xff && (bytes[1] & 0xf8) == 0xd0;
}

static void check_calls(const struct gt_elf *elf, const gt_gil_offsets *offsets, const char *name)
{
	gt_array_for_each (offsets, offset) {
		uint64_t next, address = address_of(elf, *offset);

		if (!is_call_through_register(elf, address))
			assert_true(is_import(elf, call_target(elf, address, &next), name));
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

/* The call that returns to OFFSET: five bytes long, or six through a word, or two or three. */
static uint64_t call_before(const struct gt_elf *elf, uint64_t offset)
{
	uint64_t next = address_of(elf, offset);

	for (uint64_t size = 2; size <= 7; size++) {
		const unsigned char *bytes = gt_elf_bytes(elf, next - size, size);

		assert_non_null(bytes);
		if ((size == 2 || (size == 3 && bytes[0] == 0x41)) &&
		    is_call_through_register(elf, next - size))
			return next - size;
		if ((size == 5 && bytes[0] == 0xe8) ||
		    (size == 6 && (bytes[0] == 0x67 || (bytes[0] == 0xff && bytes[1] == 0x15))))
			return next - size;
	}
	fail_msg("no call returns to %#" PRIx64, next);
	return 0;
}

static bool has_offset_of(const struct gt_elf *elf, const gt_gil_offsets *offsets, uint64_t address)
{
	gt_array_for_each (offsets, offset)
		if (address_of(elf, *offset) == address)
			return true;
	return false;
}

static bool has_offset_in(const struct gt_elf *elf, const gt_gil_offsets *offsets,
			  const struct gt_elf_function *function)
{
	gt_array_for_each (offsets, offset) {
		uint64_t address = address_of(elf, *offset);

		if (address >= function->start && address < function->end)
			return true;
	}
	return false;
}

/* What an agent looks for: each site but take, which it sees by the calls that take_gil starts
 * with. */
static void check_agent_calls(const struct gt_elf *elf, const struct gt_gil_sites *sites)
{
	static const struct {
		const char *name;
		enum gt_gil_site_kind site;
	} kinds[GT_GIL_CALL_KINDS] = {
		[GT_GIL_CALL_TAKE_LOCK] = {"pthread_mutex_lock", GT_GIL_SITE_TAKE},
		[GT_GIL_CALL_TAKE_WAIT] = {"pthread_cond_timedwait", GT_GIL_SITE_TAKE},
		[GT_GIL_CALL_ACQUIRED] = {"pthread_cond_signal", GT_GIL_SITE_ACQUIRED},
		[GT_GIL_CALL_RELEASE] = {"pthread_cond_signal", GT_GIL_SITE_RELEASE},
		[GT_GIL_CALL_SWITCHED] = {"pthread_mutex_unlock", GT_GIL_SITE_SWITCHED},
	};
	uint32_t counts[GT_GIL_CALL_KINDS] = {0};

	gt_array_for_each (&sites->calls, call) {
		uint64_t next, address = call_before(elf, call->return_offset);

		counts[call->kind]++;
		if (!is_call_through_register(elf, address))
			assert_true(is_import(elf, call_target(elf, address, &next),
					      kinds[call->kind].name));
		if (kinds[call->kind].site != GT_GIL_SITE_TAKE)
			assert_true(has_offset_of(elf, &sites->offsets[kinds[call->kind].site],
						  address));
		else
			assert_in_range(call->caller_offset, 8, 1024);
	}
	assert_in_range(counts[GT_GIL_CALL_TAKE_LOCK], sites->offsets[GT_GIL_SITE_TAKE].count, 3);
	assert_in_range(counts[GT_GIL_CALL_TAKE_WAIT], sites->offsets[GT_GIL_SITE_TAKE].count, 3);
	for (uint32_t kind = GT_GIL_CALL_ACQUIRED; kind < GT_GIL_CALL_KINDS; kind++)
		assert_int_equal(counts[kind], sites->offsets[kinds[kind].site].count);
}

static bool is_inside(const struct gt_elf *elf, const gt_elf_ranges *waits, uint64_t start,
		      uint64_t end)
{
	gt_array_for_each (waits, range) {
		uint64_t first = address_of(elf, range->start);

		if (first <= start && end <= first + (range->end - range->start))
			return true;
	}
	return false;
}

/* In order, apart from one another, and with take_gil's calls; the other ones are calls too. */
static void check_order_of_waits(const struct gt_elf *elf, const struct gt_gil_sites *sites)
{
	static const char *const names[] = {"pthread_mutex_lock", "pthread_cond_wait",
					    "pthread_mutex_unlock"};
	uint32_t counts[ARRAY_SIZE(names)] = {0};

	for (uint32_t i = 0; i < sites->waits.count; i++) {
		const struct gt_elf_range *range = &sites->waits.items[i];
		uint64_t next, address;

		assert_true(range->start < range->end);
		if (i > 0)
			assert_true(range[-1].end < range->start);
		if (range->end - range->start > 1)
			continue;
		address = call_before(elf, range->end);
		if (is_call_through_register(elf, address)) {
			counts[0]++;
			continue;
		}
		for (size_t name = 0; name < ARRAY_SIZE(names); name++)
			counts[name] +=
				is_import(elf, call_target(elf, address, &next), names[name]);
	}
	assert_true(counts[0] > 0);
	gt_array_for_each (&sites->calls, call) {
		uint64_t next = address_of(elf, call->return_offset);

		if (call->kind != GT_GIL_CALL_RELEASE)
			assert_true(is_inside(elf, &sites->waits, next - 1, next));
	}
}

/*
 * Symbols say the same: all of take_gil is in them, and else nothing but single bytes in functions
 * that let go of the GIL.
 */
static void check_waits(const struct gt_elf *elf, const struct gt_gil_sites *sites)
{
	gt_elf_functions functions = {0};

	check_order_of_waits(elf, sites);
	assert_int_equal(gt_elf_symbols_read(elf, &functions), 0);
	gt_array_for_each (&functions, function)
		if (gt_string_starts_with(function->name, "take_gil") &&
		    function->start < function->end)
			assert_true(is_inside(elf, &sites->waits, function->start, function->end));
	gt_array_for_each (&sites->waits, range) {
		uint64_t start = address_of(elf, range->start);
		uint32_t function = gt_elf_function_at(&functions, start);
		bool is_take;

		assert_true(function < functions.count);
		is_take = gt_string_starts_with(functions.items[function].name, "take_gil");
		assert_int_equal(is_take, range->end - range->start > 1);
		if (is_take)
			continue;
		assert_true(has_offset_in(elf, &sites->offsets[GT_GIL_SITE_RELEASE],
					  &functions.items[function]) ||
			    has_offset_in(elf, &sites->offsets[GT_GIL_SITE_SWITCHED],
					  &functions.items[function]));
	}
	gt_array_clear(&functions);
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
	check_agent_calls(elf, sites);
	check_waits(elf, sites);
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

static void find_sites(const struct gt_elf *elf, struct gt_gil_sites *ret)
{
	*ret = (struct gt_gil_sites){0};
	assert_int_equal(gt_gil_sites_find(elf, ret), 0);
}

static void check_same_sites(const struct gt_gil_sites *left, const struct gt_gil_sites *right)
{
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++) {
		const gt_gil_offsets *a = &left->offsets[kind], *b = &right->offsets[kind];

		assert_int_equal(a->count, b->count);
		for (uint32_t i = 0; i < a->count; i++)
			assert_int_equal(a->items[i], b->items[i]);
	}
	assert_int_equal(left->calls.count, right->calls.count);
	for (uint32_t i = 0; i < left->calls.count; i++) {
		assert_int_equal(left->calls.items[i].kind, right->calls.items[i].kind);
		assert_int_equal(left->calls.items[i].return_offset,
				 right->calls.items[i].return_offset);
		assert_int_equal(left->calls.items[i].caller_offset,
				 right->calls.items[i].caller_offset);
	}
	assert_int_equal(left->waits.count, right->waits.count);
	for (uint32_t i = 0; i < left->waits.count; i++) {
		assert_int_equal(left->waits.items[i].start, right->waits.items[i].start);
		assert_int_equal(left->waits.items[i].end, right->waits.items[i].end);
	}
}

/* Runs a program, its stdout to FD. False when there is none or it fails. */
static bool run(const char *const arguments[], int fd)
{
	posix_spawn_file_actions_t files;
	int status, r;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
	r = posix_spawnp(&pid, arguments[0], &files, NULL, (char *const *)arguments, environ);
	posix_spawn_file_actions_destroy(&files);
	if (r != 0) {
		print_message("cannot run %s: %s\n", arguments[0], strerror(r));
		return false;
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Without symbols the same is found, by the code alone. Skips where there is no strip. */
static void check_stripped_copy(const char *path)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL, *stripped = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0}, stripped_sites = {0};
	char copy[] = "/tmp/giltrace-test-XXXXXX";
	_cleanup_close_ int fd = mkstemp(copy);
	bool done;

	assert_true(fd >= 0);
	done = run((const char *const[]){"strip", "-o", copy, path, NULL}, STDERR_FILENO);
	if (done)
		assert_int_equal(gt_elf_open(copy, &stripped), 0);
	unlink(copy);
	if (!done)
		skip();
	assert_int_equal(gt_elf_open(path, &elf), 0);
	assert_false(gt_elf_is_stripped(elf));
	assert_true(gt_elf_is_stripped(stripped));
	find_sites(elf, &sites);
	find_sites(stripped, &stripped_sites);
	assert_string_equal(sites.found_by, "symbols");
	assert_string_equal(stripped_sites.found_by, "sites");
	check_same_sites(&sites, &stripped_sites);
}

/* Without .eh_frame the symbols give the ranges, and the same is found. */
static void check_without_frames(const char *path)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL, *changed = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0}, changed_sites = {0};
	_cleanup_free_ char *image = NULL;
	gt_elf_functions frames = {0};
	size_t size;
	char *name;

	assert_int_equal(gt_elf_open(path, &elf), 0);
	assert_int_equal(gt_read_file(path, (size_t)256 << 20, &image, &size), 0);
	for (char *at = image; (name = memmem(at, size - (size_t)(at - image), ".eh_frame", 10));
	     at = name + 1)
		name[1] = 'x';
	assert_int_equal(gt_elf_open_memory(image, size, "a changed copy", &changed), 0);
	assert_int_equal(gt_elf_frames_read(changed, &frames), 0);
	assert_int_equal(frames.count, 0);
	find_sites(elf, &sites);
	find_sites(changed, &changed_sites);
	check_same_sites(&sites, &changed_sites);
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

static void test_stripping_changes_nothing(void **state)
{
	glob_t libraries;

	(void)state;
	if (!find_libraries(&libraries))
		skip();
	for (size_t i = 0; i < libraries.gl_pathc; i++)
		check_stripped_copy(libraries.gl_pathv[i]);
	globfree(&libraries);
}

static void test_symbols_do_without_frames(void **state)
{
	glob_t libraries;

	(void)state;
	if (!find_libraries(&libraries))
		skip();
	for (size_t i = 0; i < libraries.gl_pathc; i++)
		check_without_frames(libraries.gl_pathv[i]);
	globfree(&libraries);
}

static void check_returns(const char *path)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0}, returns = {0};
	static const enum gt_gil_site_kind same[] = {GT_GIL_SITE_TAKE, GT_GIL_SITE_RETAKE};
	static const enum gt_gil_site_kind ends[] = {GT_GIL_SITE_ACQUIRED, GT_GIL_SITE_SWITCHED};

	assert_int_equal(gt_elf_open(path, &elf), 0);
	find_sites(elf, &sites);
	assert_int_equal(gt_gil_returns_find(elf, &returns), 0);
	assert_string_equal(returns.found_by, "returns");
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		const gt_gil_offsets *a = &sites.offsets[same[i]], *b = &returns.offsets[same[i]];

		assert_int_equal(a->count, b->count);
		for (uint32_t j = 0; j < a->count; j++)
			assert_int_equal(a->items[j], b->items[j]);
	}
	gt_array_for_each (&sites.waits, range) {
		uint64_t start = address_of(elf, range->start);

		/* Of drop_gil nothing is known then. */
		assert_int_equal(
			is_inside(elf, &returns.waits, start, start + (range->end - range->start)),
			range->end - range->start > 1);
	}
	check_functions(elf, &returns.offsets[GT_GIL_SITE_ACQUIRED], "take_gil", true);
	check_functions(elf, &returns.offsets[GT_GIL_SITE_RELEASE], "drop_gil", true);
	check_functions(elf, &returns.offsets[GT_GIL_SITE_SWITCHED], "drop_gil", true);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		gt_array_for_each (&returns.offsets[ends[i]], offset) {
			const unsigned char *bytes = gt_elf_bytes(elf, address_of(elf, *offset), 1);

			/* ret */
			assert_int_equal(bytes[0], 0xc3);
		}
	}
}

static void test_returns(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	struct gt_gil_sites sites = {0};
	glob_t libraries;

	(void)state;
	if (gt_elf_open("/bin/true", &elf) == 0)
		assert_int_equal(gt_gil_returns_find(elf, &sites), -ENODATA);
	if (!find_libraries(&libraries))
		skip();
	for (size_t i = 0; i < libraries.gl_pathc; i++)
		check_returns(libraries.gl_pathv[i]);
	globfree(&libraries);
}

/* What can be said of sites that nobody else names. */
static void check_stripped(const struct gt_elf *elf, unsigned int minor)
{
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};
	const gt_gil_offsets *offsets = sites.offsets;
	bool free_threaded = true;

	find_sites(elf, &sites);
	print_message(
		"%s: %s, %u take, %u acquired, %u release, %u switched, %u retake, %u waits\n",
		gt_elf_path(elf), sites.found_by, offsets[GT_GIL_SITE_TAKE].count,
		offsets[GT_GIL_SITE_ACQUIRED].count, offsets[GT_GIL_SITE_RELEASE].count,
		offsets[GT_GIL_SITE_SWITCHED].count, offsets[GT_GIL_SITE_RETAKE].count,
		sites.waits.count);
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		check_order(&offsets[kind]);
	assert_int_equal(offsets[GT_GIL_SITE_TAKE].count, 1);
	assert_in_range(offsets[GT_GIL_SITE_ACQUIRED].count, 1, 3);
	assert_in_range(offsets[GT_GIL_SITE_RELEASE].count, 1, 13);
	assert_in_range(offsets[GT_GIL_SITE_SWITCHED].count, 1, 26);
	assert_int_equal(offsets[GT_GIL_SITE_RETAKE].count, minor <= 12 ? 1 : 0);
	check_calls(elf, &offsets[GT_GIL_SITE_ACQUIRED], "pthread_cond_signal");
	check_calls(elf, &offsets[GT_GIL_SITE_RELEASE], "pthread_cond_signal");
	check_calls(elf, &offsets[GT_GIL_SITE_SWITCHED], "pthread_mutex_unlock");
	check_agent_calls(elf, &sites);
	check_order_of_waits(elf, &sites);
	assert_int_equal(gt_python_is_free_threaded(elf, &free_threaded), 0);
	assert_int_equal(free_threaded, strstr(gt_elf_path(elf), "3.13t") != NULL);
}

static uint32_t check_installed(const char *pattern)
{
	uint32_t checked = 0;
	glob_t programs;

	if (glob(pattern, 0, NULL, &programs) != 0)
		return 0;
	for (size_t i = 0; i < programs.gl_pathc; i++) {
		_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
		const char *path = programs.gl_pathv[i];
		unsigned int minor;
		int length = 0;

		/* python3.11, but not python3.11-config. */
		if (sscanf(strrchr(path, '/'), "/python3.%u%n", &minor, &length) != 1 ||
		    strrchr(path, '/')[length] != '\0' || !gt_elf_is_elf(path))
			continue;
		assert_int_equal(gt_elf_open(path, &elf), 0);
		if (!gt_elf_exports(elf, "PyEval_RestoreThread"))
			continue;
		check_stripped(elf, minor);
		checked++;
	}
	globfree(&programs);
	return checked;
}

static char *path_below(const char *variable, const char *fallback, const char *rest)
{
	const char *folder = getenv(variable), *home = getenv("HOME");
	char *path = folder && folder[0] ? gt_format("%s/%s", folder, rest)
					 : gt_format("%s/%s/%s", home ? home : "", fallback, rest);

	assert_non_null(path);
	return path;
}

static void test_stripped_interpreters(void **state)
{
	_cleanup_free_ char *roots =
		path_below("XDG_CACHE_HOME", ".cache", "giltrace/roots/*/usr/bin/python3.*");

	(void)state;
	if (check_installed("/usr/bin/python3.*") + check_installed(roots) == 0) {
		print_message("no python3 in /usr/bin, and none in %s\n", roots);
		free(GT_STEAL(roots)); /* skip() leaves without a cleanup */
		skip();
	}
}

/* Interpreters that are kept packed, as NAME.xz, in a folder of the test's user. */
static void test_packed_interpreters(void **state)
{
	const char *folder = getenv("GILTRACE_SHARED_PYTHONS");
	_cleanup_free_ char *pattern = gt_format("%s/python3.*.xz", folder ? folder : "");
	glob_t packed;

	(void)state;
	assert_non_null(pattern);
	if (glob(pattern, 0, NULL, &packed) != 0) {
		print_message("no %s (GILTRACE_SHARED_PYTHONS names the folder)\n", pattern);
		free(GT_STEAL(pattern));
		skip();
	}
	for (size_t i = 0; i < packed.gl_pathc; i++) {
		_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
		_cleanup_close_ int fd = memfd_create("python", MFD_CLOEXEC);
		const char *path = packed.gl_pathv[i];
		_cleanup_free_ char *image = NULL;
		unsigned int minor;
		size_t size;

		assert_true(fd >= 0);
		if (!run((const char *const[]){"xz", "-dc", path, NULL}, fd))
			skip();
		assert_int_equal(sscanf(strrchr(path, '/'), "/python3.%u", &minor), 1);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(gt_read_fd(fd, (size_t)256 << 20, &image, &size), 0);
		assert_int_equal(gt_elf_open_memory(image, size, path, &elf), 0);
		check_stripped(elf, minor);
	}
	globfree(&packed);
}

static void check_expectation(const struct gt_elf *elf, const json_t *expectation)
{
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};

	find_sites(elf, &sites);
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_KINDS; kind++) {
		const json_t *addresses = json_object_get(expectation, gt_gil_site_name(kind));
		const gt_gil_offsets *offsets = &sites.offsets[kind];

		assert_int_equal(offsets->count, json_array_size(addresses));
		for (uint32_t i = 0; i < offsets->count; i++)
			assert_int_equal(address_of(elf, offsets->items[i]),
					 strtoull(json_string_value(json_array_get(addresses, i)),
						  NULL, 16));
	}
}

/*
 * The file says which builds its addresses are of; they were checked by reading what llvm-objdump
 * and readelf print.
 */
static void test_aarch64(void **state)
{
	const char *data = getenv("GILTRACE_TEST_DATA");
	_cleanup_free_ char *path = gt_format("%s/gil-sites-aarch64.json", data ? data : "");
	json_t *expectations = json_load_file(path, 0, NULL), *expectation;
	uint32_t checked = 0;
	size_t i;

	(void)state;
	assert_true(json_is_array(expectations));
	json_array_foreach(expectations, i, expectation)
	{
		_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
		_cleanup_free_ char *folder =
			path_below("XDG_CACHE_HOME", ".cache", "giltrace/aarch64");
		_cleanup_free_ char *file = gt_format(
			"%s/%s", folder, json_string_value(json_object_get(expectation, "file")));

		if (!gt_elf_is_elf(file)) {
			print_message("%s is not there: scripts/get-aarch64-pythons fetches it\n",
				      file);
			continue;
		}
		assert_int_equal(gt_elf_open(file, &elf), 0);
		if (strcmp(gt_elf_build_id(elf),
			   json_string_value(json_object_get(expectation, "build_id"))) != 0) {
			print_message("%s is not %s: no addresses are known\n", file,
				      json_string_value(json_object_get(expectation, "package")));
			continue;
		}
		check_expectation(elf, expectation);
		checked++;
	}
	json_decref(expectations);
	if (checked == 0) {
		free(GT_STEAL(path)); /* skip() leaves without a cleanup */
		skip();
	}
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
	check_stripped_copy(path);
	check_without_frames(path);
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

static void test_function_in_two_parts(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_free_ char *path = fixture_path("split");
	gt_elf_functions functions = {0};
	bool has_part = false;

	(void)state;
	assert_int_equal(gt_elf_open(path, &elf), 0);
	assert_int_equal(gt_elf_symbols_read(elf, &functions), 0);
	gt_array_for_each (&functions, function)
		has_part = has_part || strcmp(function->name, "take_gil.cold") == 0;
	gt_array_clear(&functions);
	assert_true(has_part);
	check_fixture("split");
}

static void test_program_without_a_gil_is_told(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	struct gt_gil_sites sites = {0};

	(void)state;
	if (gt_elf_open("/bin/true", &elf) < 0)
		skip();
	assert_int_equal(gt_gil_sites_find(elf, &sites), -ENODATA);
	assert_null(sites.found_by);
}

/* The C library and a queue beside it change nothing. Stripped, nobody can tell who is who. */
static void test_program_without_libraries(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};
	_cleanup_free_ char *path = fixture_path("static");

	(void)state;
	assert_int_equal(gt_elf_open(path, &elf), 0);
	find_sites(elf, &sites);
	check_sites(elf, &sites, 1);
	assert_int_equal(sites.offsets[GT_GIL_SITE_TAKE].count, 1);
	check_functions(elf, &sites.offsets[GT_GIL_SITE_RELEASE], "queue_", false);
	assert_string_equal(sites.found_by, "symbols");
}

/* A folder with a stripped copy of the library LIBRARY, and its symbols in a file beside it. */
static bool split_debug(const char *library, const char *folder)
{
	_cleanup_free_ char *stripped = gt_format("%s/library.so", folder);
	_cleanup_free_ char *debug = gt_format("%s/library.debug", folder);
	_cleanup_free_ char *link = gt_format("--add-gnu-debuglink=%s", debug);

	assert_true(stripped && debug && link);
	return run((const char *const[]){"objcopy", "--only-keep-debug", library, debug, NULL},
		   STDERR_FILENO) &&
	       run((const char *const[]){"objcopy", "--strip-all", link, library, stripped, NULL},
		   STDERR_FILENO);
}

static void check_found_by(const char *path, const char *found_by)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};

	assert_int_equal(gt_elf_open(path, &elf), 0);
	assert_true(gt_elf_is_stripped(elf));
	find_sites(elf, &sites);
	assert_string_equal(sites.found_by, found_by);
}

static void test_symbols_in_another_file(void **state)
{
	char folder[] = "/tmp/giltrace-test-XXXXXX";
	_cleanup_free_ char *fixture = fixture_path("plt"), *stripped = NULL, *debug = NULL;
	_cleanup_free_ char *cache = NULL, *cached = NULL;
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	struct stat status;

	(void)state;
	assert_non_null(mkdtemp(folder));
	stripped = gt_format("%s/library.so", folder);
	debug = gt_format("%s/library.debug", folder);
	if (!split_debug(fixture, folder)) {
		rmdir(folder);
		skip();
	}
	check_found_by(stripped, "debuglink");
	/* Not when it has changed since. */
	assert_int_equal(stat(debug, &status), 0);
	assert_int_equal(truncate(debug, status.st_size + 1), 0);
	check_found_by(stripped, "sites");
	assert_int_equal(truncate(debug, status.st_size), 0);
	check_found_by(stripped, "debuglink");
	/* By the build-id, where debuginfod's client keeps it. */
	assert_int_equal(gt_elf_open(stripped, &elf), 0);
	cache = gt_format("%s/%s", folder, gt_elf_build_id(elf));
	cached = gt_format("%s/debuginfo", cache);
	assert_int_equal(mkdir(cache, 0700), 0);
	assert_int_equal(rename(debug, cached), 0);
	check_found_by(stripped, "sites");
	assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", folder, 1), 0);
	check_found_by(stripped, "debuglink");
	assert_int_equal(unsetenv("DEBUGINFOD_CACHE_PATH"), 0);
	assert_int_equal(unlink(cached) | rmdir(cache) | unlink(stripped) | rmdir(folder), 0);
}

/* What a search of CHANGED, a copy of a fixture, gives. */
static int search_changed(const void *changed, size_t size)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_gil_sites_clear) struct gt_gil_sites sites = {0};

	assert_int_equal(gt_elf_open_memory(changed, size, "a changed copy", &elf), 0);
	return gt_gil_sites_find(elf, &sites);
}

static void test_files_without_code(void **state)
{
	_cleanup_free_ char *path = fixture_path("plt"), *image = NULL;
	Elf64_Shdr *sections;
	Elf64_Ehdr *header;
	size_t size;

	(void)state;
	assert_int_equal(gt_read_file(path, 1 << 20, &image, &size), 0);
	header = (Elf64_Ehdr *)image;
	sections = (Elf64_Shdr *)(image + header->e_shoff);
	assert_int_equal(search_changed(image, size), 0);
	header->e_machine = EM_RISCV;
	assert_int_equal(search_changed(image, size), -EOPNOTSUPP);
	/* Neither a mistake nor a crash: there is no code of this machine in it. */
	header->e_machine = EM_AARCH64;
	assert_int_equal(search_changed(image, size), -ENODATA);
	header->e_machine = EM_X86_64;
	for (uint32_t i = 0; i < header->e_shnum; i++)
		sections[i].sh_flags &= ~(uint64_t)SHF_EXECINSTR;
	assert_int_equal(search_changed(image, size), -ENODATA);
	header->e_shnum = 0;
	header->e_shoff = 0;
	header->e_shstrndx = 0;
	assert_int_equal(search_changed(image, size), -ENODATA);
}

static void test_free_threaded(void **state)
{
	static const struct {
		const char *cookie;
		uint64_t version, free_threaded;
		int result;
		bool expected;
	} cases[] = {
		{"xdebugpy", 0x030d05f0, 0, 0, false},
		{"xdebugpy", 0x030d05f0, 1, 0, true},
		{"xdebugpy", 0x030f00a1, 1, 0, true},
		{"xdebugpy", 0x030d05f0, 2, -EBADMSG, 0},
		{"xdebugpy", 0x030c0000, 1, -EBADMSG, false},
		{"something", 0, 1, 0, false},
	};
	_cleanup_free_ char *path = fixture_path("plt"), *image = NULL;
	uint64_t address, section_size;
	size_t size;
	char *name;

	(void)state;
	assert_int_equal(gt_read_file(path, 1 << 20, &image, &size), 0);
	/* A section that is large enough takes the name. */
	name = memmem(image, size, ".eh_frame_hdr", 14);
	assert_non_null(name);
	strcpy(name, ".PyRuntime");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
		bool free_threaded = !cases[i].expected;
		unsigned char *bytes;

		assert_int_equal(gt_elf_open_memory(image, size, "a changed copy", &elf), 0);
		bytes = (unsigned char *)(uintptr_t)gt_elf_section_bytes(elf, ".PyRuntime",
									 &address, &section_size);
		assert_non_null(bytes);
		memcpy(bytes, cases[i].cookie, 8);
		memcpy(bytes + 8, &cases[i].version, 8);
		memcpy(bytes + 16, &cases[i].free_threaded, 8);
		assert_int_equal(gt_python_is_free_threaded(elf, &free_threaded), cases[i].result);
		if (cases[i].result == 0)
			assert_int_equal(free_threaded, cases[i].expected);
	}
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
		cmocka_unit_test(test_stripping_changes_nothing),
		cmocka_unit_test(test_symbols_do_without_frames),
		cmocka_unit_test(test_stripped_interpreters),
		cmocka_unit_test(test_packed_interpreters),
		cmocka_unit_test(test_aarch64),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_calls_through_the_plt),
		cmocka_unit_test(test_calls_through_the_got),
		cmocka_unit_test(test_calls_with_landing_pads),
		cmocka_unit_test(test_function_in_two_parts),
		cmocka_unit_test(test_program_without_a_gil_is_told),
		cmocka_unit_test(test_program_without_libraries),
		cmocka_unit_test(test_symbols_in_another_file),
		cmocka_unit_test(test_files_without_code),
		cmocka_unit_test(test_free_threaded),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_damaged_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
