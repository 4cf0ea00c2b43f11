/* SPDX-License-Identifier: MIT */
#include "python/gil_sites_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "elf/elf_file.h"
#include "python/gil_sites_json.h"

/* To be raised whenever the search may find other sites than before. */
#define CACHE_VERSION 4

#define MAX_FILE_BYTES 65536
#define MAX_SITES 1024

static const char *const found_by_names[] = {"symbols", "debuglink", "sites"};

static bool is_own_folder(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/* Opens the folder NAME in PARENT, and makes it when it is missing. -1 when it cannot be used. */
static int open_folder(int parent, const char *name)
{
	_cleanup_close_ int fd = -1;

	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && is_own_folder(fd) ? GT_STEAL_FD(fd) : -1;
}

/* The folder that others have named may be reached by a link: whoever owns it has made that. */
static int open_given_folder(const char *path)
{
	_cleanup_close_ int fd = -1;

	if (path[0] != '/')
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && is_own_folder(fd) ? GT_STEAL_FD(fd) : -1;
}

static int open_user_cache(void)
{
	const char *folder = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	_cleanup_close_ int home_fd = -1;
	_cleanup_free_ char *path = NULL;

	if (folder && folder[0])
		return open_given_folder(folder);
	home_fd = open_given_folder(home ? home : "");
	if (home_fd < 0 || (mkdirat(home_fd, ".cache", 0700) < 0 && errno != EEXIST))
		return -1;
	path = gt_format("%s/.cache", home);
	return path ? open_given_folder(path) : -1;
}

static int open_cache(void)
{
	_cleanup_close_ int user = open_user_cache(), own = -1;

	if (user < 0)
		return -1;
	own = open_folder(user, "giltrace");
	return own < 0 ? -1 : open_folder(own, "sites");
}

static bool read_offsets(const struct gt_elf *elf, const json_t *array, gt_gil_offsets *offsets)
{
	if (!json_is_array(array) || json_array_size(array) > MAX_SITES)
		return false;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *value = json_array_get(array, i);
		uint64_t *offset, address;

		if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		    !gt_elf_offset_to_address(elf, (uint64_t)json_integer_value(value), &address))
			return false;
		offset = gt_array_push(offsets);
		if (!offset)
			return false;
		*offset = (uint64_t)json_integer_value(value);
		if (i > 0 && offset[0] <= offset[-1])
			return false;
	}
	return true;
}

static uint32_t add_to_checksum(const struct gt_elf *elf, uint64_t offset, uint32_t checksum)
{
	uint64_t address, size = 0;
	const void *code = NULL;

	if (gt_elf_offset_to_address(elf, offset, &address))
		code = gt_elf_bytes_left(elf, address, &size);
	if (!code)
		return checksum;
	return (uint32_t)crc32_z(checksum, code, (size_t)GT_MIN(size, UINT64_C(16)));
}

/*
 * Of the code at all sites: a build-id is no proof, tools edit files in place and leave it, and a
 * probe in the middle of an instruction breaks the program.
 */
static uint32_t code_checksum(const struct gt_elf *elf, const struct gt_gil_sites *sites)
{
	uint32_t checksum = 0;

	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		gt_array_for_each (&sites->offsets[kind], offset)
			checksum = add_to_checksum(elf, *offset, checksum);
	gt_array_for_each (&sites->waits, range)
		checksum = add_to_checksum(elf, range->start, checksum);
	return checksum;
}

static const char *known_found_by(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(found_by_names); i++)
		if (strcmp(found_by_names[i], name) == 0)
			return found_by_names[i];
	return NULL;
}

static bool has_number(const json_t *object, const char *key, uint64_t number)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) && json_integer_value(value) == (json_int_t)number;
}

/* An agent only looks for them: what is wrong there is not seen, and breaks nothing. */
static bool read_calls(const struct gt_elf *elf, const json_t *array, gt_gil_call_sites *calls)
{
	if (json_array_size(array) > MAX_SITES || !gt_gil_calls_read_json(array, calls))
		return false;
	gt_array_for_each (calls, call) {
		uint64_t address;

		if (!gt_elf_offset_to_address(elf, call->return_offset, &address) ||
		    call->caller_offset % 8 != 0)
			return false;
	}
	return true;
}

/* Each in the file, and in one piece. */
static bool read_waits(const struct gt_elf *elf, const json_t *array, gt_elf_ranges *waits)
{
	if (json_array_size(array) > MAX_SITES || !gt_gil_waits_read_json(array, waits) ||
	    waits->count == 0)
		return false;
	gt_array_for_each (waits, range) {
		uint64_t first, last;

		if (!gt_elf_offset_to_address(elf, range->start, &first) ||
		    !gt_elf_offset_to_address(elf, range->end - 1, &last) ||
		    last - first != range->end - 1 - range->start)
			return false;
	}
	return true;
}

