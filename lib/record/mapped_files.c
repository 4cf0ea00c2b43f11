/* SPDX-License-Identifier: MIT */
#include "record/mapped_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <perf/event.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/strings.h"
#include "elf/elf_file.h"
#include "record/ring.h"

/* A program that makes a new file for each of many processes must not make us open them all. */
#define MAX_OPEN 256u
#define MAX_SEEN 4096u
#define MAX_FILE_BYTES ((off_t)256 << 20)
#define MAX_ALL_BYTES ((off_t)1 << 30)

struct gt_mapped_file {
	int fd;
	char *path; /* as the process has it */
	char build_id[2 * GT_BUILD_ID_MAX + 1];
};

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* True the first time, as long as there is room. */
static bool is_new(struct gt_mapped_files *mapped, const struct perf_record_mmap2 *mmap)
{
	uint64_t key =
		hash_bytes(UINT64_C(0xcbf29ce484222325), mmap->build_id, mmap->build_id_size);

	key = hash_bytes(key, mmap->filename, strlen(mmap->filename));
	if (mapped->files.count >= MAX_OPEN || mapped->seen.count >= MAX_SEEN ||
	    gt_hash_get(&mapped->seen, key) != GT_HASH_NONE)
		return false;
	return gt_hash_set(&mapped->seen, key, 0) == 0;
}

/*
 * By the memory that it is in, which takes privileges: whatever is at its path by now, that is the
 * file. Else by its path, as the process sees it; or, when that is gone, as we do.
 */
static int open_mapped(const struct perf_record_mmap2 *mmap)
{
	_cleanup_free_ char *in_memory =
		gt_format("/proc/%u/map_files/%" PRIx64 "-%" PRIx64, mmap->pid,
			  (uint64_t)mmap->start, (uint64_t)(mmap->start + mmap->len));
	_cleanup_free_ char *in_root = gt_format("/proc/%u/root%s", mmap->pid, mmap->filename);
	int fd = in_memory ? gt_open_regular(in_memory) : -ENOMEM;

	if (fd < 0)
		fd = in_root ? gt_open_regular(in_root) : -ENOMEM;
	return fd < 0 ? gt_open_regular(mmap->filename) : fd;
}

static int add_file(struct gt_mapped_files *mapped, const struct perf_record_mmap2 *mmap, int fd)
{
	_cleanup_free_ char *path = strdup(mmap->filename);
	struct gt_mapped_file *file = path ? gt_array_push(&mapped->files) : NULL;

	if (!file)
		return -ENOMEM;
	file->fd = fd;
	file->path = GT_STEAL(path);
	gt_hex_format(mmap->build_id, mmap->build_id_size, file->build_id);
	return 0;
}

void gt_mapped_files_note(struct gt_mapped_files *mapped, const struct gt_ring_record *record)
{
	struct perf_record_mmap2 mmap;
	size_t size = GT_MIN(sizeof(mmap), (size_t)record->header.size);
	int fd;

	/* Without a build id, nobody could find a copy. */
	if (mapped->files.count >= MAX_OPEN ||
	    !(record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) ||
	    (record->header.misc & PERF_RECORD_MISC_MMAP_DATA) ||
	    size <= offsetof(struct perf_record_mmap2, filename) ||
	    !gt_ring_record_copy(record, 0, &mmap, (uint32_t)size))
		return;
	((char *)&mmap)[size - 1] = '\0';
	/* "[vdso]", "//anon" */
	if (mmap.filename[0] != '/' || mmap.filename[1] == '/' || mmap.build_id_size == 0 ||
	    mmap.build_id_size > GT_BUILD_ID_MAX || !is_new(mapped, &mmap))
		return;
	fd = open_mapped(&mmap);
	if (fd < 0) {
		gt_debug_errno(fd, "cannot open %s, which process %u runs", mmap.filename,
			       mmap.pid);
		return;
	}
	if (add_file(mapped, &mmap, fd) < 0)
		close(fd);
}

static bool is_found_again(const struct gt_mapped_file *file, const struct stat *held)
{
	struct stat there;

	return stat(file->path, &there) == 0 && there.st_dev == held->st_dev &&
	       there.st_ino == held->st_ino;
}

/* Its path may have led to another file by the time that it was opened. */
static bool is_the_mapped_one(const struct gt_mapped_file *file)
{
	_cleanup_free_ char *path = gt_format("/proc/self/fd/%d", file->fd);
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	struct gt_log_capture log;
	int r;

	if (!path)
		return false;
	gt_log_start_capture(&log);
	r = gt_elf_open(path, &elf);
	free(gt_log_end_capture(&log));
	return r == 0 && strcmp(gt_elf_build_id(elf), file->build_id) == 0;
}

/* Only some pairs of file systems share pages, and only some files can be sent. */
static ssize_t copy_part(int from, int to, size_t size)
{
	ssize_t copied = copy_file_range(from, NULL, to, NULL, size, 0);

	if (copied < 0)
		copied = sendfile(to, from, NULL, size);
	return copied < 0 ? -errno : copied;
}

static int copy_to(const struct gt_mapped_file *file, off_t size, const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t copied = 1;

	if (fd < 0)
		return -errno;
	while (size > 0 && copied > 0) {
		copied = copy_part(file->fd, fd, (size_t)size);
		size -= copied;
	}
	if (size == 0)
		return 0;
	(void)unlink(path);
	return copied < 0 ? (int)copied : -EIO;
}

/* Gives how many bytes were copied. */
static off_t keep_file(const struct gt_mapped_file *file, const char *folder, off_t room)
{
	_cleanup_free_ char *path = gt_format("%s/%s", folder, file->build_id);
	struct stat status;
	int r;

	if (!path || fstat(file->fd, &status) < 0 || is_found_again(file, &status) ||
	    !is_the_mapped_one(file))
		return 0;
	if (status.st_size > GT_MIN(MAX_FILE_BYTES, room)) {
		gt_debug("%s is gone and too large to be kept", file->path);
		return 0;
	}
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		r = -errno;
	else
		r = copy_to(file, status.st_size, path);
	if (r == -EEXIST) /* by another path */
		return 0;
	if (r < 0) {
		gt_debug_errno(r, "%s is gone and cannot be kept as %s", file->path, path);
		return 0;
	}
	gt_debug("%s is gone and was kept as %s", file->path, path);
	return status.st_size;
}

void gt_mapped_files_keep(struct gt_mapped_files *mapped, const char *folder)
{
	off_t room = MAX_ALL_BYTES;

	gt_array_for_each (&mapped->files, file)
		room -= keep_file(file, folder, room);
}

void gt_mapped_files_clear(struct gt_mapped_files *mapped)
{
	gt_array_for_each (&mapped->files, file) {
		close(file->fd);
		free(file->path);
	}
	gt_array_clear(&mapped->files);
	gt_hash_clear(&mapped->seen);
}
