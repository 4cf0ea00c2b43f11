/* SPDX-License-Identifier: MIT */
#include "record/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"

#define KERNEL_SYMBOLS "/proc/kallsyms"
/* With all modules it is some 10 MB. */
#define MAX_BYTES ((size_t)1 << 30)

/* Whether a line "ffffffff81000000 T _stext" is of code, and has an address. */
static bool is_wanted(const char *line, const char *end)
{
	const char *blank = memchr(line, ' ', (size_t)(end - line));

	if (!blank || end - blank < 4 || blank[2] != ' ' || !strchr("tTwW", blank[1]))
		return false;
	return strspn(line, "0") != (size_t)(blank - line);
}

/* Moves the lines that are wanted to the start. Gives their size. */
static size_t filter(char *text, size_t size)
{
	const char *line = text, *last = text + size;
	size_t kept = 0;

	while (line < last) {
		const char *end = memchr(line, '\n', (size_t)(last - line));
		size_t length;

		if (!end)
			break;
		length = (size_t)(end + 1 - line);
		if (is_wanted(line, end)) {
			memmove(text + kept, line, length);
			kept += length;
		}
		line = end + 1;
	}
	return kept;
}

static int save(const char *path, const char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : gt_write_all(fd, text, size);

	if (fd >= 0 && r < 0)
		(void)unlink(path);
	return r;
}

int gt_kernel_symbols_save(const char *path)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = gt_read_file(KERNEL_SYMBOLS, MAX_BYTES, &text, &size);

	if (r < 0)
		return gt_debug_errno(r, "cannot read the kernel's symbols");
	size = filter(text, size);
	if (size == 0) {
		gt_debug("the kernel does not show the addresses of its functions");
		return -ENODATA;
	}
	r = save(path, text, size);
	if (r < 0)
		return gt_debug_errno(r, "cannot write %s", path);
	return 0;
}
