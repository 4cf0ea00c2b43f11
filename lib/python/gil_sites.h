/* SPDX-License-Identifier: MIT */
/*
 * Where in the machine code of an interpreter the GIL changes hands.
 *
 *     take      the entry of take_gil: the thread wants the GIL
 *     acquired  the call of pthread_cond_signal(switch_cond) in take_gil: it has it
 *     release   the call of pthread_cond_signal(cond) in drop_gil: it has let go
 *     switched  the call of pthread_mutex_unlock(switch_mutex) in drop_gil: asked to let go, it has
 *               done waiting for another thread to take it
 *     retake    not probed: where the eval loop's call of take_gil behind a requested drop
 *               returns to (up to 3.12). A take that returns there follows such a drop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/macros.h"
#include "elf/ranges.h"

struct gt_elf;

enum gt_gil_site_kind {
	GT_GIL_SITE_TAKE,
	GT_GIL_SITE_ACQUIRED,
	GT_GIL_SITE_RELEASE,
	GT_GIL_SITE_SWITCHED,
	GT_GIL_SITE_RETAKE,
	GT_GIL_SITE_KINDS,
};

/* "take" …, as probes and files spell them. */
const char *gt_gil_site_name(enum gt_gil_site_kind kind);

typedef GT_ARRAY(uint64_t) gt_gil_offsets;

/*
 * The calls by which a library in front of the pthread functions (probes/agent) sees the same
 * moments.
 */
enum gt_gil_call_kind {
	GT_GIL_CALL_TAKE_LOCK, /* pthread_mutex_lock(mutex), the first one in take_gil */
	GT_GIL_CALL_TAKE_WAIT, /* pthread_cond_timedwait(cond, mutex) */
	GT_GIL_CALL_ACQUIRED,  /* pthread_cond_signal(switch_cond) */
	GT_GIL_CALL_RELEASE,   /* pthread_cond_signal(cond) */
	GT_GIL_CALL_SWITCHED,  /* pthread_mutex_unlock(switch_mutex) */
	GT_GIL_CALL_KINDS,
};

struct gt_gil_call_site {
	enum gt_gil_call_kind kind;
	uint64_t return_offset; /* file offset of the instruction behind the call */
	/*
	 * TAKE_LOCK and TAKE_WAIT: where take_gil's return address is, in bytes from the stack
	 * pointer at the call, or from the frame pointer.
	 */
	bool by_frame_pointer;
	int32_t caller_offset;
};

typedef GT_ARRAY(struct gt_gil_call_site) gt_gil_call_sites;

struct gt_gil_sites {
	/* File offsets in rising order, without duplicates. Only retake may be empty. */
	gt_gil_offsets offsets[GT_GIL_SITE_KINDS];
	/* By rising offset. Empty when the calls are such that an agent cannot tell them. */
	gt_gil_call_sites calls;
	/*
	 * The code in which a thread that does not run waits for the GIL, by rising offset and
	 * apart from one another: all of take_gil and its copies; and where drop_gil waits after a
	 * requested drop, the last byte of each call, wherever that was inlined. A frame of a stack
	 * is in it when the byte before its return address is.
	 */
	gt_elf_ranges waits;
	/*
	 * "symbols" or "debuglink" when symbols in the file, or in its debug file, confirm what the
	 * code has shown; "sites" when there is the code alone. Not to be freed.
	 */
	const char *found_by;
};

/*
 * Finds the sites in the file that holds the GIL: libpython, or the program where that is linked
 * in. -ENODATA when there is no code that looks like a GIL (logged, with what to do); -EOPNOTSUPP
 * for a machine whose code is not understood; -EBADMSG for a broken file. The caller clears RET.
 */
int gt_gil_sites_find(const struct gt_elf *elf, struct gt_gil_sites *ret);
void gt_gil_sites_clear(struct gt_gil_sites *sites);

/* For those who find sites: adds one, by its virtual address. -ENOMEM, logged. */
int gt_gil_sites_add(struct gt_gil_sites *sites, enum gt_gil_site_kind kind, uint64_t address);

/* For those who find sites: turns addresses into file offsets, sorted and without duplicates. */
void gt_gil_sites_finish(const struct gt_elf *elf, struct gt_gil_sites *sites);
