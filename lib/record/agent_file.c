/* SPDX-License-Identifier: MIT */
#include "record/agent_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/time.h"
#include "probes/agent/layout.h"
#include "record/write_error.h"

#define BUFFER_BYTES (UINT32_C(1) << 20)

/* What is written at once, unless it has waited for so long that its loss would hurt. */
#define MIN_WRITE_BYTES (UINT32_C(64) << 10)
#define MAX_DELAY_NS GT_NS_PER_SEC

static int refuse_write(struct gt_agent_file *file, int err)
{
	file->error = err;
	return gt_write_error(file->path, err);
}

static int flush(struct gt_agent_file *file)
{
	int r;

	if (file->error)
		return file->error;
	r = gt_write_all(file->fd, file->buffer, file->used);
	file->used = 0;
	return r < 0 ? refuse_write(file, r) : 0;
}

int gt_agent_file_open(struct gt_agent_file *file, const char *path, uint64_t keep_ns)
{
	struct gt_agent_file_header header = {.magic = GT_AGENT_FILE_MAGIC,
					      .version = GT_AGENT_FILE_VERSION,
					      .header_bytes = sizeof(header)};

	*file = (struct gt_agent_file){.fd = -1, .has_window = keep_ns > 0};
	gt_agent_window_start(&file->window, keep_ns);
	file->path = strdup(path);
	file->buffer = malloc(BUFFER_BYTES);
	if (!file->path || !file->buffer)
		return gt_error_oom();
	/* It shows what other users' programs do: for its owner only. */
	file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file->fd < 0)
		return refuse_write(file, -errno);
	memcpy(file->buffer, &header, sizeof(header));
	file->used = sizeof(header);
	/* At once, so that a file that cannot be written is found before the target runs. */
	return flush(file);
}

void gt_agent_file_close(struct gt_agent_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	gt_agent_window_clear(&file->window);
	free(file->buffer);
	free(file->path);
	*file = (struct gt_agent_file){.fd = -1};
}

static void *reserve(struct gt_agent_file *file, uint32_t bytes)
{
	if (file->used + bytes > BUFFER_BYTES)
		flush(file);
	return file->error ? NULL : file->buffer + file->used;
}

static void count_records(struct gt_agent_file *file, const struct gt_agent_records_block *block)
{
	file->records += (block->block.bytes - sizeof(*block)) / sizeof(struct gt_agent_record);
	file->lost += block->lost_before;
}

int gt_agent_file_put(struct gt_agent_file *file, const struct gt_agent_block *block)
{
	void *to = reserve(file, block->bytes);

	if (!to)
		return file->error;
	memcpy(to, block, block->bytes);
	file->used += block->bytes;
	if (block->type == GT_AGENT_BLOCK_END)
		file->lost += ((const struct gt_agent_end_block *)block)->lost;
	else if (block->type == GT_AGENT_BLOCK_LOST)
		file->lost += ((const struct gt_agent_lost_block *)block)->lost;
	return 0;
}

struct gt_agent_records_block *gt_agent_file_begin_records(struct gt_agent_file *file,
							   uint32_t count, uint64_t now_ns)
{
	uint32_t bytes = (uint32_t)(sizeof(struct gt_agent_records_block) +
				    count * sizeof(struct gt_agent_record));
	void *block;

	if (!file->has_window)
		return reserve(file, bytes);
	block = gt_agent_window_reserve(&file->window, bytes, now_ns);
	if (!block && !file->error)
		file->error = gt_error_oom();
	return block;
}

void gt_agent_file_end_records(struct gt_agent_file *file,
			       const struct gt_agent_records_block *block, uint64_t newest_ns)
{
	if (file->has_window) {
		gt_agent_window_commit(&file->window, block->block.bytes, newest_ns);
		return;
	}
	file->used += block->block.bytes;
	count_records(file, block);
}

int gt_agent_file_tend(struct gt_agent_file *file, uint64_t now_ns)
{
	if (file->has_window)
		gt_agent_window_age(&file->window);
	if (file->used < MIN_WRITE_BYTES &&
	    (file->used == 0 || now_ns < file->flushed_ns + MAX_DELAY_NS))
		return file->error;
	file->flushed_ns = now_ns;
	return flush(file);
}

uint64_t gt_agent_file_window_start(const struct gt_agent_file *file, uint64_t first_ns,
				    uint64_t end_ns)
{
	const struct gt_agent_window *window = &file->window;

	if (!file->has_window || end_ns < window->keep_ns || first_ns >= end_ns - window->keep_ns)
		return 0;
	return GT_MAX(end_ns - window->keep_ns, window->thrown_ns + 1);
}

int gt_agent_file_put_window(struct gt_agent_file *file, uint64_t start_ns)
{
	struct gt_agent_window *window = &file->window;

	for (uint32_t i = window->first; i < window->parts.count; i++) {
		struct gt_agent_window_part *part = &window->parts.items[i];
		uint32_t bytes;

		for (uint32_t at = 0; at < part->used; at += bytes) {
			struct gt_agent_records_block *block = (void *)(part->data + at);
			int r;

			bytes = block->block.bytes; /* as it was before the trimming */
			if (!gt_agent_window_trim(block, start_ns))
				continue;
			r = gt_agent_file_put(file, &block->block);
			if (r < 0)
				return r;
			count_records(file, block);
		}
	}
	gt_agent_window_clear(window);
	return 0;
}

int gt_agent_file_finish(struct gt_agent_file *file, uint64_t window_start_ns)
{
	int r = flush(file);

	if (r < 0 || window_start_ns == 0)
		return r;
	if (pwrite(file->fd, &window_start_ns, sizeof(window_start_ns),
		   offsetof(struct gt_agent_file_header, window_start_ns)) !=
	    (ssize_t)sizeof(window_start_ns))
		return refuse_write(file, errno ? -errno : -EIO);
	return 0;
}
