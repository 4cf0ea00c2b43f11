/* SPDX-License-Identifier: MIT */
#include "unwind/find_file.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/io.h"
#include "base/log.h"
#include "base/strings.h"

/*
 * RESULT of opening a file, and what was said about it: that is of interest only when someone
 * wonders about the frames.
 */
static int check_opened(int result, struct gt_log_capture *said, struct gt_elf *opened,
			const char *build_id, struct gt_elf **ret)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = opened;
	_cleanup_free_ char *text = gt_log_end_capture(said);

	if (text)
		gt_debug("%s", text);
	if (result == -ENOMEM)
		return -ENOMEM;
	if (result < 0)
		return -ENOENT;
	if (build_id[0] && strcmp(gt_elf_build_id(elf), build_id) != 0) {
		gt_debug("%s is not the file that was mapped: its build id is %s, not %s",
			 gt_elf_path(elf), gt_elf_build_id(elf), build_id);
		return -ENOENT;
	}
	*ret = GT_STEAL(elf);
	return 0;
}

/* Opens GIVEN_PATH if it is there and fits, and frees the string. */
static int try_file(char *given_path, const char *build_id, struct gt_elf **ret)
{
	_cleanup_free_ char *path = given_path;
	struct gt_elf *elf = NULL;
	struct gt_log_capture said;
	int r;

	if (!path)
		return gt_error_oom();
	if (access(path, F_OK) < 0)
		return -ENOENT;
	gt_log_start_capture(&said);
	r = gt_elf_open(path, &elf);
	return check_opened(r, &said, elf, build_id, ret);
}

/* The kernel has mapped it into us, too. Its section table is the last of it. */
static int try_vdso(const char *build_id, struct gt_elf **ret)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct gt_elf *elf = NULL;
	struct gt_log_capture said;
	int r;

	if (!header)
		return -ENOENT;
	gt_log_start_capture(&said);
	r = gt_elf_open_memory(header,
			       header->e_shoff + (size_t)header->e_shnum * header->e_shentsize,
			       "[vdso]", &elf);
	return check_opened(r, &said, elf, build_id, ret);
}

static int try_debuginfod(const char *build_id, struct gt_elf **ret)
{
	const char *folder = getenv("DEBUGINFOD_CACHE_PATH");

	if (folder && folder[0])
		return try_file(gt_format("%s/%s/executable", folder, build_id), build_id, ret);
	folder = getenv("XDG_CACHE_HOME");
	if (folder && folder[0])
		return try_file(gt_format("%s/debuginfod_client/%s/executable", folder, build_id),
				build_id, ret);
	folder = getenv("HOME");
	return try_file(gt_format("%s/.cache/debuginfod_client/%s/executable", folder ? folder : "",
				  build_id),
			build_id, ret);
}

/* perf record and perf buildid-cache keep files there. */
static int try_perf(const char *build_id, struct gt_elf **ret)
{
	const char *folder = getenv("HOME");

	return try_file(gt_format("%s/.debug/.build-id/%.2s/%s/elf", folder ? folder : "", build_id,
				  build_id + 2),
			build_id, ret);
}

/* Where files are by their build id alone. */
static int find_by_build_id(const struct gt_unwinder_spec *spec, const char *build_id,
			    struct gt_elf **ret)
{
	int r = -ENOENT;

	if (strlen(build_id) < 4)
		return r;
	if (spec->kept_files)
		r = try_file(gt_format("%s/%s", spec->kept_files, build_id), build_id, ret);
	if (r == -ENOENT)
		r = try_debuginfod(build_id, ret);
	return r == -ENOENT ? try_perf(build_id, ret) : r;
}

/* What is at the path of a file that was deleted is another one, if its build id does not tell. */
static int find_by_path(const struct gt_unwinder_spec *spec, const char *path, const char *build_id,
			struct gt_elf **ret)
{
	bool is_deleted = gt_string_ends_with(path, GT_DELETED_MARK);
	int length = (int)(strlen(path) - (is_deleted ? strlen(GT_DELETED_MARK) : 0));
	int r = -ENOENT;

	if (is_deleted && build_id[0] == '\0')
		return r;
	if (spec->root)
		r = try_file(gt_format("%s%.*s", spec->root, length, path), build_id, ret);
	return r == -ENOENT ? try_file(gt_format("%.*s", length, path), build_id, ret) : r;
}

int gt_find_code_file(const struct gt_unwinder_spec *spec, const char *path, const char *build_id,
		      struct gt_elf **ret)
{
	int r = -ENOENT;

	if (strcmp(path, "[vdso]") == 0)
		return try_vdso(build_id, ret);
	/* "//anon" is what no file is mapped to. */
	if (path[0] != '/' || path[1] == '/')
		return r;
	r = find_by_path(spec, path, build_id, ret);
	if (r == -ENOENT)
		r = find_by_build_id(spec, build_id, ret);
	if (r == -ENOENT)
		gt_debug("%s, as it was mapped, is not to be found", path);
	return r;
}
