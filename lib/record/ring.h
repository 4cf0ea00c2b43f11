/* SPDX-License-Identifier: MIT */
/* Reads one of the kernel's rings, which libperf has mapped. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct perf_mmap;

struct gt_ring {
	struct perf_mmap *map;
	struct perf_event_mmap_page *page; /* NULL until its first record was seen, as data */
	const uint8_t *data;		   /* where the ring starts */
	uint64_t bytes;			   /* a power of two */
	uint64_t position;		   /* bytes that were read so far */
	uint64_t end;			   /* as far as there is something to read */
	bool is_broken;			   /* since it was begun: see gt_ring_next() */
};

/*
 * A record's bytes, in the ring: in two pieces when the record goes past its end and on at its
 * start. The header is always within the first.
 */
struct gt_ring_record {
	struct perf_event_header header;
	const uint8_t *first, *second;
	uint32_t first_size, second_size;
};

/*
 * Starts reading what the ring holds now: what is written to it later has to wait for the next
 * time. False when there is nothing to read.
 */
bool gt_ring_begin(struct gt_ring *ring);

/*
 * The next record. False when there is none; also when there should be one and there is none that
 * can be: then the rest is left out, which IS_BROKEN tells, and reading goes on at the next time.
 */
bool gt_ring_next(struct gt_ring *ring, struct gt_ring_record *ret);

/* Gives the room of all that was read back to the kernel. */
void gt_ring_end(struct gt_ring *ring);

/* Copies SIZE bytes of a record, from OFFSET on. False when it does not have so many. */
bool gt_ring_record_copy(const struct gt_ring_record *record, uint32_t offset, void *to,
			 uint32_t size);
