/* SPDX-License-Identifier: MIT */
/*
 * The memory that giltrace shares with the agents in the traced processes: a head, and behind it
 * chunks of records that threads fill and giltrace empties. An agent of another version does not
 * touch it.
 *
 * A thread takes a chunk from the free ones, fills it, leaves it, and takes the next. Giltrace
 * writes to its file what the chunks hold, and gives back those that were left, or whose thread is
 * gone. Both sides only ever wait for nothing.
 *
 * A thread that needs a chunk
 *   1. takes the first of the stack `free`, by an exchange of all 64 bits: the lower half becomes
 *      that chunk's `next`, the upper half grows by one. What it reads is checked: an index beyond
 *      chunk_count is none;
 *   2. when there is none, adds one to `touched`, if that is below chunk_count; what was there
 *      before is the chunk, if it is below chunk_count as well (others may have come first);
 *   3. when there is none either, and giltrace has EMPTIED its last one, takes that again;
 *   4. else the record is lost: it adds one to `lost` of its last chunk, which it keeps, or to
 *      lost_without_chunk when it never had one.
 * It clears the records of its new chunk, fills in the head (lost_before is `lost` of the one
 * before), and then sets the state to USED, with release. Only then does it
 * set that of the one before to LEFT, with release.
 *
 * A record's value is written before its time, which is written with release: a time of 0 is a
 * record that is not there yet. A signal handler may write records behind one that it has
 * interrupted, and even leave the chunk: giltrace waits a while for such a hole, and then gives the
 * chunk to nobody else as long as the thread lives.
 *
 * A thread that ends fills in exit_time and comm, and sets the state to LEFT.
 */
#pragma once

#include <stdint.h>

#define GT_AGENT_MAGIC UINT64_C(0x746e6567614c4947) /* "GILagent" */
#define GT_AGENT_VERSION 1

/*
 * "TOKEN:/proc/PID/fd/FD": where the memory is, and (hexadecimal) the token in its head, as numbers
 * of processes come again. Such a path needs no name in any file system, and leads there from
 * another root as well.
 */
#define GT_AGENT_VARIABLE "GILTRACE_AGENT"

/* The section of the agent's file that holds GT_AGENT_VERSION, in 32 bits. */
#define GT_AGENT_VERSION_SECTION ".giltrace.agent"

enum gt_agent_kind {
	GT_AGENT_TAKE = 1, /* wants the GIL, and has to wait for it, or was asked to let go */
	GT_AGENT_ACQUIRED,
	GT_AGENT_RELEASE,
	GT_AGENT_SWITCHED,
};

enum gt_agent_clock {
	GT_AGENT_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC, nanoseconds */
	GT_AGENT_CLOCK_TSC,	  /* the time-stamp counter of x86 */
};

/* One moment of one thread. */
struct gt_agent_record {
	/* The clock, and in the bits from GT_AGENT_KIND_SHIFT on the kind. 0: not written yet. */
	uint64_t time;
	/* take: the return address of take_gil; else the first argument at the site: the lock */
	uint64_t value;
};

#define GT_AGENT_KIND_SHIFT 60
#define GT_AGENT_TIME_MASK ((UINT64_C(1) << GT_AGENT_KIND_SHIFT) - 1)

/* How a call of the GIL's code is told from others: by where it returns to. */
struct gt_agent_site {
	uint64_t offset; /* in the file that has the GIL, of the instruction behind the call */
	uint8_t kind;	 /* enum gt_gil_call_kind, see lib/python/gil_sites.h */
	/* Where in take_gil's frame its own return address is, from the stack pointer at the call,
	 * or from the frame pointer. Only for the calls at which a take begins. */
	uint8_t by_frame_pointer;
	uint16_t unused;
	int32_t caller_offset;
};

enum gt_agent_chunk_state {
	GT_AGENT_CHUNK_FREE,
	GT_AGENT_CHUNK_USED, /* its thread writes to it */
	GT_AGENT_CHUNK_LEFT, /* its thread is done with it */
	/* Full, and read to its end, before its thread has found another one. Set by giltrace. */
	GT_AGENT_CHUNK_EMPTIED,
};

#define GT_AGENT_CHUNK_BYTES 16384u
#define GT_AGENT_COMM_BYTES 16

struct gt_agent_chunk {
	uint32_t state; /* enum gt_agent_chunk_state; the rest is valid once it is not free */
	uint32_t next;	/* of the free chunks: index + 1; 0: none */
	uint32_t process, thread; /* numbers that never come again, from 1 */
	/* As giltrace's /proc has them. 0: not known, in a namespace without that. */
	uint32_t pid, tid;
	uint32_t ppid, ptid; /* the thread that has forked the process; 0: not known */
	/* What is mapped of the file with the GIL where the sites are. */
	uint64_t map_start, map_bytes, map_offset;
	uint64_t lost_before; /* records of this thread that found no chunk, before this one's */
	uint64_t lost;	      /* the same, behind this chunk's last record, so far */
	/*
	 * When the thread has ended, by the clock; 0: it has not said. In a chunk that is not LEFT
	 * it only holds if no record is younger, and if the thread turns out to be gone: a child of
	 * vfork ends in the name of its parent.
	 */
	uint64_t exit_time;
	char comm[GT_AGENT_COMM_BYTES]; /* its name as it began, or as it ended; "": as before */
	uint64_t unused[4];
	struct gt_agent_record records[];
};

_Static_assert(sizeof(struct gt_agent_chunk) == 128, "records start at a cache line");

#define GT_AGENT_CHUNK_RECORDS                                                                     \
	((GT_AGENT_CHUNK_BYTES - (uint32_t)sizeof(struct gt_agent_chunk)) /                        \
	 (uint32_t)sizeof(struct gt_agent_record))

#define GT_AGENT_MAX_SITES 128
#define GT_AGENT_MAX_RETAKES 8
#define GT_AGENT_BUILD_ID_BYTES 20

/* The head. It has the size of a chunk. */
struct gt_agent_shared {
	uint64_t magic;
	uint32_t version;
	uint32_t clock; /* enum gt_agent_clock */
	uint64_t token;
	uint64_t bytes;	      /* of all */
	uint32_t chunk_count; /* behind the head */

	/* The file that has the GIL: by its build-id, or, where that is empty, by its inode. */
	uint32_t build_id_bytes;
	uint8_t build_id[GT_AGENT_BUILD_ID_BYTES];
	uint32_t site_count, retake_count;
	uint64_t device, inode;
	struct gt_agent_site sites[GT_AGENT_MAX_SITES];
	/* Offsets where take_gil returns to after a requested drop: such a take is always told. */
	uint64_t retakes[GT_AGENT_MAX_RETAKES];

	/* From here on agents write. */
	uint64_t free; /* the first free chunk: index + 1 (0: none); in the upper half a count that
			  changes with each change, so that no change goes unseen */
	uint32_t touched;	     /* chunks that have ever been taken: those behind were not */
	uint32_t processes;	     /* that have attached */
	uint32_t threads;	     /* likewise */
	uint32_t closed;	     /* giltrace reads no more */
	uint64_t lost_without_chunk; /* records of threads that never got a chunk */
};

_Static_assert(sizeof(struct gt_agent_shared) <= GT_AGENT_CHUNK_BYTES, "the head fits");

static inline struct gt_agent_chunk *gt_agent_chunk_at(struct gt_agent_shared *shared,
						       uint32_t index)
{
	return (struct gt_agent_chunk *)((char *)shared +
					 ((uint64_t)index + 1) * GT_AGENT_CHUNK_BYTES);
}
