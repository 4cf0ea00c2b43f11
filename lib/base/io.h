/* SPDX-License-Identifier: MIT */
/* Whole files and whole writes. None of these log: the caller knows what the file is for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Reads a file to its end, also one of /proc or tracefs that tells no size. The text has a NUL
 * behind it that is not counted. The caller frees *RET_TEXT. RET_SIZE may be NULL. -EFBIG when it
 * is larger than MAX_SIZE; else the errno of open or read.
 */
int gt_read_file(const char *path, size_t max_size, char **ret_text, size_t *ret_size);

/* The same from an open file descriptor. */
int gt_read_fd(int fd, size_t max_size, char **ret_text, size_t *ret_size);

/*
 * Opens a regular file for reading, and nothing else: a device may be set off by that, and a FIFO
 * waits for its other end. A file descriptor; -EISDIR, -EINVAL for what else is there, -ENOMEM, or
 * the errno of open.
 */
int gt_open_regular(const char *path);

/* Writes all SIZE bytes, or returns a negative errno. */
int gt_write_all(int fd, const void *data, size_t size);

/* A new string from a format; the caller frees it. NULL when out of memory. */
char *gt_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
