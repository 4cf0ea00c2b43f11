/* SPDX-License-Identifier: MIT */
/*
 * Where an output goes: a file that appears whole under its name or not at all, compressed on the
 * way if asked, or an open stream.
 *
 * Writes never fail one by one: the first error is kept, and gt_sink_close() tells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/macros.h"

struct gt_sink;

/*
 * Opens PATH for writing, through a temporary file beside it that is renamed at the end. What is
 * no file, what standard output or error goes to, and a file in a directory that cannot be written,
 * are written directly. A message has been logged on failure.
 */
int gt_sink_open(const char *path, bool gzip, struct gt_sink **ret);

/* Writes to STREAM, which stays the caller's. */
int gt_sink_open_stream(FILE *stream, struct gt_sink **ret);

/* Whether PATH could be opened now; nothing is left behind. A message has been logged if not. */
int gt_sink_check(const char *path);

/* Calls FUNCTION with ARGUMENT now and then while there is much to write. */
void gt_sink_on_flush(struct gt_sink *sink, void (*function)(void *argument), void *argument);

void gt_sink_write(struct gt_sink *sink, const void *data, size_t size);
void gt_sink_puts(struct gt_sink *sink, const char *text);
void gt_sink_printf(struct gt_sink *sink, const char *format, ...) _printf_(2, 3);

/* Flushes, and gives the file its name: 0, or the first error (logged). Frees the sink. */
int gt_sink_close(struct gt_sink *sink);

/* Frees the sink and leaves no file. */
void gt_sink_abandon(struct gt_sink *sink);
GT_DEFINE_CLEANUP(struct gt_sink *, gt_sink_abandon)
