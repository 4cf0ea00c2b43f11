/* SPDX-License-Identifier: MIT */
/* Opens the file, and finds out which block belongs to which thread. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "agentdata/reader.h"
#include "base/log.h"

static int map_file(struct gt_agentdata *data)
{
	/* Without O_NONBLOCK the opening of a FIFO would wait for a writer. */
	_cleanup_close_ int fd = open(data->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	void *map;

	if (fd < 0 || fstat(fd, &status) < 0)
		return gt_error_errno(-errno, "cannot open %s", data->path);
	if (!S_ISREG(status.st_mode)) {
		gt_error("%s is no regular file", data->path);
		return -EBADMSG;
	}
	if (status.st_size == 0) {
		gt_error("%s is empty: its recording failed or has not begun to write", data->path);
		return -EBADMSG;
	}
	map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return gt_error_errno(-errno, "cannot map %s", data->path);
	data->map = map;
	data->map_bytes = data->size = (uint64_t)status.st_size;
	/* Only a hint: it is read about from start to end. */
	madvise(map, data->size, MADV_WILLNEED);
	return 0;
}

static int check_header(struct gt_agentdata *data)
{
	struct gt_agent_file_header *header = &data->header;

	if (data->size < sizeof(*header))
		return gt_agentdata_broken(data, data->size, "the file ends within its header");
	memcpy(header, data->map, sizeof(*header));
	if (header->magic != GT_AGENT_FILE_MAGIC)
		return gt_agentdata_broken(data, 0, "it is no file of giltrace's agent");
	if (header->version != GT_AGENT_FILE_VERSION) {
		gt_error("%s has version %" PRIu32 ", and this giltrace reads version %d\n"
			 "  read it with the giltrace that recorded it",
			 data->path, header->version, GT_AGENT_FILE_VERSION);
		return -EBADMSG;
	}
	if (header->header_bytes < sizeof(*header) || header->header_bytes > data->size ||
	    header->header_bytes % sizeof(uint64_t) != 0)
		return gt_agentdata_broken(data,
					   offsetof(struct gt_agent_file_header, header_bytes),
					   "a header of %" PRIu32 " bytes", header->header_bytes);
	return 0;
}

/* NULL, or what is wrong with a block's size. */
static const char *check_size(const struct gt_agent_block *block)
{
	uint64_t records = block->bytes - (uint64_t)sizeof(struct gt_agent_records_block);

	switch (block->type) {
	case GT_AGENT_BLOCK_THREAD:
		return block->bytes < sizeof(struct gt_agent_thread_block) ? "of a thread" : NULL;
	case GT_AGENT_BLOCK_RECORDS:
		return block->bytes < sizeof(struct gt_agent_records_block) ||
				       records % sizeof(struct gt_agent_record) != 0
			       ? "of records"
			       : NULL;
	case GT_AGENT_BLOCK_NAME:
		return block->bytes < sizeof(struct gt_agent_name_block) ? "of a name" : NULL;
	case GT_AGENT_BLOCK_END:
		return block->bytes < sizeof(struct gt_agent_end_block) ? "of an end" : NULL;
	case GT_AGENT_BLOCK_LOST:
		return block->bytes < sizeof(struct gt_agent_lost_block) ? "of losses" : NULL;
	default:
		return "of no known type";
	}
}

/* The thread that a block belongs to, or GT_HASH_NONE; a block of type THREAD may be its first. */
static int find_thread(struct gt_agentdata *data, uint64_t offset, uint32_t *ret)
{
	const struct gt_agent_block *block = gt_agentdata_block(data, offset);
	uint32_t thread = gt_hash_get(&data->thread_by_number, block->thread);

	if (thread == GT_HASH_NONE && block->type == GT_AGENT_BLOCK_THREAD) {
		struct gt_reader_thread *item;

		item = gt_array_push(&data->threads);
		if (!item)
			return gt_error_oom();
		item->process = GT_READER_NONE;
		thread = data->threads.count - 1;
		if (gt_hash_set(&data->thread_by_number, block->thread, thread) < 0)
			return gt_error_oom();
	}
	*ret = thread;
	return 0;
}

static int add_block(struct gt_agentdata *data, uint64_t offset)
{
	const struct gt_agent_block *block = gt_agentdata_block(data, offset);
	uint32_t thread = 0;
	uint64_t *item;
	int r;

	data->is_cut = block->type != GT_AGENT_BLOCK_LOST;
	if (block->type == GT_AGENT_BLOCK_LOST) {
		data->lost_threads += ((const struct gt_agent_lost_block *)block)->lost;
		data->done += block->bytes;
		return 0;
	}
	r = find_thread(data, offset, &thread);
	if (r < 0)
		return r;
	if (thread == GT_HASH_NONE) {
		if (!data->has_orphans)
			gt_agentdata_warn(data, offset,
					  "a block of thread %" PRIu32
					  ", of which nothing was said\n"
					  "  what such blocks hold counts as lost",
					  block->thread);
		data->has_orphans = true;
		data->lost_threads += gt_agentdata_count_records(block);
		data->done += block->bytes;
		return 0;
	}
	item = gt_array_push(&data->threads.items[thread].blocks);
	if (!item)
		return gt_error_oom();
	*item = offset;
	return 0;
}

static void warn_of_end(const struct gt_agentdata *data, uint64_t offset)
{
	gt_warning("%s was cut off at offset %" PRIu64 ": the GIL behind it is not known",
		   data->path, offset);
}

static int find_blocks(struct gt_agentdata *data)
{
	uint64_t offset = data->header.header_bytes;

	data->is_cut = true;
	while (offset < data->size) {
		const struct gt_agent_block *block = gt_agentdata_block(data, offset);
		uint64_t left = data->size - offset;
		const char *wrong;
		int r;

		if (left < sizeof(*block))
			break;
		if (block->bytes < sizeof(*block) || block->bytes % sizeof(uint64_t) != 0)
			return gt_agentdata_broken(data, offset, "a block of %" PRIu32 " bytes",
						   block->bytes);
		wrong = check_size(block);
		if (wrong)
			return gt_agentdata_broken(
				data, offset, "a block %s (type %" PRIu32 ") of %" PRIu32 " bytes",
				wrong, block->type, block->bytes);
		if (block->bytes > left)
			break;
		r = add_block(data, offset);
		if (r < 0)
			return r;
		offset += block->bytes;
	}
	data->is_cut |= offset < data->size;
	data->size = GT_MIN(data->size, offset);
	if (data->is_cut)
		warn_of_end(data, offset);
	return 0;
}

int gt_agentdata_map(struct gt_agentdata *data)
{
	int r = map_file(data);

	if (r < 0)
		return r;
	r = check_header(data);
	if (r < 0)
		return r;
	return find_blocks(data);
}
