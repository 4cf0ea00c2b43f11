/* SPDX-License-Identifier: MIT */
/* Clocks. Time is nanoseconds in uint64_t until it is printed. */
#pragma once

#include <stdint.h>
#include <time.h>

#define GT_NS_PER_SEC UINT64_C(1000000000)
#define GT_NS_PER_MS UINT64_C(1000000)
#define GT_NS_PER_US UINT64_C(1000)

static inline uint64_t gt_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * GT_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* How long TIME_NS is after START_NS; 0 when it is before. */
static inline uint64_t gt_ns_since(uint64_t time_ns, uint64_t start_ns)
{
	return time_ns > start_ns ? time_ns - start_ns : 0;
}
