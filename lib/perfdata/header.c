/* SPDX-License-Identifier: MIT */
/* Opens the file, and tells a perf.data file that can be read here from all else. */
#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <string.h>

#include "base/log.h"
#include "perfdata/reader.h"

#define MAGIC_VERSION_1 UINT64_C(0x454c494646524550) /* "PERFFILE" */

/* What a file that was written to a pipe has for a header: magic and size. */
#define PIPE_HEADER_SIZE 16u

static int refuse_directory(const char *path)
{
	gt_error("%s is a directory, not a perf.data file", path);
	return -EISDIR;
}

static int map_file(struct gt_perfdata *perfdata)
{
	/* Without O_NONBLOCK the opening of a FIFO would wait for a writer. */
	_cleanup_close_ int fd = open(perfdata->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	void *map;

	if (fd < 0 || fstat(fd, &status) < 0)
		return gt_error_errno(-errno, "cannot open %s", perfdata->path);
	if (S_ISDIR(status.st_mode))
		return refuse_directory(perfdata->path);
	if (!S_ISREG(status.st_mode)) {
		gt_error("%s is no regular file: save it to one first", perfdata->path);
		return -EBADMSG;
	}
	if (status.st_size == 0) {
		gt_error("%s is empty: its recording failed or has not begun to write",
			 perfdata->path);
		return -EBADMSG;
	}
	map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return gt_error_errno(-errno, "cannot map %s", perfdata->path);
	perfdata->map = map;
	perfdata->size = (uint64_t)status.st_size;
	/* Only a hint: it is read from start to end. */
	madvise(map, perfdata->size, MADV_SEQUENTIAL);
	madvise(map, perfdata->size, MADV_WILLNEED);
	return 0;
}

static int refuse_kind(const struct gt_perfdata *perfdata, const char *kind, const char *advice)
{
	gt_error("%s is %s, which is not supported\n  %s", perfdata->path, kind, advice);
	return -EOPNOTSUPP;
}

/* The magic number shows the version and the byte order. */
static int check_magic(const struct gt_perfdata *perfdata)
{
	uint64_t magic = 0, header_size = 0;
	struct gt_span span = {.at = perfdata->map, .end = perfdata->map + perfdata->size};

	if (!gt_span_read(&span, &magic, sizeof(magic)) ||
	    (magic != GT_PERF_FILE_MAGIC && magic != bswap_64(GT_PERF_FILE_MAGIC) &&
	     magic != MAGIC_VERSION_1 && magic != bswap_64(MAGIC_VERSION_1))) {
		gt_error("%s is not a perf.data file\n"
			 "  give a trace directory of giltrace, or a file made by perf record",
			 perfdata->path);
		return -EBADMSG;
	}
	if (magic == MAGIC_VERSION_1 || magic == bswap_64(MAGIC_VERSION_1))
		return refuse_kind(perfdata, "a perf.data file of version 1",
				   "record it again with perf of Linux 3.6 or newer");
	if (magic != GT_PERF_FILE_MAGIC)
		return refuse_kind(perfdata, "a perf.data file of another byte order",
				   "read it on a machine like the one that recorded it");
	if (gt_span_read(&span, &header_size, sizeof(header_size)) &&
	    header_size == PIPE_HEADER_SIZE)
		return refuse_kind(
			perfdata, "a perf.data stream that was written to a pipe",
			"record it with -o FILE, or convert it: perf inject -i IN -o OUT");
	return 0;
}

/*
 * The size of the records is written last of all. Without it they go to the end of the file, and
 * there are no features, whatever the header says.
 */
static int read_unfinished(struct gt_perfdata *perfdata)
{
	struct gt_perf_file_header *header = &perfdata->header;

	if (header->attrs.size == 0 || header->data.offset < sizeof(*header) ||
	    header->data.offset > perfdata->size)
		return gt_perfdata_refuse_unfinished(perfdata);
	header->data.size = perfdata->size - header->data.offset;
	memset(header->features, 0, sizeof(header->features));
	perfdata->info.is_unfinished = true;
	return 0;
}

int gt_perfdata_refuse_unfinished(const struct gt_perfdata *perfdata)
{
	gt_error("%s was not finished: its recorder was killed, or could not write, and what its "
		 "events are is missing\n"
		 "  record again, and stop the recorder with Ctrl-C",
		 perfdata->path);
	return -EBADMSG;
}

int gt_perfdata_map(struct gt_perfdata *perfdata)
{
	struct gt_perf_file_header *header = &perfdata->header;
	struct gt_span span;
	int r = map_file(perfdata);

	if (r < 0)
		return r;
	r = check_magic(perfdata);
	if (r < 0)
		return r;
	span = (struct gt_span){.at = perfdata->map, .end = perfdata->map + perfdata->size};
	if (!gt_span_read(&span, header, sizeof(*header)))
		return gt_perfdata_broken(perfdata, perfdata->size,
					  "the file ends within its header");
	if (header->size < sizeof(*header))
		return gt_perfdata_broken(perfdata, offsetof(struct gt_perf_file_header, size),
					  "a header of %" PRIu64 " bytes", header->size);
	if (header->data.size == 0)
		return read_unfinished(perfdata);
	if (!gt_perfdata_has(perfdata, header->data)) {
		gt_error("%s is truncated: its records should end at offset %" PRIu64
			 ", but it has only %" PRIu64 " bytes\n"
			 "  copy it again, or record again with more room on the disk",
			 perfdata->path, header->data.offset + header->data.size, perfdata->size);
		return -EBADMSG;
	}
	return 0;
}
