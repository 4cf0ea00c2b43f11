/* SPDX-License-Identifier: MIT */
#include "elf/eh_frame.h"

#include <dwarf.h>
#include <string.h>

#include "base/log.h"

/* "zRPLSB" and the like. A limit keeps a table of absurd ones from being read many times over. */
#define MAX_AUGMENTATION 16

/* The bytes of one entry, or of a part of it. A read past the end sets failed and gives 0. */
struct cursor {
	const unsigned char *at, *end;
	uint64_t address; /* of at, when loaded */
	bool failed;
};

static uint64_t bytes_left(const struct cursor *cursor)
{
	return (uint64_t)(cursor->end - cursor->at);
}

static void skip(struct cursor *cursor, uint64_t size)
{
	if (size > bytes_left(cursor)) {
		cursor->failed = true;
		size = bytes_left(cursor);
	}
	cursor->at += size;
	cursor->address += size;
}

static uint64_t read_unsigned(struct cursor *cursor, uint32_t size)
{
	const unsigned char *from = cursor->at;
	uint64_t value = 0;

	skip(cursor, size);
	if (!cursor->failed)
		memcpy(&value, from, size);
	return value;
}

static uint64_t read_signed(struct cursor *cursor, uint32_t size)
{
	uint32_t shift = 64 - size * 8;

	return (uint64_t)((int64_t)(read_unsigned(cursor, size) << shift) >> shift);
}

static uint64_t read_leb128(struct cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_unsigned(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !cursor->failed);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= UINT64_MAX << shift;
	return value;
}

/* A number in one of the formats of pointers, before it is applied to anything. */
static uint64_t read_format(struct cursor *cursor, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return read_unsigned(cursor, 8);
	case DW_EH_PE_uleb128:
		return read_leb128(cursor, false);
	case DW_EH_PE_sleb128:
		return read_leb128(cursor, true);
	case DW_EH_PE_udata2:
		return read_unsigned(cursor, 2);
	case DW_EH_PE_sdata2:
		return read_signed(cursor, 2);
	case DW_EH_PE_udata4:
		return read_unsigned(cursor, 4);
	case DW_EH_PE_sdata4:
		return read_signed(cursor, 4);
	default:
		cursor->failed = true;
		return 0;
	}
}

/* What an entry's CIE says that all its FDEs share. */
struct common {
	uint64_t offset;
	bool has_augmentation; /* its FDEs say how much there is */
	uint8_t encoding;      /* of the range of code */
};

static void read_augmentation(struct cursor *cursor, const char *letters, struct common *common)
{
	for (; *letters && !cursor->failed; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			common->encoding = (uint8_t)read_unsigned(cursor, 1);
			break;
		case 'P': /* the function that handles exceptions */
			encoding = (uint8_t)read_unsigned(cursor, 1);
			/* Aligned: to the size of an address. */
			if ((encoding & 0x70) == DW_EH_PE_aligned)
				skip(cursor, -cursor->address & 7);
			(void)read_format(cursor, encoding);
			break;
		case 'L':
			skip(cursor, 1);
			break;
		default: /* S, B, G are only letters; behind unknown ones nothing can be told */
			if (!strchr("SBG", *letters))
				return;
		}
	}
}

/* CURSOR is behind the entry's identifier. */
static bool read_common(struct cursor cursor, struct common *common)
{
	uint64_t version = read_unsigned(&cursor, 1);
	const char *augmentation = (const char *)cursor.at;
	size_t length = strnlen(augmentation, (size_t)bytes_left(&cursor));

	if (version != 1 && version != 3)
		return false;
	if (length > MAX_AUGMENTATION || length == bytes_left(&cursor))
		return false;
	skip(&cursor, length + 1);
	(void)read_leb128(&cursor, false); /* code alignment */
	(void)read_leb128(&cursor, true);  /* data alignment */
	if (version == 1)
		skip(&cursor, 1); /* return address register */
	else
		(void)read_leb128(&cursor, false);
	common->encoding = DW_EH_PE_absptr;
	common->has_augmentation = augmentation[0] == 'z';
	if (common->has_augmentation) {
		(void)read_leb128(&cursor, false);
		read_augmentation(&cursor, augmentation + 1, common);
	}
	return !cursor.failed;
}

