/* SPDX-License-Identifier: MIT */
/*
 * A part of the file that is read from its start to its end, never past it. Nothing in a perf.data
 * file can be relied on to be aligned (a compressed record may have any size), so values are
 * copied.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct gt_span {
	const uint8_t *at;
	const uint8_t *end;
};

static inline uint64_t gt_span_left(const struct gt_span *span)
{
	return (uint64_t)(span->end - span->at);
}

/* The next SIZE bytes, or NULL when there are fewer. */
static inline const void *gt_span_take(struct gt_span *span, uint64_t size)
{
	const uint8_t *taken = span->at;

	if (size > gt_span_left(span))
		return NULL;
	span->at += size;
	return taken;
}

/* Copies the next SIZE bytes. False when there are fewer. */
static inline bool gt_span_read(struct gt_span *span, void *ret, uint64_t size)
{
	const void *taken = gt_span_take(span, size);

	if (!taken)
		return false;
	memcpy(ret, taken, size);
	return true;
}

/* The next string, up to its NUL; NULL when there is none before the end. */
static inline const char *gt_span_string(struct gt_span *span)
{
	const char *text = (const char *)span->at;
	const uint8_t *nul = memchr(span->at, '\0', gt_span_left(span));

	if (!nul)
		return NULL;
	span->at = nul + 1;
	return text;
}

static inline uint32_t gt_load_u32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static inline uint64_t gt_load_u64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}