static bool read_sites(const struct gt_elf *elf, const json_t *object, struct gt_gil_sites *sites)
{
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_KINDS; kind++) {
		const json_t *offsets = json_object_get(object, gt_gil_site_name(kind));

		if (!read_offsets(elf, offsets, &sites->offsets[kind]) ||
		    (sites->offsets[kind].count == 0 && kind != GT_GIL_SITE_RETAKE))
			return false;
	}
	return read_waits(elf, json_object_get(object, "waits"), &sites->waits) &&
	       read_calls(elf, json_object_get(object, "calls"), &sites->calls);
}

/* All that is true of sites that were found is true of RET, or false is returned. */
static bool read_json(const struct gt_elf *elf, const json_t *object, struct gt_gil_sites *ret)
{
	const char *build_id = json_string_value(json_object_get(object, "build_id"));
	struct gt_gil_sites sites = {0};

	if (!has_number(object, "giltrace_sites", CACHE_VERSION) ||
	    !has_number(object, "size", gt_elf_size(elf)) || !build_id ||
	    strcmp(build_id, gt_elf_build_id(elf)) != 0)
		return false;
	sites.found_by = known_found_by(json_string_value(json_object_get(object, "found_by")));
	if (!sites.found_by || !read_sites(elf, object, &sites) ||
	    !has_number(object, "code", code_checksum(elf, &sites))) {
		gt_gil_sites_clear(&sites);
		return false;
	}
	*ret = sites;
	return true;
}

static bool read_cached(const struct gt_elf *elf, int folder, const char *name,
			struct gt_gil_sites *ret)
{
	_cleanup_close_ int fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	struct stat status;
	json_t *object;
	size_t size;
	bool valid;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_uid != geteuid() || gt_read_fd(fd, MAX_FILE_BYTES, &text, &size) < 0)
		return false;
	object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	valid = object && read_json(elf, object, ret);
	json_decref(object);
	gt_debug("%s sites of %s from the cache", valid ? "took" : "refused", gt_elf_path(elf));
	return valid;
}

static json_t *sites_json(const struct gt_elf *elf, const struct gt_gil_sites *sites)
{
	json_t *object = json_object();

	gt_json_set(&object, "giltrace_sites", gt_json_integer(CACHE_VERSION));
	gt_json_set(&object, "build_id", gt_json_text(gt_elf_build_id(elf)));
	gt_json_set(&object, "size", gt_json_integer(gt_elf_size(elf)));
	gt_json_set(&object, "found_by", gt_json_text(sites->found_by));
	gt_json_set(&object, "code", gt_json_integer(code_checksum(elf, sites)));
	gt_gil_sites_set_json(&object, sites);
	gt_json_set(&object, "calls", gt_gil_calls_json(&sites->calls));
	gt_json_set(&object, "waits", gt_gil_waits_json(&sites->waits));
	return object;
}

static int write_file(int folder, const char *name, const char *text)
{
	_cleanup_close_ int fd =
		openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : gt_write_all(fd, text, strlen(text));
}

/* Whoever reads it meanwhile sees the old file or the new one. */
static int replace_file(int folder, const char *name, const char *text)
{
	_cleanup_free_ char *new_name = gt_format(".%s.%d", name, (int)getpid());
	int r;

	if (!new_name)
		return -ENOMEM;
	/* Of a process that died, with the same number. */
	(void)unlinkat(folder, new_name, 0);
	r = write_file(folder, new_name, text);
	if (r >= 0 && renameat(folder, new_name, folder, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(folder, new_name, 0);
	return r;
}

/* The run goes on without a cache. */
static void write_cached(const struct gt_elf *elf, int folder, const char *name,
			 const struct gt_gil_sites *sites)
{
	json_t *object = sites_json(elf, sites);
	_cleanup_free_ char *text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
	int r = text ? replace_file(folder, name, text) : -ENOMEM;

	json_decref(object);
	if (r < 0)
		gt_debug_errno(r, "cannot keep the sites of %s", gt_elf_path(elf));
}

int gt_gil_sites_find_cached(const struct gt_elf *elf, struct gt_gil_sites *ret)
{
	_cleanup_close_ int folder = -1;
	_cleanup_free_ char *name = NULL;
	struct gt_gil_sites sites = {0};
	int r;

	if (gt_elf_build_id(elf)[0]) {
		name = gt_format("%s.json", gt_elf_build_id(elf));
		if (!name)
			return gt_error_oom();
		folder = open_cache();
	}
	if (folder >= 0 && read_cached(elf, folder, name, ret))
		return 0;
	r = gt_gil_sites_find(elf, &sites);
	if (r < 0)
		return r;
	if (folder >= 0)
		write_cached(elf, folder, name, &sites);
	*ret = sites;
	return 0;
}