/*
 * A function starts with the frame that its caller left. What has another frame from its first
 * instruction on is a part of a function.
 */
static bool starts_inside(struct cursor *cursor)
{
	while (bytes_left(cursor) > 0) {
		uint8_t instruction = (uint8_t)read_unsigned(cursor, 1);

		switch (instruction) {
		case DW_CFA_nop:
		case DW_CFA_remember_state:
			continue;
		case DW_CFA_def_cfa:
		case DW_CFA_def_cfa_register:
		case DW_CFA_def_cfa_offset:
		case DW_CFA_def_cfa_expression:
		case DW_CFA_def_cfa_sf:
		case DW_CFA_def_cfa_offset_sf:
		case DW_CFA_expression:
		case DW_CFA_offset_extended:
		case DW_CFA_GNU_window_save: /* aarch64: the return address is signed */
			return true;
		default:
			return (instruction & 0xc0) == DW_CFA_offset;
		}
	}
	return false;
}

/* CURSOR is behind the reference to the CIE. False when the entry makes no sense. */
static bool read_range(struct cursor cursor, const struct common *common,
		       struct gt_elf_function *function)
{
	uint64_t base = 0, start, size;

	switch (common->encoding & 0xf0) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		base = cursor.address;
		break;
	default:
		/* Valid, but of no compiler: an empty range is left out. */
		return true;
	}
	start = base + read_format(&cursor, common->encoding);
	/* The size has the format without the sign. */
	size = read_format(&cursor, common->encoding & 0x07);
	if (common->has_augmentation)
		skip(&cursor, read_leb128(&cursor, false));
	if (cursor.failed || size > UINT64_MAX - start)
		return false;
	*function = (struct gt_elf_function){
		.start = start, .end = start + size, .name = "", .is_part = starts_inside(&cursor)};
	return true;
}

struct table {
	const unsigned char *bytes;
	uint64_t size, address;
	struct common common; /* the CIE that was read last: most entries have the same */
};

/*
 * The entry at OFFSET: RET is what follows its identifier, which is 0 for a CIE, and for others
 * counts back from itself to theirs. False at the end of the table.
 */
static bool read_entry(const struct table *table, uint64_t offset, struct cursor *ret,
		       uint64_t *ret_identifier_offset, uint64_t *ret_identifier)
{
	struct cursor cursor = {.at = table->bytes + offset,
				.end = table->bytes + table->size,
				.address = table->address + offset};
	uint64_t length = read_unsigned(&cursor, 4);

	if (length == UINT32_MAX)
		length = read_unsigned(&cursor, 8);
	if (cursor.failed || length < 4 || length > bytes_left(&cursor))
		return false;
	cursor.end = cursor.at + length;
	*ret_identifier_offset = (uint64_t)(cursor.at - table->bytes);
	*ret_identifier = read_unsigned(&cursor, 4);
	*ret = cursor;
	return true;
}

static bool find_common(struct table *table, uint64_t offset)
{
	uint64_t identifier_offset, identifier;
	struct common common = {.offset = offset};
	struct cursor cursor;

	if (table->common.offset == offset)
		return true;
	if (!read_entry(table, offset, &cursor, &identifier_offset, &identifier) ||
	    identifier != 0 || !read_common(cursor, &common))
		return false;
	table->common = common;
	return true;
}

int gt_eh_frame_parse(const void *bytes, size_t size, uint64_t address, gt_elf_functions *ret)
{
	struct table table = {
		.bytes = bytes, .size = size, .address = address, .common = {.offset = UINT64_MAX}};
	uint64_t offset = 0, identifier_offset, identifier;
	gt_elf_functions functions = {0};
	struct cursor cursor;

	for (;
	     offset < size && read_entry(&table, offset, &cursor, &identifier_offset, &identifier);
	     offset = (uint64_t)(cursor.end - table.bytes)) {
		struct gt_elf_function function = {0}, *added;

		if (identifier == 0)
			continue;
		if (identifier > identifier_offset ||
		    !find_common(&table, identifier_offset - identifier) ||
		    !read_range(cursor, &table.common, &function))
			break;
		if (function.start == function.end)
			continue;
		added = gt_array_push(&functions);
		if (!added) {
			gt_array_clear(&functions);
			return gt_error_oom();
		}
		*added = function;
	}
	*ret = functions;
	return 0;
}
