/* SPDX-License-Identifier: MIT */
/*
 * Text that comes from outside (thread names, commands, paths) and goes to people, JSON and HTML.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A copy of the LENGTH bytes at TEXT that is valid UTF-8: bytes that are not part of a well-formed
 * sequence, and NUL, become \xNN. The caller frees it; NULL when out of memory.
 */
char *gt_utf8_dup(const char *text, size_t length);

/*
 * The same for one line on a terminal: control characters and characters that turn the direction of
 * writing become \xNN too, so that a name cannot move the cursor or hide behind another.
 */
char *gt_terminal_dup(const char *text, size_t length);

/* SIZE bytes as lower-case hexadecimal, and a NUL, to TEXT: 2 * SIZE + 1 characters. */
void gt_hex_format(const unsigned char *bytes, size_t size, char *text);

bool gt_string_starts_with(const char *text, const char *prefix);
bool gt_string_ends_with(const char *text, const char *suffix);
