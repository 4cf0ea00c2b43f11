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

/* A call in the GIL's code, by its return address. The empty table of an idle agent has none. */
struct gt_agent_call {
	uint64_t address; /* 0: none */
	uint32_t kind;	  /* enum gt_gil_call_kind */
	bool by_frame_pointer;
	int32_t caller_offset;
};

#define GT_AGENT_CALL_BITS 9
#define GT_AGENT_CALLS (1u << GT_AGENT_CALL_BITS)

extern struct gt_agent_call gt_agent_calls[GT_AGENT_CALLS];

static inline uint32_t gt_agent_call_slot(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - GT_AGENT_CALL_BITS));
}

/* Nearly every call of a program is one of others: an empty slot says so at once. */
static inline const struct gt_agent_call *gt_agent_find_call(const void *return_address)
{
	uint64_t address = (uint64_t)return_address;
	uint32_t slot = gt_agent_call_slot(address);

	while (unlikely(gt_agent_calls[slot].address != 0)) {
		if (gt_agent_calls[slot].address == address)
			return &gt_agent_calls[slot];
		slot = (slot + 1) % GT_AGENT_CALLS;
	}
	return NULL;
}

/* Whether take_gil returns to where a drop on request is followed by it. */
bool gt_agent_is_retake(uint64_t caller);

/* Notes that a moment is now. */
void gt_agent_note(enum gt_agent_kind kind, uint64_t value);
