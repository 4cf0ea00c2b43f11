/* SPDX-License-Identifier: MIT */
/* A ring as the kernel leaves it, and as it should not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <string.h>

#include "base/macros.h"
#include "record/ring.h"

#define RING_BYTES 256u

/* A ring, between pages that are none. */
struct memory {
	struct perf_event_mmap_page page;
	uint8_t data[RING_BYTES] __attribute__((aligned(8)));
	uint8_t behind[64];
};

static struct gt_ring make_ring(struct memory *memory)
{
	*memory = (struct memory){0};
	memset(memory->behind, 0xFF, sizeof(memory->behind));
	return (struct gt_ring){.page = &memory->page, .data = memory->data, .bytes = RING_BYTES};
}

/* Puts the header of a record that is said to be of SIZE bytes, and goes on ROOM bytes. */
static void put(struct memory *memory, uint16_t size, uint64_t room)
{
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = size};

	memcpy(memory->data + memory->page.data_head % RING_BYTES, &header, sizeof(header));
	memory->page.data_head += room;
}

/* How many records there are now. */
static uint32_t read_all(struct gt_ring *ring)
{
	struct gt_ring_record record;
	uint32_t count = 0;

	if (!gt_ring_begin(ring))
		return 0;
	while (gt_ring_next(ring, &record)) {
		assert_int_equal(record.first_size + record.second_size, record.header.size);
		assert_true(record.first + record.first_size <= ring->data + RING_BYTES);
		assert_true(++count <= RING_BYTES);
	}
	gt_ring_end(ring);
	assert_int_equal(ring->page->data_tail, ring->page->data_head);
	return count;
}

static void test_records_are_read_around_the_end(void **state)
{
	struct memory memory;
	struct gt_ring ring = make_ring(&memory);

	(void)state;
	assert_int_equal(read_all(&ring), 0);
	for (uint32_t i = 0; i < 20; i++) {
		put(&memory, 104, 104);
		put(&memory, 8, 8);
		assert_int_equal(read_all(&ring), 2);
		assert_false(ring.is_broken);
	}
}

/* Each of them, and a good one in front: then the good one is read, and what comes later. */
static void test_what_cannot_be_a_record_ends_the_reading(void **state)
{
	static const uint16_t sizes[] = {0, 1, 7, 9, 12, 48, 256, UINT16_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct memory memory;
		struct gt_ring ring = make_ring(&memory);

		put(&memory, 16, 16);
		put(&memory, sizes[i], 40);
		assert_int_equal(read_all(&ring), 1);
		assert_true(ring.is_broken);
		put(&memory, 24, 24);
		assert_int_equal(read_all(&ring), 1);
		assert_false(ring.is_broken);
	}
}

static void test_an_end_that_cannot_be_is_no_record(void **state)
{
	struct memory memory;
	struct gt_ring ring = make_ring(&memory);

	(void)state;
	put(&memory, 16, 16);
	put(&memory, 16, 16);
	assert_int_equal(read_all(&ring), 2);
	/* Back. */
	memory.page.data_head = 16;
	assert_int_equal(read_all(&ring), 0);
	assert_true(ring.is_broken);
	/* On, by more than it holds. */
	memory.page.data_head += RING_BYTES + 8;
	assert_int_equal(read_all(&ring), 0);
	assert_true(ring.is_broken);
	/* Where no record can start: a header there would go past the ring. */
	memory.page.data_head = 2 * RING_BYTES - 4;
	assert_int_equal(read_all(&ring), 0);
	assert_true(ring.is_broken);
	memory.page.data_head += 64;
	assert_int_equal(read_all(&ring), 0);
	assert_true(ring.is_broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_are_read_around_the_end),
		cmocka_unit_test(test_what_cannot_be_a_record_ends_the_reading),
		cmocka_unit_test(test_an_end_that_cannot_be_is_no_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
