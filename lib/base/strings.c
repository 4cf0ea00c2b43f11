/* SPDX-License-Identifier: MIT */
#include "base/strings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * The length of the well-formed UTF-8 sequence at TEXT (The Unicode Standard, table 3-7), its
 * character in *RET; 0 when there is none.
 */
static size_t decode_utf8(const unsigned char *text, size_t left, uint32_t *ret)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t character;
	size_t length;

	if (text[0] < 0x80) {
		*ret = text[0];
		return 1;
	}
	if (text[0] >= 0xc2 && text[0] <= 0xdf)
		length = 2, character = text[0] & 0x1f;
	else if (text[0] >= 0xe0 && text[0] <= 0xef)
		length = 3, character = text[0] & 0x0f;
	else if (text[0] >= 0xf0 && text[0] <= 0xf4)
		length = 4, character = text[0] & 0x07;
	else
		return 0;
	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3f);
	}
	if (character < smallest[length] || character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return 0;
	*ret = character;
	return length;
}

static bool is_unsafe_on_terminal(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x061c ||
	       (character >= 0x200b && character <= 0x200f) ||
	       (character >= 0x2028 && character <= 0x202e) ||
	       (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

static const char hex_digits[] = "0123456789abcdef";

void gt_hex_format(const unsigned char *bytes, size_t size, char *text)
{
	for (size_t i = 0; i < size; i++) {
		*text++ = hex_digits[bytes[i] >> 4];
		*text++ = hex_digits[bytes[i] & 15];
	}
	*text = '\0';
}

static char *escape(const char *text, size_t length, bool terminal)
{
	const unsigned char *from = (const unsigned char *)text;
	char *escaped, *to;

	if (length > SIZE_MAX / 4 - 1)
		return NULL;
	escaped = to = malloc(length * 4 + 1);
	if (!escaped)
		return NULL;
	while (length > 0) {
		uint32_t character = 0;
		size_t n = decode_utf8(from, length, &character);
		bool keep =
			n > 0 && character != 0 && !(terminal && is_unsafe_on_terminal(character));

		if (n == 0)
			n = 1;
		for (size_t i = 0; i < n; i++) {
			if (keep) {
				*to++ = (char)from[i];
				continue;
			}
			*to++ = '\\';
			*to++ = 'x';
			*to++ = hex_digits[from[i] >> 4];
			*to++ = hex_digits[from[i] & 15];
		}
		from += n;
		length -= n;
	}
	*to = '\0';
	return escaped;
}

char *gt_utf8_dup(const char *text, size_t length)
{
	return escape(text, length, false);
}

char *gt_terminal_dup(const char *text, size_t length)
{
	return escape(text, length, true);
}

bool gt_string_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool gt_string_ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text), suffix_length = strlen(suffix);

	return length >= suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}
