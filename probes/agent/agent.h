/* SPDX-License-Identifier: MIT */
/*
 * The agent: a library in front of the pthread functions of a Python process (LD_PRELOAD), which
 * notes when the GIL changes hands. It lives in other people's programs, and so it never waits,
 * prints or fails: where it cannot do its work, calls go straight through.
 *
 * It has no needs of its own (no DT_NEEDED): what it calls must be in every libc since glibc 2.17.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/agent/layout.h"
#include "python/gil_sites.h"

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* What a thread has at hand. Zero before its first moment. */
struct gt_agent_thread {
	struct gt_agent_record *next, *end; /* of its chunk */
	struct gt_agent_chunk *chunk;
	uint64_t caller; /* of take_gil, by its lock call: where it will return to */
	bool took;	 /* the take since then has been noted */
	bool is_renewing;
	uint32_t process; /* that all this is about: a fork leaves that of the parent */
	uint32_t number, pid, tid, ppid, ptid;
};

/*
 * In static TLS, so that no access allocates or takes a lock. Programs have room for libraries that
 * are there from the start.
 */
extern __thread struct gt_agent_thread gt_agent_self __attribute__((tls_model("initial-exec")));

/* A call in the GIL's code. */
struct gt_agent_call {
	uint64_t address; /* where it returns to; 0: none */
	uint8_t kind;	  /* enum gt_gil_call_kind */
	bool by_frame_pointer;
	int32_t caller_offset;
};

#define GT_AGENT_CALL_BITS 9
#define GT_AGENT_CALLS (1u << GT_AGENT_CALL_BITS)

/* By their return addresses. The empty table of an idle agent has none at all. */
struct gt_agent_calls {
	/* A bit for each entry that is taken: one cache line, where the entries have many. */
	uint64_t taken[GT_AGENT_CALLS / 64] __attribute__((aligned(64)));
	struct gt_agent_call calls[GT_AGENT_CALLS];
};

extern struct gt_agent_calls gt_agent_calls;

static inline uint32_t gt_agent_call_slot(uint64_t address)
{
	return (uint32_t)address * UINT32_C(0x9e3779b1) >> (32 - GT_AGENT_CALL_BITS);
}

/* Nearly every call of a program is one of others, and its bit says so. */
static inline const struct gt_agent_call *gt_agent_find_call(const void *return_address)
{
	uint64_t address = (uint64_t)return_address;
	uint32_t slot = gt_agent_call_slot(address);

	if (likely(!(gt_agent_calls.taken[slot / 64] >> slot % 64 & 1)))
		return NULL;
	while (gt_agent_calls.calls[slot].address != 0) {
		if (likely(gt_agent_calls.calls[slot].address == address))
			return &gt_agent_calls.calls[slot];
		slot = (slot + 1) % GT_AGENT_CALLS;
	}
	return NULL;
}
