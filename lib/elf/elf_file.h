/* SPDX-License-Identifier: MIT */
/*
 * An ELF file, opened for looking only: its segments, build-id, symbols, and which function of another
 * library a call goes to. Nothing in it is believed unchecked; a broken file ends in a message that
 * names it and the reason, and in -EBADMSG.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/macros.h"

struct gt_elf;

#define GT_BUILD_ID_MAX 20

/* A function: where it is in the address space of the file, and what its symbol is. */
struct gt_elf_function {
	uint64_t start, end; /* virtual addresses, end excluded */
	const char *name;    /* owned by the gt_elf */
};

typedef GT_ARRAY(struct gt_elf_function) gt_elf_functions;

/* -ENOENT, -EACCES …, -EISDIR, -ENOEXEC for what is no ELF file, -EBADMSG, -EOPNOTSUPP (32 bits, …). */
int gt_elf_open(const char *path, struct gt_elf **ret);
void gt_elf_close(struct gt_elf *elf);
GT_DEFINE_CLEANUP(struct gt_elf *, gt_elf_close)

const char *gt_elf_path(const struct gt_elf *elf);
uint16_t gt_elf_machine(const struct gt_elf *elf); /* EM_X86_64, EM_AARCH64 */

/* The build-id in lower-case hexadecimal, "" when the file has none. Owned by the gt_elf. */
const char *gt_elf_build_id(const struct gt_elf *elf);

/* Maps between addresses and offsets through the loaded segments. False when none holds it. */
bool gt_elf_address_to_offset(const struct gt_elf *elf, uint64_t address, uint64_t *ret_offset);
bool gt_elf_offset_to_address(const struct gt_elf *elf, uint64_t offset, uint64_t *ret_address);

/* The bytes of [ADDRESS, ADDRESS + SIZE), or NULL when the file does not hold them all. */
const void *gt_elf_bytes(const struct gt_elf *elf, uint64_t address, uint64_t size);
