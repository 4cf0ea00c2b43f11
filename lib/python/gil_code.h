/* SPDX-License-Identifier: MIT */
/*
 * What the search for the GIL's sites knows of an interpreter's code: its functions, and where they
 * call the pthread functions that the GIL is made of.
 */
#pragma once

#include "base/hash.h"
#include "elf/disassembly.h"
#include "elf/elf_file.h"

enum gt_gil_callee {
	GT_GIL_CALLEE_COND_SIGNAL,
	GT_GIL_CALLEE_COND_TIMEDWAIT,
	GT_GIL_CALLEE_COND_WAIT,
	GT_GIL_CALLEE_MUTEX_LOCK,
	GT_GIL_CALLEE_MUTEX_UNLOCK,
	GT_GIL_CALLEES,
	GT_GIL_CALLEE_OTHER = GT_GIL_CALLEES, /* some other function, or one that cannot be told */
};

/* A call, or a jump that takes its place at the end of a function. */
struct gt_gil_call {
	uint64_t address;
	uint64_t next;	   /* the address behind it: where a call returns to */
	uint32_t function; /* index of the function that it is in */
	uint32_t callee;   /* what the search gave for its target: see gt_gil_code_find_calls */
	enum gt_instruction_kind kind;
	struct gt_value argument; /* the first one, as far as the code before the call tells it */
};

typedef GT_ARRAY(struct gt_gil_call) gt_gil_calls;

/* A jump, or bytes that look like one, into a part of a function. */
struct gt_gil_entry {
	uint32_t part; /* index of its function */
	uint32_t from; /* index of the function that it is in */
};

struct gt_gil_code {
	const struct gt_elf *elf;
	struct gt_elf *debug_file; /* where the symbols are when ELF is stripped, or NULL */
	struct gt_disassembler *disassembler;
	gt_elf_code_sections sections;
	gt_elf_functions functions;
	gt_elf_imports imports;
	struct gt_hash targets; /* address of a stub, slot or body → gt_gil_callee */
	struct gt_hash wholes;	/* what gt_gil_code_whole has found out already */
	gt_gil_calls calls;	/* of those targets, by rising address; callee is a gt_gil_callee */
	struct gt_hash callees; /* address of each of these calls → callee */
	bool is_static;		/* the pthread functions are linked in */
	bool has_entries;
	GT_ARRAY(struct gt_gil_entry) entries; /* by part */
};

/*
 * Reads the functions of ELF, which must outlive RET, and finds the calls in them. The caller
 * clears RET. -ENODATA when nothing says where functions start; -EOPNOTSUPP for an unknown machine;
 * -EBADMSG, -ENOMEM. All logged.
 */
int gt_gil_code_read(const struct gt_elf *elf, struct gt_gil_code *ret);
void gt_gil_code_clear(struct gt_gil_code *code);

/* Which of the pthread functions a call or a jump goes to. */
enum gt_gil_callee gt_gil_code_callee(const struct gt_gil_code *code,
				      const struct gt_instruction *instruction);

/*
 * The calls of, and jumps to, TARGETS: virtual addresses, each with the value that becomes callee.
 * The caller clears the array. -ENOMEM.
 */
int gt_gil_code_find_calls(const struct gt_gil_code *code, const struct gt_hash *targets,
			   gt_gil_calls *ret);

/*
 * The function that FUNCTION is a part of. Compilers move code that rarely runs out of a function,
 * and only the function itself, or other parts of it, jump there. FUNCTION, when it is no such
 * part, and when several functions seem to jump there.
 */
uint32_t gt_gil_code_whole(struct gt_gil_code *code, uint32_t function);

typedef GT_ARRAY(uint32_t) gt_gil_parts;

/*
 * FUNCTION and all parts of it, by their indices, FUNCTION first. The caller clears RET, in any
 * case. -ENOMEM, logged.
 */
int gt_gil_code_parts(struct gt_gil_code *code, uint32_t function, gt_gil_parts *ret);
