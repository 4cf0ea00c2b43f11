/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"

int gt_read_fd(int fd, size_t max_size, char **ret_text, size_t *ret_size)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, capacity = 0;

	for (;;) {
		ssize_t n;

		if (size + 1 >= capacity) {
			char *bigger;

			capacity = capacity ? capacity * 2 : 4096;
			bigger = realloc(text, capacity);
			if (!bigger)
				return -ENOMEM;
			text = bigger;
		}
		n = read(fd, text + size, capacity - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > max_size)
			return -EFBIG;
	}
	text[size] = '\0';
	*ret_text = GT_STEAL(text);
	if (ret_size)
		*ret_size = size;
	return 0;
}

int gt_read_file(const char *path, size_t max_size, char **ret_text, size_t *ret_size)
{
	/* A FIFO without a writer is empty, and nothing to wait for. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	return gt_read_fd(fd, max_size, ret_text, ret_size);
}

int gt_open_regular(const char *path)
{
	_cleanup_close_ int found = open(path, O_PATH | O_CLOEXEC);
	_cleanup_free_ char *opened = NULL;
	struct stat status;
	int fd;

	if (found < 0 || fstat(found, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	opened = gt_format("/proc/self/fd/%d", found);
	if (!opened)
		return -ENOMEM;
	fd = open(opened, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int gt_write_all(int fd, const void *data, size_t size)
{
	const char *from = data;

	while (size > 0) {
		ssize_t n = write(fd, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		size -= (size_t)n;
	}
	return 0;
}

char *gt_format(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return text;
}
