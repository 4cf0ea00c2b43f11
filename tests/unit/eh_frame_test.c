/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <dwarf.h>

#include "base/macros.h"
#include "elf/eh_frame.h"

#define TABLE_ADDRESS 0x10000

/* A table, put together byte by byte. */
struct table {
	unsigned char bytes[512];
	uint32_t size;
};

static void add(struct table *table, const void *bytes, uint32_t size)
{
	assert_true(size <= sizeof(table->bytes) - table->size);
	memcpy(table->bytes + table->size, bytes, size);
	table->size += size;
}

static void add_number(struct table *table, uint64_t value, uint32_t size)
{
	add(table, &value, size);
}

/* Leaves room for the length; the entry is ended by end_entry(). */
static uint32_t begin_entry(struct table *table)
{
	uint32_t start = table->size;

	add_number(table, 0, 4);
	return start;
}

static void end_entry(struct table *table, uint32_t start)
{
	uint32_t length;

	while (table->size % 4 != 0)
		add_number(table, DW_CFA_nop, 1);
	length = table->size - start - 4;
	memcpy(table->bytes + start, &length, sizeof(length));
}

/* A CIE whose FDEs have their addresses in ENCODING; where it starts. */
static uint32_t add_common(struct table *table, uint8_t encoding)
{
	uint32_t start = begin_entry(table);

	add_number(table, 0, 4);
	add_number(table, 1, 1);
	add(table, "zPLR", 5);
	add_number(table, 1, 1);
	add_number(table, 0x78, 1);
	add_number(table, 16, 1);
	add_number(table, 7, 1);
	add_number(table, DW_EH_PE_udata4, 1); /* of the function for exceptions */
	add_number(table, 0x1234, 4);
	add_number(table, DW_EH_PE_absptr, 1);
	add_number(table, encoding, 1);
	end_entry(table, start);
	return start;
}

/* An FDE of the range [START, START + SIZE), in SIZE_BYTES each, with one instruction. */
static void add_range(struct table *table, uint32_t common, uint64_t start, uint64_t size,
		      uint32_t size_bytes, uint8_t instruction)
{
	uint32_t entry = begin_entry(table);

	add_number(table, table->size - common, 4);
	add_number(table, start, size_bytes);
	add_number(table, size, size_bytes);
	add_number(table, 0, 1);
	add_number(table, instruction, 1);
	add_number(table, instruction == DW_CFA_nop ? DW_CFA_nop : 16, 1);
	end_entry(table, entry);
}

/* What is to be written for an address that is relative to where it is. */
static uint64_t relative(const struct table *table, uint64_t address)
{
	return address - (TABLE_ADDRESS + table->size + 8);
}

static void parse(const struct table *table, gt_elf_functions *ret)
{
	*ret = (gt_elf_functions){0};
	assert_int_equal(gt_eh_frame_parse(table->bytes, table->size, TABLE_ADDRESS, ret), 0);
}

static void check_range(const gt_elf_functions *functions, uint32_t index, uint64_t start,
			uint64_t end)
{
	assert_true(index < functions->count);
	assert_int_equal(functions->items[index].start, start);
	assert_int_equal(functions->items[index].end, end);
	assert_string_equal(functions->items[index].name, "");
}

static void test_encodings(void **state)
{
	static const struct {
		uint8_t encoding;
		uint32_t bytes;
		bool relative;
	} cases[] = {
		{DW_EH_PE_pcrel | DW_EH_PE_sdata4, 4, true},
		{DW_EH_PE_pcrel | DW_EH_PE_sdata8, 8, true},
		{DW_EH_PE_pcrel | DW_EH_PE_udata8, 8, true},
		{DW_EH_PE_absptr, 8, false},
		{DW_EH_PE_udata4, 4, false},
		{DW_EH_PE_sdata2, 2, false},
		{DW_EH_PE_udata2, 2, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table table = {0};
		gt_elf_functions functions;
		uint32_t common = add_common(&table, cases[i].encoding);

		/* Before the table, so that the distance is negative. */
		add_range(&table, common,
			  cases[i].relative ? relative(&table, 0x4000) : UINT64_C(0x4000), 0x80,
			  cases[i].bytes, DW_CFA_nop);
		add_range(&table, common,
			  cases[i].relative ? relative(&table, 0x2000) : UINT64_C(0x2000), 0x10,
			  cases[i].bytes, DW_CFA_nop);
		parse(&table, &functions);
		assert_int_equal(functions.count, 2);
		check_range(&functions, 0, 0x4000, 0x4080);
		check_range(&functions, 1, 0x2000, 0x2010);
		gt_array_clear(&functions);
	}
}

static void test_leb128(void **state)
{
	struct table table = {0};
	gt_elf_functions functions;
	uint32_t common = add_common(&table, DW_EH_PE_uleb128), entry = begin_entry(&table);

	(void)state;
	add_number(&table, table.size - common, 4);
	add(&table, "\x80\x81\x01", 3); /* 0x4080 */
	add(&table, "\x90\x01", 2);	/* 0x90 */
	add_number(&table, 0, 1);
	end_entry(&table, entry);
	parse(&table, &functions);
	check_range(&functions, 0, 0x4080, 0x4110);
	gt_array_clear(&functions);
}

/* Datarel, indirect, omitted: only that entry is left out. */
static void test_unused_encodings(void **state)
{
	static const uint8_t encodings[] = {DW_EH_PE_datarel | DW_EH_PE_sdata4,
					    DW_EH_PE_indirect | DW_EH_PE_udata4, DW_EH_PE_omit};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(encodings); i++) {
		struct table table = {0};
		gt_elf_functions functions;
		uint32_t common = add_common(&table, encodings[i]);

		add_range(&table, common, 0x4000, 0x80, 4, DW_CFA_nop);
		common = add_common(&table, DW_EH_PE_udata4);
		add_range(&table, common, 0x2000, 0x10, 4, DW_CFA_nop);
		parse(&table, &functions);
		assert_int_equal(functions.count, 1);
		check_range(&functions, 0, 0x2000, 0x2010);
		gt_array_clear(&functions);
	}
}

