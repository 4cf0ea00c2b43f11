/* SPDX-License-Identifier: MIT */
/*
 * Why a thread is off its CPU of its own will, as its stack tells: one table, of what the kernel's
 * and the libraries' functions are called, from which a thread is known to wait for this or that.
 */
#pragma once

#include <stdint.h>

#include "unwind/sample.h"
#include "unwind/stacks.h"

enum gt_sleep_reason {
	GT_SLEEP_UNEXPLAINED,
	GT_SLEEP_GIL,
	GT_SLEEP_LOCK,	/* a lock or a condition: threading.Lock, queue, a mutex of C */
	GT_SLEEP_SLEEP, /* a span of time: time.sleep() */
	GT_SLEEP_POLL,	/* select, poll, epoll */
	GT_SLEEP_READ,	/* from a pipe, a terminal, a file */
	GT_SLEEP_WRITE,
	GT_SLEEP_RECV, /* from a socket */
	GT_SLEEP_SEND,
	GT_SLEEP_ACCEPT,
	GT_SLEEP_CONNECT,
	GT_SLEEP_OPEN,	 /* for the other end of a named pipe, or a server's file */
	GT_SLEEP_WAIT,	 /* for a child process */
	GT_SLEEP_SIGNAL, /* for a signal */
	GT_SLEEP_FUTEX,	 /* for another thread, and nothing says what for */
	GT_SLEEP_DISK,	 /* for a disk, or what looks like one */
	GT_SLEEP_MEMORY, /* for memory, or for the lock of an address space */
	GT_SLEEP_REASONS,
};

/* "GIL", "lock" …, as it stands between the brackets of S() and D(); NULL: unexplained. */
const char *gt_sleep_reason_name(enum gt_sleep_reason reason);

/*
 * What a thread waits for that has left its CPU with STACK. SAMPLE, which may be NULL, holds the
 * registers: the arguments of its system call.
 */
enum gt_sleep_reason gt_sleep_reason_find(const struct gt_stacks *stacks, uint32_t stack,
					  const struct gt_stack_sample *sample);
