/* SPDX-License-Identifier: MIT */
/* Writes the file gil.agent (agentdata/format.h), and counts what it writes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agentdata/format.h"
#include "base/macros.h"
#include "record/agent_window.h"

struct gt_agent_file {
	char *path;
	int fd;
	int error; /* a write that failed: it has been told */
	uint8_t *buffer;
	uint32_t used; /* bytes */
	uint64_t flushed_ns;
	bool has_window; /* the records are kept in it until the end */
	struct gt_agent_window window;
	uint64_t records, lost; /* written */
};

/* Makes or empties PATH. KEEP_NS: how much is kept of the records; 0: all. Logs what failed. FILE
 * can be closed also after a failure. */
int gt_agent_file_open(struct gt_agent_file *file, const char *path, uint64_t keep_ns);
void gt_agent_file_close(struct gt_agent_file *file);

/* Adds a block, not one of records. -errno, logged once. */
int gt_agent_file_put(struct gt_agent_file *file, const struct gt_agent_block *block);

/*
 * Room for a block of COUNT records, and adding it when it has been filled in; NEWEST_NS is the
 * time of its last record. NULL when the file cannot be written: see file->error.
 */
struct gt_agent_records_block *gt_agent_file_begin_records(struct gt_agent_file *file,
							   uint32_t count, uint64_t now_ns);
void gt_agent_file_end_records(struct gt_agent_file *file,
			       const struct gt_agent_records_block *block, uint64_t newest_ns);

/* To be called now and then: keeps the file up to date, and the window small. -errno, logged. */
int gt_agent_file_tend(struct gt_agent_file *file, uint64_t now_ns);

/* Where the window starts that ends at END_NS; 0 when it reaches back to the first record of all.
 */
uint64_t gt_agent_file_window_start(const struct gt_agent_file *file, uint64_t first_ns,
				    uint64_t end_ns);

/* Adds the records of the window. */
int gt_agent_file_put_window(struct gt_agent_file *file, uint64_t start_ns);

/* Writes what is left, and the header. -errno, logged once. */
int gt_agent_file_finish(struct gt_agent_file *file, uint64_t window_start_ns);
