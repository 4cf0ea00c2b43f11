/* SPDX-License-Identifier: MIT */
/*
 * The data of zstd-compressed records: one stream over the whole file, in which a record may begin
 * in one compressed record and end in the next. Each compressed record becomes a block, which is
 * kept as long as records in it have not been given.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct gt_decompressor;

/* -ENOMEM when out of memory. */
int gt_decompressor_new(struct gt_decompressor **ret);
void gt_decompressor_free(struct gt_decompressor *decompressor);
GT_DEFINE_CLEANUP(struct gt_decompressor *, gt_decompressor_free)

/*
 * Makes a block from what the last one left unread and the SIZE bytes of zstd data at DATA, which
 * lie at FILE_OFFSET in the file. -EBADMSG for data that is broken or becomes more than MAX_SIZE
 * bytes.
 */
int gt_decompressor_feed(struct gt_decompressor *decompressor, const void *data, uint64_t size,
			 uint64_t max_size, uint64_t file_offset);

/*
 * The next whole record of the newest block and its POSITION; NULL when there is none. The bytes
 * left over then wait for the next block.
 */
const void *gt_decompressor_next(struct gt_decompressor *decompressor, uint64_t *ret_position);

/* Whether a record's first bytes wait for the rest. */
bool gt_decompressor_is_partial(const struct gt_decompressor *decompressor);

/* The record at a position that gt_decompressor_next() gave, and its block's offset in the file. */
const void *gt_decompressor_at(const struct gt_decompressor *decompressor, uint64_t position,
			       uint64_t *ret_file_offset);

/* To drop blocks: mark what is still needed, then sweep the rest. */
void gt_decompressor_keep(struct gt_decompressor *decompressor, uint64_t position);
void gt_decompressor_sweep(struct gt_decompressor *decompressor);
