/* SPDX-License-Identifier: MIT */
/*
 * An ELF file, opened for looking only: its segments, build-id, symbols, and which function of
 * another library a call goes to. Nothing in it is believed unchecked; a broken file ends in a
 * message that names it and the reason, and in -EBADMSG.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/macros.h"

struct gt_elf;

#define GT_BUILD_ID_MAX 20

/* A function, or a part of one: where it is in the address space of the file, and its symbol. */
struct gt_elf_function {
	uint64_t start, end; /* virtual addresses, end excluded */
	const char *name;    /* owned by the gt_elf that has the symbols; "" without one */
	bool is_part;	     /* of a function that starts elsewhere */
};

/* Sorted by start, without overlaps. */
typedef GT_ARRAY(struct gt_elf_function) gt_elf_functions;

/* A section of machine code. All its bytes are in the file. */
struct gt_elf_code_section {
	uint64_t start, end; /* virtual addresses, end excluded */
	const char *name;    /* owned by the gt_elf */
};

typedef GT_ARRAY(struct gt_elf_code_section) gt_elf_code_sections;

enum gt_elf_import_kind {
	GT_ELF_IMPORT_STUB, /* code in a PLT that jumps to the function */
	GT_ELF_IMPORT_SLOT, /* the word in the GOT that holds the function's address */
	GT_ELF_IMPORT_BODY, /* the function itself: it is linked in */
};

/* One way in which code of the file reaches a function that it calls by name. */
struct gt_elf_import {
	uint64_t address; /* virtual, of the stub, slot or body */
	enum gt_elf_import_kind kind;
	uint32_t name; /* index into the names that were asked for */
};

typedef GT_ARRAY(struct gt_elf_import) gt_elf_imports;

/* True when the file can be read and starts as an ELF file does. Logs nothing. */
bool gt_elf_is_elf(const char *path);

/*
 * Maps and checks a 64-bit little-endian program or library. -ENOENT, -EACCES …, -EISDIR; -ENOEXEC
 * for what is no ELF program; -EBADMSG for a broken one; -EOPNOTSUPP (32 bits, big-endian). All
 * logged.
 */
int gt_elf_open(const char *path, struct gt_elf **ret);

/*
 * The same for a file in memory, which must outlive the gt_elf; PATH is what messages call it.
 */
int gt_elf_open_memory(const void *image, size_t size, const char *path, struct gt_elf **ret);

/*
 * Opens the file with the debugging information of ELF, for its symbols only: it has no code.
 * Looked for are the build-id under /usr/lib/debug and in the cache of debuginfod, and
 * .gnu_debuglink. -ENOENT, not logged, when there is none that fits; -ENOMEM.
 */
int gt_elf_open_debug_file(const struct gt_elf *elf, struct gt_elf **ret);
void gt_elf_close(struct gt_elf *elf);
GT_DEFINE_CLEANUP(struct gt_elf *, gt_elf_close)

const char *gt_elf_path(const struct gt_elf *elf);
uint64_t gt_elf_size(const struct gt_elf *elf); /* bytes */
/* Whether its path still names the same file, unchanged. */
bool gt_elf_is_current(const struct gt_elf *elf);

uint16_t gt_elf_machine(const struct gt_elf *elf); /* EM_X86_64, EM_AARCH64 */

/* The address at which a program, or the dynamic loader, starts. Of other libraries, any. */
uint64_t gt_elf_entry(const struct gt_elf *elf);

/* The build-id in lower-case hexadecimal, "" when the file has none. Owned by the gt_elf. */
const char *gt_elf_build_id(const struct gt_elf *elf);

/* Maps between addresses and offsets through the loaded segments. False when none holds it. */
bool gt_elf_address_to_offset(const struct gt_elf *elf, uint64_t address, uint64_t *ret_offset);
bool gt_elf_offset_to_address(const struct gt_elf *elf, uint64_t offset, uint64_t *ret_address);

/* The bytes of [ADDRESS, ADDRESS + SIZE), or NULL when the file does not hold them all. */
const void *gt_elf_bytes(const struct gt_elf *elf, uint64_t address, uint64_t size);

/* The bytes from ADDRESS to the end of what its segment has in the file; NULL when there are none.
 */
const void *gt_elf_bytes_left(const struct gt_elf *elf, uint64_t address, uint64_t *ret_size);

bool gt_elf_has_section(const struct gt_elf *elf, const char *name);

/* What is loaded of the first section of this name, or NULL when the file has none. */
const void *gt_elf_section_bytes(const struct gt_elf *elf, const char *name, uint64_t *ret_address,
				 uint64_t *ret_size);

/* True when the file has no .symtab. */
bool gt_elf_is_stripped(const struct gt_elf *elf);

/*
 * The executable sections, by rising address, without overlaps. Left out are the stubs of the PLT,
 * and .bolt.org.text: BOLT keeps the code there that it has replaced, and nothing runs it. The
 * caller clears the array. -ENOMEM.
 */
int gt_elf_code_sections_read(const struct gt_elf *elf, gt_elf_code_sections *ret);

/*
 * The functions that .symtab names, static ones too; empty when the file is stripped. Of several
 * names for one address the first is kept. A symbol without a size reaches to the next one. The
 * caller clears the array. -ENOMEM, -EBADMSG.
 */
int gt_elf_symbols_read(const struct gt_elf *elf, gt_elf_functions *ret);

/* The ranges in .eh_frame, without names; empty when the file has none. The rest is the same. */
int gt_elf_frames_read(const struct gt_elf *elf, gt_elf_functions *ret);

/*
 * The functions of ELF: ranges from .eh_frame where it has them, the others and all names from
 * .symtab of SYMBOLS_OF, which is ELF itself or its debug file. The caller clears the array.
 * -ENOMEM, -EBADMSG.
 */
int gt_elf_functions_read(const struct gt_elf *elf, const struct gt_elf *symbols_of,
			  gt_elf_functions *ret);

/* The index of the function that holds ADDRESS, or UINT32_MAX. */
uint32_t gt_elf_function_at(const gt_elf_functions *functions, uint64_t address);

/*
 * How calls of the functions NAMES, of other libraries or linked in, can look in this file. The
 * caller clears the array. -ENOMEM, -EBADMSG, -EOPNOTSUPP for a machine whose stubs are not
 * understood.
 */
int gt_elf_imports_read(const struct gt_elf *elf, const char *const names[], uint32_t name_count,
			gt_elf_imports *ret);

/* True when the dynamic symbols define a name, or when a library whose name starts so is needed. */
bool gt_elf_exports(const struct gt_elf *elf, const char *name);
bool gt_elf_needs(const struct gt_elf *elf, const char *library_prefix);

/*
 * The dynamic loader that a program asks the kernel for (PT_INTERP), or NULL when it asks for none:
 * then nothing can be loaded into it. Owned by the gt_elf.
 */
const char *gt_elf_loader(const struct gt_elf *elf);
