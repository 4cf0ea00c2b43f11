/* SPDX-License-Identifier: MIT */
#include "render/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/io.h"
#include "base/log.h"
#include "base/temporary.h"

#define BUFFER_SIZE (UINT32_C(256) << 10)

struct gt_sink {
	FILE *stream; /* the caller's; NULL for a file */
	int fd;
	char *path, *temporary; /* temporary: NULL when PATH is written directly */
	gzFile gzip;		/* owns fd when there is one */
	char *buffer;
	size_t used;
	void (*on_flush)(void *argument);
	void *on_flush_argument;
	int error; /* the first, a negative errno */
};

static void sink_free(struct gt_sink *sink)
{
	if (sink->gzip)
		gzclose(sink->gzip);
	else if (sink->fd >= 0)
		close(sink->fd);
	free(sink->path);
	free(sink->temporary);
	free(sink->buffer);
	free(sink);
}

void gt_sink_abandon(struct gt_sink *sink)
{
	if (!sink)
		return;
	if (sink->temporary) {
		unlink(sink->temporary);
		gt_temporary_forget(sink->temporary);
	}
	sink_free(sink);
}

static int sink_new(struct gt_sink **ret)
{
	struct gt_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return gt_error_oom();
	sink->fd = -1;
	sink->buffer = malloc(BUFFER_SIZE);
	if (!sink->buffer) {
		free(sink);
		return gt_error_oom();
	}
	*ret = sink;
	return 0;
}

static int error_open(int err, const char *path)
{
	if (err == -EISDIR)
		gt_error("cannot write %s: it is a directory\n  give the name of a file", path);
	else if (err == -ENXIO)
		gt_error("cannot write %s: nobody reads from this pipe", path);
	else
		gt_error_errno(err,
			       "cannot write %s\n"
			       "  name a file in a directory that exists and that you can write to",
			       path);
	return err;
}

/*
 * What our standard output or error goes to must be written through that: a rename would part it
 * from those who have it open, and another descriptor would write over what they have written.
 */
static int open_standard_stream(const struct stat *status)
{
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		struct stat open_status;

		if (fstat(fd, &open_status) == 0 && open_status.st_dev == status->st_dev &&
		    open_status.st_ino == status->st_ino)
			return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	}
	return -1;
}

/* A device, a pipe, or a file that cannot be replaced. */
static int open_directly(struct gt_sink *sink, int flags)
{
	/* A pipe without a reader would keep us waiting for one. */
	sink->fd = open(sink->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags, 0666);
	if (sink->fd < 0)
		return error_open(-errno, sink->path);
	(void)fcntl(sink->fd, F_SETFL, fcntl(sink->fd, F_GETFL) & ~O_NONBLOCK);
	return 0;
}

/* Opens a new file beside the one that it is to replace. STATUS is of that one, or NULL. */
static int open_beside(struct gt_sink *sink, const struct stat *status)
{
	mode_t mask;

	sink->temporary = gt_format("%s.XXXXXX", sink->path);
	if (!sink->temporary)
		return gt_error_oom();
	sink->fd = mkostemp(sink->temporary, O_CLOEXEC);
	if (sink->fd < 0) {
		int err = -errno;

		free(GT_STEAL(sink->temporary));
		/* The file may be ours to write, and its directory not. */
		return status ? open_directly(sink, O_TRUNC) : error_open(err, sink->path);
	}
	gt_temporary_add(sink->temporary);
	/* mkostemp() makes private files; an output is as readable as any other. */
	mask = umask(0);
	umask(mask);
	(void)fchmod(sink->fd, status ? status->st_mode & 07777 : 0666 & ~mask);
	return 0;
}

static int open_output(struct gt_sink *sink)
{
	struct stat status;

	if (stat(sink->path, &status) < 0) {
		/* A link that leads nowhere yet: what it names is to be made. */
		if (lstat(sink->path, &status) == 0 && S_ISLNK(status.st_mode))
			return open_directly(sink, O_CREAT);
		return open_beside(sink, NULL);
	}
	if (S_ISDIR(status.st_mode))
		return error_open(-EISDIR, sink->path);
	sink->fd = open_standard_stream(&status);
	if (sink->fd >= 0)
		return 0;
	if (!S_ISREG(status.st_mode))
		return open_directly(sink, 0);
	/* A rename would get around a file that must not be written. */
	if (access(sink->path, W_OK) < 0)
		return error_open(-errno, sink->path);
	return open_beside(sink, &status);
}

