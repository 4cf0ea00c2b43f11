/* SPDX-License-Identifier: MIT */
#include "render/columns.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#define MAX_VARINT_BYTES 10
#define VALUES_BYTES 65536
/* A multiple of three: what base64 turns into whole groups of four characters. */
#define PACKED_BYTES 49152

struct gt_column {
	struct gt_sink *sink;
	z_stream stream;
	uint32_t value_bytes;
	unsigned char values[VALUES_BYTES];
	unsigned char packed[PACKED_BYTES];
	char text[PACKED_BYTES / 3 * 4];
};

struct gt_column *gt_column_open(struct gt_sink *sink, const char *name)
{
	struct gt_column *column = malloc(sizeof(*column));

	if (!column)
		return NULL;
	column->sink = sink;
	column->value_bytes = 0;
	memset(&column->stream, 0, sizeof(column->stream));
	if (deflateInit(&column->stream, Z_DEFAULT_COMPRESSION) != Z_OK) {
		free(column);
		return NULL;
	}
	column->stream.next_out = column->packed;
	column->stream.avail_out = PACKED_BYTES;
	gt_sink_printf(sink, "<div hidden id=\"column-%s\"><!--", name);
	return column;
}

/* Writes what is packed; only the last time may it be less than the whole buffer. */
static void write_base64(struct gt_column *column)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t size = PACKED_BYTES - column->stream.avail_out;
	const unsigned char *from = column->packed;
	char *to = column->text;

	for (; size > 0; from += 3) {
		uint32_t group = (uint32_t)from[0] << 16;

		if (size > 1)
			group |= (uint32_t)from[1] << 8;
		if (size > 2)
			group |= from[2];
		*to++ = digits[group >> 18];
		*to++ = digits[group >> 12 & 63];
		*to++ = size > 1 ? digits[group >> 6 & 63] : '=';
		*to++ = size > 2 ? digits[group & 63] : '=';
		size -= GT_MIN(size, (size_t)3);
	}
	gt_sink_write(column->sink, column->text, (size_t)(to - column->text));
	column->stream.next_out = column->packed;
	column->stream.avail_out = PACKED_BYTES;
}

static void pack(struct gt_column *column, bool last)
{
	int result;

	column->stream.next_in = column->values;
	column->stream.avail_in = column->value_bytes;
	do {
		result = deflate(&column->stream, last ? Z_FINISH : Z_NO_FLUSH);
		if (column->stream.avail_out == 0)
			write_base64(column);
	} while (column->stream.avail_in > 0 || (last && result == Z_OK));
	column->value_bytes = 0;
}

void gt_column_put(struct gt_column *column, uint64_t value)
{
	if (column->value_bytes > VALUES_BYTES - MAX_VARINT_BYTES)
		pack(column, false);
	while (value >= 0x80) {
		column->values[column->value_bytes++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	column->values[column->value_bytes++] = (unsigned char)value;
}

void gt_column_close(struct gt_column *column)
{
	pack(column, true);
	write_base64(column);
	gt_sink_puts(column->sink, "--></div>\n");
	deflateEnd(&column->stream);
	free(column);
}
