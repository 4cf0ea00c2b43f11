/* SPDX-License-Identifier: MIT */
/*
 * Where the symbols of a stripped file may be: distributions put them into a file of their own,
 * which is found by the build-id, or by the name and checksum in .gnu_debuglink.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/io.h"
#include "base/log.h"
#include "elf/elf_internal.h"

#define DEBUG_FOLDER "/usr/lib/debug"

/*
 * Opens GIVEN_PATH if there is such a file, and frees the string. CHECKSUM may be NULL. Without
 * one, the file must have the build-id of ELF; with one, it must not have another.
 */
static int try_file(const struct gt_elf *elf, char *given_path, const uint32_t *checksum,
		    struct gt_elf **ret)
{
	_cleanup_(gt_elf_closep) struct gt_elf *file = NULL;
	_cleanup_free_ char *path = given_path;
	struct stat status;

	if (!path)
		return gt_error_oom();
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return -ENOENT;
	/* Where root probes must not be for another user to say. */
	if (status.st_uid != geteuid() && status.st_uid != 0) {
		gt_debug("%s belongs to another user, and is not used", path);
		return -ENOENT;
	}
	if (!gt_elf_is_elf(path) || gt_elf_open_debug(path, &file) < 0)
		return -ENOENT;
	if (strcmp(file->build_id, elf->build_id) != 0 && (!checksum || file->build_id[0])) {
		gt_debug("%s is the debug file of another build", path);
		return -ENOENT;
	}
	if (checksum && crc32_z(0, file->image, file->image_size) != *checksum) {
		gt_debug("%s is not the debug file that %s links to", path, elf->path);
		return -ENOENT;
	}
	if (gt_elf_is_stripped(file) || file->machine != elf->machine)
		return -ENOENT;
	gt_debug("symbols of %s: %s", elf->path, path);
	*ret = GT_STEAL(file);
	return 0;
}

static char *debuginfod_path(const struct gt_elf *elf)
{
	const char *folder = getenv("DEBUGINFOD_CACHE_PATH");

	if (folder && folder[0])
		return gt_format("%s/%s/debuginfo", folder, elf->build_id);
	folder = getenv("XDG_CACHE_HOME");
	if (folder && folder[0])
		return gt_format("%s/debuginfod_client/%s/debuginfo", folder, elf->build_id);
	folder = getenv("HOME");
	return gt_format("%s/.cache/debuginfod_client/%s/debuginfo", folder ? folder : "",
			 elf->build_id);
}

static int find_by_build_id(const struct gt_elf *elf, struct gt_elf **ret)
{
	int r;

	if (strlen(elf->build_id) < 4)
		return -ENOENT;
	r = try_file(elf,
		     gt_format(DEBUG_FOLDER "/.build-id/%.2s/%s.debug", elf->build_id,
			       elf->build_id + 2),
		     NULL, ret);
	return r == -ENOENT ? try_file(elf, debuginfod_path(elf), NULL, ret) : r;
}

/* The name is followed by the checksum at the next multiple of four. */
static const char *read_link(const struct gt_elf *elf, uint32_t *ret_checksum)
{
	gt_array_for_each (&elf->sections, section) {
		size_t size = section->header.sh_size, length;
		const char *name;

		if (strcmp(section->name, ".gnu_debuglink") != 0 ||
		    section->header.sh_type == SHT_NOBITS)
			continue;
		name = (const char *)elf->image + section->header.sh_offset;
		length = strnlen(name, size);
		if (length == 0 || length > NAME_MAX || memchr(name, '/', length) ||
		    GT_ALIGN_UP(length + 1, 4) + sizeof(*ret_checksum) > size)
			return NULL;
		memcpy(ret_checksum, name + GT_ALIGN_UP(length + 1, 4), sizeof(*ret_checksum));
		return name;
	}
	return NULL;
}

static int find_by_link(const struct gt_elf *elf, struct gt_elf **ret)
{
	_cleanup_free_ char *path = realpath(elf->path, NULL);
	uint32_t checksum;
	const char *name = read_link(elf, &checksum);
	char *slash = path ? strrchr(path, '/') : NULL;
	int r;

	if (!name || !slash)
		return -ENOENT;
	*slash = '\0';
	r = try_file(elf, gt_format("%s/%s", path, name), &checksum, ret);
	if (r == -ENOENT)
		r = try_file(elf, gt_format("%s/.debug/%s", path, name), &checksum, ret);
	if (r == -ENOENT)
		r = try_file(elf, gt_format(DEBUG_FOLDER "%s/%s", path, name), &checksum, ret);
	return r;
}

int gt_elf_open_debug_file(const struct gt_elf *elf, struct gt_elf **ret)
{
	int r = find_by_build_id(elf, ret);

	return r == -ENOENT ? find_by_link(elf, ret) : r;
}