int gt_sink_open(const char *path, bool gzip, struct gt_sink **ret)
{
	_cleanup_(gt_sink_abandonp) struct gt_sink *sink = NULL;
	char *resolved;
	int r;

	r = sink_new(&sink);
	if (r < 0)
		return r;
	/* Through a symlink, so that the file it names is replaced, and not the link. */
	resolved = realpath(path, NULL);
	sink->path = resolved ? resolved : strdup(path);
	if (!sink->path)
		return gt_error_oom();
	r = open_output(sink);
	if (r < 0)
		return r;
	if (gzip) {
		sink->gzip = gzdopen(sink->fd, "wb6");
		if (!sink->gzip)
			return gt_error_oom();
	}
	*ret = GT_STEAL(sink);
	return 0;
}

int gt_sink_open_stream(FILE *stream, struct gt_sink **ret)
{
	int r = sink_new(ret);

	if (r < 0)
		return r;
	(*ret)->stream = stream;
	return 0;
}

int gt_sink_check(const char *path)
{
	struct gt_sink *sink;
	struct stat status;
	int r;

	/* Opening these can have effects: a pipe's reader would take the closing for the end. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return access(path, W_OK) < 0 ? error_open(-errno, path) : 0;
	r = gt_sink_open(path, false, &sink);
	if (r < 0)
		return r;
	gt_sink_abandon(sink);
	return 0;
}

static int write_out(struct gt_sink *sink, const char *data, size_t size)
{
	if (sink->stream)
		return fwrite(data, 1, size, sink->stream) == size ? 0 : -EIO;
	if (!sink->gzip)
		return gt_write_all(sink->fd, data, size);
	while (size > 0) {
		unsigned part = (unsigned)GT_MIN(size, (size_t)BUFFER_SIZE);

		errno = 0;
		if (gzwrite(sink->gzip, data, part) != (int)part)
			return errno ? -errno : -EIO;
		data += part;
		size -= part;
	}
	return 0;
}

static void flush(struct gt_sink *sink)
{
	if (!sink->error && sink->used > 0)
		sink->error = write_out(sink, sink->buffer, sink->used);
	sink->used = 0;
	if (sink->on_flush)
		sink->on_flush(sink->on_flush_argument);
}

void gt_sink_on_flush(struct gt_sink *sink, void (*function)(void *argument), void *argument)
{
	sink->on_flush = function;
	sink->on_flush_argument = argument;
}

void gt_sink_write(struct gt_sink *sink, const void *data, size_t size)
{
	if (size > BUFFER_SIZE - sink->used)
		flush(sink);
	if (size > BUFFER_SIZE) {
		if (!sink->error)
			sink->error = write_out(sink, data, size);
		return;
	}
	memcpy(sink->buffer + sink->used, data, size);
	sink->used += size;
}

void gt_sink_puts(struct gt_sink *sink, const char *text)
{
	gt_sink_write(sink, text, strlen(text));
}

void gt_sink_printf(struct gt_sink *sink, const char *format, ...)
{
	va_list arguments, again;
	int size;

	va_start(arguments, format);
	va_copy(again, arguments);
	size = vsnprintf(sink->buffer + sink->used, BUFFER_SIZE - sink->used, format, arguments);
	va_end(arguments);
	if (size >= 0 && (size_t)size >= BUFFER_SIZE - sink->used) {
		char *text = NULL;

		size = vasprintf(&text, format, again);
		if (size >= 0)
			gt_sink_write(sink, text, (size_t)size);
		free(text);
	} else if (size >= 0) {
		sink->used += (size_t)size;
	}
	va_end(again);
	if (size < 0 && !sink->error)
		sink->error = -ENOMEM;
}

/* Writes what is left, through all layers, and gives up the descriptor. */
static int finish(struct gt_sink *sink)
{
	flush(sink);
	if (sink->stream) {
		if (fflush(sink->stream) < 0 && !sink->error)
			sink->error = -errno;
		return sink->error;
	}
	if (sink->gzip) {
		if (gzclose(GT_STEAL(sink->gzip)) != Z_OK && !sink->error)
			sink->error = -EIO;
	} else if (close(sink->fd) < 0 && !sink->error) {
		sink->error = -errno;
	}
	sink->fd = -1;
	if (!sink->error && sink->temporary && rename(sink->temporary, sink->path) < 0)
		sink->error = -errno;
	return sink->error;
}

int gt_sink_close(struct gt_sink *sink)
{
	int r = finish(sink);

	if (r < 0)
		gt_error_errno(r, "cannot write %s", sink->path ? sink->path : "the summary");
	if (r == 0 && sink->temporary) {
		/* It has its name, and there is nothing to abandon. */
		gt_temporary_forget(sink->temporary);
		free(GT_STEAL(sink->temporary));
	}
	gt_sink_abandon(sink);
	return r;
}
