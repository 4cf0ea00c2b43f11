/* SPDX-License-Identifier: MIT */
/*
 * What the file gil.agent of a trace directory looks like: a header, then blocks in the order in
 * which they were written. Everything is fixed-width, little-endian, and aligned to 8 bytes; times
 * are CLOCK_MONOTONIC in nanoseconds. The records of one thread are in the order of time; those of
 * different threads are not. A file that was cut off is good up to its last whole block.
 */
#pragma once

#include <stdint.h>

#define GT_AGENT_FILE_MAGIC UINT64_C(0x415441444c4947a9)
#define GT_AGENT_FILE_VERSION 1

struct gt_agent_file_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* where the first block is */
	/* Records before this were thrown away (flight recorder); 0: none were. Written at the end.
	 */
	uint64_t window_start_ns;
	uint64_t unused;
};

enum gt_agent_block_type {
	GT_AGENT_BLOCK_THREAD = 1, /* comes before all others of its thread */
	GT_AGENT_BLOCK_RECORDS,
	GT_AGENT_BLOCK_NAME,
	GT_AGENT_BLOCK_END,  /* is the last of its thread */
	GT_AGENT_BLOCK_LOST, /* of no thread (0). The last of a file that was finished */
};

struct gt_agent_block {
	uint32_t type;
	uint32_t thread; /* a number that no other thread of the file has */
	uint32_t bytes;	 /* with this header; a multiple of 8 */
	uint32_t unused;
};

/* Numbers of processes and threads end at 2^22 (PID_MAX_LIMIT in the kernel). */
#define GT_AGENT_MADE_UP_TID (UINT32_C(1) << 23)

/*
 * Told again when ppid, ptid or the map have changed. Of a process in a namespace whose /proc is
 * not the recorder's, pid or tid are 0: not known. The reader gives it numbers that no process has:
 * GT_AGENT_MADE_UP_TID and, added to it, how many threads the file tells of before this one. What
 * it has made up so for the first thread of a process, which is the main one if its tid is not
 * known either, is the process's pid as well.
 */
struct gt_agent_thread_block {
	struct gt_agent_block block;
	uint64_t time_ns; /* of its first record */
	uint32_t process; /* a number that no other process of the file has */
	uint32_t pid, tid;
	uint32_t ppid, ptid; /* the thread that has forked the process; 0: not known */
	uint32_t unused;
	uint64_t map_start, map_bytes, map_offset; /* of the file with the GIL */
	char comm[16];
};

/* Followed by the records: struct gt_agent_record of probes/agent/layout.h, times in ns. */
struct gt_agent_records_block {
	struct gt_agent_block block;
	uint64_t lost_before; /* between the thread's record before these and the first of these */
};

struct gt_agent_name_block {
	struct gt_agent_block block;
	uint64_t time_ns;
	char comm[16];
};

/* Of threads that have ended, or have lost records behind their last one. */
struct gt_agent_end_block {
	struct gt_agent_block block;
	/*
	 * When it ended: as it has told, or, where it was not able to (a SIGKILL, os._exit), when
	 * giltrace noticed, within 200 ms; 0: it had not.
	 */
	uint64_t time_ns;
	uint64_t lost; /* records behind its last one that were lost */
};

struct gt_agent_lost_block {
	struct gt_agent_block block;
	uint64_t lost; /* records of threads of which nothing was written, or nothing more */
};
