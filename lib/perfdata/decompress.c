/* SPDX-License-Identifier: MIT */
#include "perfdata/decompress.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "perfdata/span.h"

/* A position is a block's index and an offset in it. */
#define OFFSET_BITS 32

struct block {
	uint8_t *data; /* NULL: the slot is free */
	uint32_t size;
	bool needed;
	uint64_t file_offset;
};

struct gt_decompressor {
	ZSTD_DStream *stream;
	GT_ARRAY(struct block) blocks;
	uint32_t newest; /* its index; UINT32_MAX before the first */
	uint32_t read;	 /* how far the newest block has been read */
};

static inline void zstd_freep(ZSTD_DStream **stream)
{
	ZSTD_freeDStream(*stream);
}

int gt_decompressor_new(struct gt_decompressor **ret)
{
	_cleanup_(zstd_freep) ZSTD_DStream *stream = ZSTD_createDStream();
	struct gt_decompressor *decompressor = calloc(1, sizeof(*decompressor));

	if (!stream || !decompressor) {
		free(decompressor);
		return -ENOMEM;
	}
	decompressor->stream = GT_STEAL(stream);
	decompressor->newest = UINT32_MAX;
	*ret = decompressor;
	return 0;
}

void gt_decompressor_free(struct gt_decompressor *decompressor)
{
	gt_array_for_each (&decompressor->blocks, block)
		free(block->data);
	gt_array_clear(&decompressor->blocks);
	ZSTD_freeDStream(decompressor->stream);
	free(decompressor);
}

/* A slot for a new block: its index, or UINT32_MAX when out of memory. */
static uint32_t find_slot(struct gt_decompressor *decompressor)
{
	for (uint32_t i = 0; i < decompressor->blocks.count; i++)
		if (!decompressor->blocks.items[i].data)
			return i;
	if (!gt_array_push(&decompressor->blocks))
		return UINT32_MAX;
	return decompressor->blocks.count - 1;
}

/* Decompresses all of DATA behind the USED bytes that *BUFFER holds already. */
static int decompress(ZSTD_DStream *stream, const void *data, uint64_t size, uint64_t max_size,
		      uint8_t **buffer, size_t *used)
{
	ZSTD_inBuffer input = {.src = data, .size = size};
	uint64_t limit = GT_MIN(*used + max_size, (uint64_t)UINT32_MAX);
	size_t capacity = GT_MIN(*used + size * 8, limit);

	for (;;) {
		ZSTD_outBuffer output = {.pos = *used};
		uint8_t *bigger = realloc(*buffer, capacity + 1);
		size_t r;

		if (!bigger)
			return -ENOMEM;
		*buffer = bigger;
		output.dst = *buffer;
		output.size = capacity;
		r = ZSTD_decompressStream(stream, &output, &input);
		*used = output.pos;
		if (ZSTD_isError(r))
			return -EBADMSG;
		/* Room that is left means that nothing more is to come out. */
		if (input.pos == input.size && output.pos < output.size)
			return 0;
		if (output.pos == output.size && capacity == limit)
			return -EBADMSG;
		if (output.pos == output.size)
			capacity = GT_MIN(capacity * UINT64_C(2) + 64, limit);
	}
}

int gt_decompressor_feed(struct gt_decompressor *decompressor, const void *data, uint64_t size,
			 uint64_t max_size, uint64_t file_offset)
{
	_cleanup_free_ uint8_t *buffer = NULL;
	uint32_t slot = find_slot(decompressor);
	size_t used = 0;
	int r;

	if (slot == UINT32_MAX)
		return -ENOMEM;
	if (decompressor->newest != UINT32_MAX) {
		const struct block *last = &decompressor->blocks.items[decompressor->newest];

		used = last->size - decompressor->read;
		buffer = malloc(used + 1);
		if (!buffer)
			return -ENOMEM;
		memcpy(buffer, last->data + decompressor->read, used);
	}
	r = decompress(decompressor->stream, data, size, max_size, &buffer, &used);
	if (r < 0)
		return r;
	decompressor->blocks.items[slot] = (struct block){
		.data = GT_STEAL(buffer), .size = (uint32_t)used, .file_offset = file_offset};
	decompressor->newest = slot;
	decompressor->read = 0;
	return 0;
}

const void *gt_decompressor_next(struct gt_decompressor *decompressor, uint64_t *ret_position)
{
	const struct block *block;
	struct perf_event_header header;
	uint32_t start = decompressor->read;

	if (decompressor->newest == UINT32_MAX)
		return NULL;
	block = &decompressor->blocks.items[decompressor->newest];
	if (block->size - start < sizeof(header))
		return NULL;
	memcpy(&header, block->data + start, sizeof(header));
	if (header.size > block->size - start)
		return NULL;
	/* A size that is too small cannot be passed by: the caller gives up. */
	decompressor->read = start + header.size;
	*ret_position = (uint64_t)decompressor->newest << OFFSET_BITS | start;
	return block->data + start;
}

bool gt_decompressor_is_partial(const struct gt_decompressor *decompressor)
{
	return decompressor->newest != UINT32_MAX &&
	       decompressor->read < decompressor->blocks.items[decompressor->newest].size;
}

const void *gt_decompressor_at(const struct gt_decompressor *decompressor, uint64_t position,
			       uint64_t *ret_file_offset)
{
	const struct block *block = &decompressor->blocks.items[position >> OFFSET_BITS];

	*ret_file_offset = block->file_offset;
	return block->data + (uint32_t)position;
}

void gt_decompressor_keep(struct gt_decompressor *decompressor, uint64_t position)
{
	decompressor->blocks.items[position >> OFFSET_BITS].needed = true;
}

void gt_decompressor_sweep(struct gt_decompressor *decompressor)
{
	for (uint32_t i = 0; i < decompressor->blocks.count; i++) {
		struct block *block = &decompressor->blocks.items[i];

		if (!block->needed && i != decompressor->newest) {
			free(block->data);
			*block = (struct block){0};
		}
		block->needed = false;
	}
}