static void test_parts_have_a_frame(void **state)
{
	struct table table = {0};
	gt_elf_functions functions;
	uint32_t common = add_common(&table, DW_EH_PE_udata4);

	(void)state;
	add_range(&table, common, 0x1000, 0x10, 4, DW_CFA_def_cfa_offset);
	add_range(&table, common, 0x2000, 0x10, 4, DW_CFA_advance_loc | 4);
	add_range(&table, common, 0x3000, 0x10, 4, DW_CFA_offset | 6);
	add_range(&table, common, 0x4000, 0x10, 4, DW_CFA_nop);
	/* _start */
	add_range(&table, common, 0x5000, 0x10, 4, DW_CFA_undefined);
	parse(&table, &functions);
	assert_int_equal(functions.count, 5);
	for (uint32_t i = 0; i < functions.count; i++)
		assert_int_equal(functions.items[i].is_part, i == 0 || i == 2);
	gt_array_clear(&functions);
}

static void test_terminator_ends(void **state)
{
	struct table table = {0};
	gt_elf_functions functions;
	uint32_t common = add_common(&table, DW_EH_PE_udata4);

	(void)state;
	add_range(&table, common, 0x1000, 0x10, 4, DW_CFA_nop);
	add_number(&table, 0, 4);
	add_range(&table, common, 0x2000, 0x10, 4, DW_CFA_nop);
	parse(&table, &functions);
	assert_int_equal(functions.count, 1);
	gt_array_clear(&functions);
}

/* 64-bit lengths are allowed; nobody writes them. */
static void test_extended_length(void **state)
{
	struct table table = {0};
	gt_elf_functions functions;
	uint32_t common = add_common(&table, DW_EH_PE_udata4);

	(void)state;
	add_number(&table, UINT32_MAX, 4);
	add_number(&table, 16, 8);
	add_number(&table, table.size - common, 4);
	add_number(&table, 0x1000, 4);
	add_number(&table, 0x10, 4);
	add_number(&table, 0, 4);
	parse(&table, &functions);
	check_range(&functions, 0, 0x1000, 0x1010);
	gt_array_clear(&functions);
}

static void check_absurd(const struct table *table)
{
	gt_elf_functions functions;

	parse(table, &functions);
	assert_int_equal(functions.count, 1);
	gt_array_clear(&functions);
}

static void test_absurd_entries_end_the_table(void **state)
{
	struct table valid = {0}, absurd;
	uint32_t common = add_common(&valid, DW_EH_PE_udata4), entry;

	(void)state;
	add_range(&valid, common, 0x1000, 0x10, 4, DW_CFA_nop);
	/* A length past the end, and one that is too short for the identifier. */
	for (uint64_t length = 3; length < 0x100000000; length = length * 1000 + 100) {
		absurd = valid;
		add_number(&absurd, length, 4);
		add_number(&absurd, 0, 8);
		check_absurd(&absurd);
	}
	/* A CIE that is none, and one before the table. */
	absurd = valid;
	add_range(&absurd, common + 4, 0x2000, 0x10, 4, DW_CFA_nop);
	check_absurd(&absurd);
	absurd = valid;
	add_range(&absurd, (uint32_t)-64, 0x2000, 0x10, 4, DW_CFA_nop);
	check_absurd(&absurd);
	/* A range past the end of memory. */
	absurd = valid;
	common = add_common(&absurd, DW_EH_PE_absptr);
	add_range(&absurd, common, UINT64_MAX - 8, 0x10, 8, DW_CFA_nop);
	check_absurd(&absurd);
	/* An unknown version, and an augmentation without an end. */
	absurd = valid;
	entry = begin_entry(&absurd);
	add_number(&absurd, 0, 4);
	add_number(&absurd, 77, 4);
	end_entry(&absurd, entry);
	add_range(&absurd, entry, 0x2000, 0x10, 4, DW_CFA_nop);
	check_absurd(&absurd);
	absurd = valid;
	entry = begin_entry(&absurd);
	add_number(&absurd, 0, 4);
	add(&absurd, "\1zRRR", 4);
	absurd.bytes[entry] = 8;
	add_range(&absurd, entry, 0x2000, 0x10, 4, DW_CFA_nop);
	check_absurd(&absurd);
}

/* Each shorter table gives as many ranges or fewer, and is not read past its end. */
static void test_cut_tables(void **state)
{
	struct table table = {0};
	uint32_t common = add_common(&table, DW_EH_PE_udata4), last = 0;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		add_range(&table, common, 0x1000 + i * 0x100, 0x10, 4, DW_CFA_def_cfa_offset);
	for (uint32_t size = 0; size <= table.size; size++) {
		_cleanup_free_ unsigned char *copy = malloc(size + 1);
		gt_elf_functions functions = {0};

		assert_non_null(copy);
		memcpy(copy, table.bytes, size);
		assert_int_equal(gt_eh_frame_parse(copy, size, TABLE_ADDRESS, &functions), 0);
		assert_true(functions.count >= last && functions.count <= 5);
		last = functions.count;
		gt_array_clear(&functions);
	}
	assert_int_equal(last, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_leb128),
		cmocka_unit_test(test_unused_encodings),
		cmocka_unit_test(test_parts_have_a_frame),
		cmocka_unit_test(test_terminator_ends),
		cmocka_unit_test(test_extended_length),
		cmocka_unit_test(test_absurd_entries_end_the_table),
		cmocka_unit_test(test_cut_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
