/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "base/io.h"
#include "base/strings.h"
#include "elf/elf_file.h"
#include "elf/names.h"
#include "unwind/address_space.h"
#include "unwind/unwinder.h"

#ifdef __x86_64__
#include <asm/perf_regs.h>
#define IP PERF_REG_X86_IP
#define SP PERF_REG_X86_SP
#elif defined(__aarch64__)
#include <asm/perf_regs.h>
#define IP PERF_REG_ARM64_PC
#define SP PERF_REG_ARM64_SP
#endif

enum { SPACE = 7, OTHER_SPACE = 8, MAX_DEPTH = 64, STACK_BYTES = 16384 };

/* This program, as its own first process would be recorded. */
static struct gt_mapping mappings[64];
static uint32_t mapping_count;
static char program[4096];

static int read_mappings(void **state)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	char line[8192];

	(void)state;
	if (!maps || readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return -1;
	while (fgets(line, sizeof(line), maps) && mapping_count < ARRAY_SIZE(mappings)) {
		char path[4096] = "", rights[8];
		uint64_t start, end, offset;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, rights,
			   &offset, path) < 4 ||
		    rights[2] != 'x')
			continue;
		mappings[mapping_count++] = (struct gt_mapping){.start = start,
								.length = end - start,
								.file_offset = offset,
								.path = strdup(path)};
	}
	return mapping_count > 0 ? 0 : -1;
}

static int free_mappings(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < mapping_count; i++)
		free((char *)mappings[i].path);
	return 0;
}

static const struct gt_mapping *mapping_of(uint64_t address)
{
	for (uint32_t i = 0; i < mapping_count; i++)
		if (address - mappings[i].start < mappings[i].length)
			return &mappings[i];
	return NULL;
}

static struct gt_unwinder *new_unwinder(const struct gt_unwinder_spec *spec)
{
	static const struct gt_unwinder_spec nothing = {0};
	struct gt_unwinder *unwinder = NULL;

	assert_int_equal(gt_unwinder_new(spec ? spec : &nothing, &unwinder), 0);
	for (uint32_t i = 0; i < mapping_count; i++)
		assert_int_equal(gt_unwinder_map(unwinder, SPACE, &mappings[i]), 0);
	return unwinder;
}

/* The names of a stack from the innermost on, blanks between them. The caller frees it. */
static char *names_of(struct gt_unwinder *unwinder, uint32_t stack)
{
	const struct gt_stacks *stacks = gt_unwinder_stacks(unwinder);
	const size_t room = 1 << 16;
	char *text = calloc(1, room);
	size_t length = 0;

	assert_non_null(text);
	for (; stack != GT_STACK_NONE; stack = stacks->stacks.items[stack].parent) {
		length +=
			(size_t)snprintf(text + length, room - length, "%s%s",
					 length > 0 ? " " : "", gt_stacks_top(stacks, stack)->name);
		assert_true(length < room);
	}
	return text;
}

static uint32_t unwind(struct gt_unwinder *unwinder, uint32_t space,
		       const struct gt_stack_sample *sample)
{
	uint32_t stack = UINT32_MAX;

	assert_int_equal(gt_unwinder_unwind(unwinder, space, sample, &stack), 0);
	return stack;
}

static void expect_names(struct gt_unwinder *unwinder, uint32_t space,
			 const struct gt_stack_sample *sample, const char *expected)
{
	_cleanup_free_ char *names = names_of(unwinder, unwind(unwinder, space, sample));

	assert_string_equal(names, expected);
}

/* One moment of a thread: what the kernel would have recorded, and who has called whom. */
struct moment {
	uint64_t registers[64];
	uint64_t mask;
	uint32_t stack_bytes;
	unsigned char stack[STACK_BYTES];
	uint64_t callers[MAX_DEPTH];
	uint32_t depth;
};

static struct gt_stack_sample sample_of(const struct moment *moment)
{
	return (struct gt_stack_sample){.registers = moment->registers,
					.register_mask = moment->mask,
					.stack = moment->stack,
					.stack_bytes = moment->stack_bytes};
}

#ifdef __x86_64__
/* In the order of asm/perf_regs.h. */
static void copy_registers(const ucontext_t *context, struct moment *ret)
{
	static const int general[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
				      REG_RDI, REG_RBP, REG_RSP, REG_RIP};
	uint32_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(general); i++)
		ret->registers[count++] = (uint64_t)context->uc_mcontext.gregs[general[i]];
	for (int i = REG_R8; i <= REG_R15; i++)
		ret->registers[count++] = (uint64_t)context->uc_mcontext.gregs[i];
	ret->mask = ((UINT64_C(1) << ARRAY_SIZE(general)) - 1) | UINT64_C(0xff) << PERF_REG_X86_R8;
}
#elif defined(__aarch64__)
static void copy_registers(const ucontext_t *context, struct moment *ret)
{
	for (uint32_t i = 0; i < 31; i++)
		ret->registers[i] = context->uc_mcontext.regs[i];
	ret->registers[31] = context->uc_mcontext.sp;
	ret->registers[32] = context->uc_mcontext.pc;
	ret->mask = (UINT64_C(1) << 33) - 1;
}
#endif

/* Not instrumented: a sanitizer keeps variables elsewhere than on the stack, and forbids to look.
 */
#define RAW __attribute__((noinline, no_sanitize("address", "undefined")))

static RAW void copy_stack(uint64_t from, struct moment *ret)
{
	pthread_attr_t attributes;
	void *lowest;
	size_t size;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &lowest, &size);
	pthread_attr_destroy(&attributes);
	ret->stack_bytes =
		(uint32_t)GT_MIN((uint64_t)(uintptr_t)lowest + size - from, (uint64_t)STACK_BYTES);
	for (uint32_t i = 0; i < ret->stack_bytes; i++)
		ret->stack[i] = ((const volatile unsigned char *)(uintptr_t)from)[i];
}

/* backtrace() is not asked: sanitizers have one of their own. */
static _Unwind_Reason_Code add_caller(struct _Unwind_Context *context, void *data)
{
	struct moment *moment = data;

	if (moment->depth < MAX_DEPTH && _Unwind_GetIP(context) != 0)
		moment->callers[moment->depth++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static RAW void capture(struct moment *ret)
{
	ucontext_t context;

	getcontext(&context);
	copy_registers(&context, ret);
#ifdef __x86_64__
	copy_stack((uint64_t)context.uc_mcontext.gregs[REG_RSP], ret);
#elif defined(__aarch64__)
	copy_stack(context.uc_mcontext.sp, ret);
#endif
	ret->depth = 0;
	_Unwind_Backtrace(add_caller, ret);
}

/* So that a call is not the last thing that a function does: it would become a jump. */
static volatile int depth;

static RAW void with_room_of_any_size(struct moment *ret, size_t size)
{
	volatile char *room = __builtin_alloca(size);

	room[0] = 1;
	capture(ret);
	room[size - 1] = 2;
}

static RAW void with_much_room(struct moment *ret)
{
	volatile char room[3000] = {0};

	with_room_of_any_size(ret, 200U + (unsigned char)room[0]);
	depth += room[1];
}

static RAW void with_aligned_room(struct moment *ret, size_t size)
{
	volatile char *more = __builtin_alloca(size);
	_Alignas(64) volatile char room[64] = {0};

	more[0] = room[0];
	with_much_room(ret);
	more[size - 1] = room[1];
}

static RAW void recurse(struct moment *ret, int levels)
{
	depth++;
	if (levels > 0)
		recurse(ret, levels - 1);
	else
		with_aligned_room(ret, 100);
	depth--;
}

struct element {
	struct moment *moment;
};

static int compare(const void *a, const void *b)
{
	(void)b;
	recurse(((const struct element *)a)->moment, 4);
	return 0;
}

/* With libc's code between ours. */
static RAW void capture_from_deep_inside(struct moment *ret)
{
	struct element two[] = {{ret}, {ret}};

	qsort(two, 2, sizeof(two[0]), compare);
	depth++;
}

static void test_a_stack_is_unwound_as_libgcc_does(void **state)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = new_unwinder(NULL);
	static struct moment moment;
	struct gt_stack_sample sample;
	const uint64_t *offsets;
	uint32_t count;

	(void)state;
	capture_from_deep_inside(&moment);
	assert_true(moment.depth > 12);
	sample = sample_of(&moment);
	(void)unwind(unwinder, SPACE, &sample);
	count = gt_unwinder_offsets(unwinder, &offsets);
	assert_int_equal(count, moment.depth);
	/* In capture() itself, the two were called from different places. */
	for (uint32_t i = 1; i < moment.depth; i++) {
		uint64_t address = moment.callers[i] - 1;
		const struct gt_mapping *mapping = mapping_of(address);

		assert_non_null(mapping);
		assert_int_equal(offsets[i], address - mapping->start + mapping->file_offset);
	}
	assert_int_equal(gt_unwinder_counts(unwinder).frames, count);
	assert_int_equal(gt_unwinder_counts(unwinder).cut, 0);
	assert_int_equal(gt_unwinder_counts(unwinder).broken, 0);
}

static void test_the_same_stack_is_the_same_number(void **state)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = new_unwinder(NULL);
	static const char *const in_order[] = {
		"capture ",
		"with_room_of_any_size",
		"with_much_room",
		"with_aligned_room",
		"recurse",
		"compare",
		"qsort",
		"capture_from_deep_inside",
		"test_the_same_stack_is_the_same_number",
		"main",
	};
	static struct moment moment;
	struct gt_stack_sample sample;
	uint32_t stack, again;
	const char *rest;
	_cleanup_free_ char *names = NULL;

	(void)state;
	capture_from_deep_inside(&moment);
	sample = sample_of(&moment);
	stack = unwind(unwinder, SPACE, &sample);
	again = unwind(unwinder, SPACE, &sample);
	assert_int_equal(stack, again);
	names = names_of(unwinder, stack);
	rest = names;
	/* There may be a suffix of the compiler's behind a name, and copies of a function. */
	for (size_t i = 0; i < ARRAY_SIZE(in_order); i++) {
		rest = strstr(rest, in_order[i]);
		assert_non_null(rest);
	}
	/* It ends where the program starts. */
	assert_true(gt_string_ends_with(names, " _start"));
}

static void test_a_short_copy_ends_in_a_mark(void **state)
{
	static struct moment moment;
	uint32_t bytes[] = {4000, 3001, 600, 100, 7, 0};

	(void)state;
	capture_from_deep_inside(&moment);
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = new_unwinder(NULL);
		struct gt_stack_sample sample = sample_of(&moment);
		_cleanup_free_ char *names = NULL;

		sample.stack_bytes = bytes[i];
		sample.is_cut = true;
		names = names_of(unwinder, unwind(unwinder, SPACE, &sample));
		assert_true(gt_string_starts_with(names, "capture "));
		assert_true(gt_string_ends_with(names, " [cut]"));
		assert_int_equal(gt_unwinder_counts(unwinder).cut, 1);
		assert_int_equal(gt_unwinder_counts(unwinder).broken, 0);
	}
}

/* What the innermost frame is, and how a stack that was captured ends. */
static void expect_end(const struct gt_stack_sample *sample, const char *names, uint64_t broken)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = new_unwinder(NULL);

	expect_names(unwinder, SPACE, sample, names);
	assert_int_equal(gt_unwinder_counts(unwinder).cut, 0);
	assert_int_equal(gt_unwinder_counts(unwinder).broken, broken);
}

/* Nothing of it was copied, and more room for it would not help. */
static void test_a_stack_that_is_gone_is_not_counted(void **state)
{
	static struct moment moment;
	struct gt_stack_sample sample;

	(void)state;
	capture_from_deep_inside(&moment);
	sample = sample_of(&moment);
	sample.stack = NULL;
	sample.stack_bytes = 0;
	expect_end(&sample, "capture [cut]", 0);
}

/* The return address of the innermost frames leads nowhere. */
static void test_a_broken_stack_ends_in_a_mark(void **state)
{
	static struct moment moment;
	struct gt_stack_sample sample;

	(void)state;
	capture_from_deep_inside(&moment);
	memset(moment.stack, 0x5a, sizeof(moment.stack));
	sample = sample_of(&moment);
	expect_end(&sample, "capture [unknown]", 1);
}

/* A sample that has only the registers for its place; ADDRESS is in a mapping at START. */
static struct gt_stack_sample sample_at(uint64_t registers[2], uint64_t address)
{
	registers[IP > SP] = address;
	registers[SP > IP] = 0x7ff000000000;
	return (struct gt_stack_sample){.registers = registers,
					.register_mask = UINT64_C(1) << IP | UINT64_C(1) << SP};
}

static __attribute__((noinline)) int take_gil_of_a_test(int value)
{
	depth++;
	return value * 3;
}

#ifdef __x86_64__
/* As clone3() of the C library: no table tells of what is behind its system call. */
__asm__(".pushsection .text\n"
	".type clone_of_a_test, @function\n"
	"clone_of_a_test:\n"
	"	syscall\n"
	"behind_clone:\n"
	"	ret\n"
	".size clone_of_a_test, . - clone_of_a_test\n"
	/* As _start() of the C library: the tables say that nobody has called it. */
	".type start_of_a_test, @function\n"
	"start_of_a_test:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	nop\n"
	"behind_call:\n"
	"	nop\n"
	"	.cfi_endproc\n"
	".size start_of_a_test, . - start_of_a_test\n"
	".popsection\n");
extern const char behind_clone[], behind_call[];

/* Of a thread all of whose code has frame pointers, every stack leads to where it started. */
static void test_frame_pointers_that_lead_to_the_start(void **state)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = new_unwinder(NULL);
	uint64_t chain[] = {
		(uint64_t)PERF_CONTEXT_USER,
		(uint64_t)(uintptr_t)take_gil_of_a_test,
		(uint64_t)(uintptr_t)behind_call,
	};
	struct gt_stack_sample sample = {.frames = chain, .frame_count = ARRAY_SIZE(chain)};
	struct gt_stack_sample astray = {.frames = chain, .frame_count = 2};

	(void)state;
	expect_names(unwinder, SPACE, &sample, "take_gil_of_a_test start_of_a_test");
	expect_names(unwinder, SPACE, &astray, "take_gil_of_a_test");
	assert_int_equal(gt_unwinder_counts(unwinder).chains, 2);
	assert_int_equal(gt_unwinder_counts(unwinder).whole_chains, 1);
}

/* The frames of one that has made a system call, which gave RESULT. */
static char *unwind_behind_clone(uint64_t result)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = new_unwinder(NULL);
	uint64_t registers[] = {result, 0x7ff000000000, (uint64_t)(uintptr_t)behind_clone};
	uint64_t stack[] = {(uint64_t)(uintptr_t)take_gil_of_a_test + 1};
	struct gt_stack_sample sample = {
		.registers = registers,
		.register_mask = UINT64_C(1) << PERF_REG_X86_AX | UINT64_C(1) << PERF_REG_X86_SP |
				 UINT64_C(1) << PERF_REG_X86_IP,
		.stack = stack,
		.stack_bytes = sizeof(stack),
		.is_cut = true,
	};

	return names_of(unwinder, unwind(unwinder, SPACE, &sample));
}

static void test_a_new_thread_has_no_caller(void **state)
{
	_cleanup_free_ char *maker = unwind_behind_clone(4711), *made = unwind_behind_clone(0);

	(void)state;
	assert_string_equal(maker, "clone_of_a_test take_gil_of_a_test [cut]");
	assert_string_equal(made, "clone_of_a_test");
}
#endif

/* Where a function of this program is in its file. */
static uint64_t offset_of(const void *function)
{
	uint64_t address = (uint64_t)(uintptr_t)function;
	const struct gt_mapping *mapping = mapping_of(address);

	assert_non_null(mapping);
	return address - mapping->start + mapping->file_offset;
}

static char *build_id_of(const char *path, uint8_t *ret, uint32_t *ret_size)
{
	struct gt_elf *elf = NULL;
	char *text;

	assert_int_equal(gt_elf_open(path, &elf), 0);
	text = strdup(gt_elf_build_id(elf));
	gt_elf_close(elf);
	*ret_size = (uint32_t)strlen(text) / 2;
	for (uint32_t i = 0; i < *ret_size; i++)
		assert_int_equal(sscanf(text + i * 2, "%2hhx", &ret[i]), 1);
	return text;
}

enum { MAPPED_AT = 0x10000000 };

/* Maps all of this program as a file of the name PATH, and looks at take_gil_of_a_test(). */
static void expect_name_of(const struct gt_unwinder_spec *spec, const char *path,
			   const uint8_t *build_id, uint32_t build_id_size, const char *expected)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = NULL;
	struct gt_mapping mapping = {.start = MAPPED_AT,
				     .length = 0x10000000,
				     .path = path,
				     .build_id = build_id,
				     .build_id_size = build_id_size};
	uint64_t registers[2], offset = offset_of((const void *)take_gil_of_a_test);
	struct gt_stack_sample sample = sample_at(registers, MAPPED_AT + offset);
	_cleanup_free_ char *name = NULL;

	assert_int_equal(gt_unwinder_new(spec, &unwinder), 0);
	assert_int_equal(gt_unwinder_map(unwinder, SPACE, &mapping), 0);
	name = names_of(unwinder, unwind(unwinder, SPACE, &sample));
	assert_non_null(strchr(name, ' '));
	*strchr(name, ' ') = '\0'; /* what is behind it are marks */
	assert_string_equal(name, expected);
}

static void test_files_are_found(void **state)
{
	char folder[] = "/tmp/giltrace-test-XXXXXX";
	uint8_t build_id[GT_BUILD_ID_MAX], other[] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint32_t size;
	_cleanup_free_ char *text = build_id_of("/proc/self/exe", build_id, &size);
	_cleanup_free_ char *kept = NULL, *moved = NULL;
	_cleanup_free_ char *nameless =
		gt_format("gone.so+0x%lx", offset_of((const void *)take_gil_of_a_test));
	struct gt_unwinder_spec spec = {.kept_files = folder};

	(void)state;
	if (size == 0)
		skip();
	assert_non_null(mkdtemp(folder));
	kept = gt_format("%s/%s", folder, text);
	moved = gt_format("%s/moved.so", folder);
	expect_name_of(&spec, program, build_id, size, "take_gil_of_a_test");
	expect_name_of(&spec, program, NULL, 0, "take_gil_of_a_test");
	/* Gone, and not kept. */
	expect_name_of(&spec, "/nowhere/gone.so", build_id, size, nameless);
	expect_name_of(&spec, "/nowhere/gone.so (deleted)", build_id, size, nameless);
	/* In another root. */
	assert_int_equal(symlink(program, moved), 0);
	spec.root = folder;
	expect_name_of(&spec, "/moved.so", build_id, size, "take_gil_of_a_test");
	expect_name_of(&spec, "/moved.so (deleted)", build_id, size, "take_gil_of_a_test");
	spec.root = NULL;
	/* Gone, but kept. */
	assert_int_equal(symlink(program, kept), 0);
	expect_name_of(&spec, "/nowhere/gone.so (deleted)", build_id, size, "take_gil_of_a_test");
	/* Another one is at the path, or in the place of the kept one. */
	unlink(moved);
	moved[strlen(moved) - strlen("moved.so")] = '\0';
	free(GT_STEAL(kept));
	kept = gt_format("%s/0102030405060708", folder);
	assert_int_equal(symlink(program, kept), 0);
	expect_name_of(&spec, "/nowhere/gone.so", other, sizeof(other), nameless);
	unlink(kept);
	free(GT_STEAL(kept));
	kept = gt_format("%s/gone.so", folder);
	assert_int_equal(symlink(program, kept), 0);
	expect_name_of(&spec, kept, other, sizeof(other), nameless);
	unlink(kept);
	free(GT_STEAL(kept));
	kept = gt_format("%s/%s", folder, text);
	unlink(kept);
	rmdir(folder);
}

/* The kernel's own code, which is in no file. */
static void test_the_vdso_has_names(void **state)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = new_unwinder(NULL);
	const struct gt_mapping *vdso = NULL;
	struct gt_elf *elf = NULL;
	gt_elf_functions names = {0};
	struct gt_stack_sample sample;
	uint64_t registers[2], offset;
	_cleanup_free_ char *expected = NULL;

	(void)state;
	for (uint32_t i = 0; i < mapping_count; i++)
		if (strcmp(mappings[i].path, "[vdso]") == 0)
			vdso = &mappings[i];
	if (!vdso)
		skip();
	assert_int_equal(gt_elf_open_memory((const void *)(uintptr_t)vdso->start, vdso->length,
					    "[vdso]", &elf),
			 0);
	assert_int_equal(gt_elf_names_read(elf, NULL, &names), 0);
	assert_true(names.count > 0);
	assert_true(gt_elf_address_to_offset(elf, names.items[0].start, &offset));
	sample = sample_at(registers, vdso->start + offset);
	expected = gt_format("%s [cut]", names.items[0].name);
	expect_names(unwinder, SPACE, &sample, expected);
	gt_array_clear(&names);
	gt_elf_close(elf);
}

static void test_memory_of_no_file_is_one_frame(void **state)
{
	static const char *const names[][2] = {
		{"//anon", "[anon]"},
		{"[heap]", "[heap]"},
		{"/dev/zero (deleted)", "[zero]"},
		{"/SYSV0000162e (deleted)", "[SYSV0000162e]"},
		{"/anon_hugepage (deleted)", "[anon_hugepage]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect_name_of(&(struct gt_unwinder_spec){0}, names[i][0], NULL, 0, names[i][1]);
}

/* The user part of a call chain, as frame pointers give it: PC, and whom it goes back to. */
static bool waits(const struct gt_unwinder_spec *spec, uint64_t pc, uint64_t caller, bool of_caller)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = NULL;
	struct gt_mapping mapping = {
		.start = MAPPED_AT, .length = 0x10000, .path = "/nowhere/a.so"};
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, MAPPED_AT + pc, MAPPED_AT + caller};
	struct gt_stack_sample sample = {.frames = chain, .frame_count = ARRAY_SIZE(chain)};
	const struct gt_stacks *stacks;
	uint32_t stack;

	assert_int_equal(gt_unwinder_new(spec, &unwinder), 0);
	assert_int_equal(gt_unwinder_map(unwinder, SPACE, &mapping), 0);
	stack = unwind(unwinder, SPACE, &sample);
	stacks = gt_unwinder_stacks(unwinder);
	if (of_caller)
		stack = stacks->stacks.items[stack].parent;
	return gt_stacks_top(stacks, stack)->waits_for_gil;
}

static void test_waits_for_the_gil_are_recognised(void **state)
{
	struct gt_elf_range ranges[] = {{0x100, 0x200}, {0x3ff, 0x400}};
	gt_elf_ranges all = {.items = ranges, .count = ARRAY_SIZE(ranges)};
	struct gt_unwinder_spec spec = {.gil_path = "/nowhere/a.so", .gil_waits = &all};

	(void)state;
	assert_true(waits(&spec, 0x100, 0x800, false));
	assert_true(waits(&spec, 0x1ff, 0x800, false));
	assert_false(waits(&spec, 0x200, 0x800, false));
	assert_false(waits(&spec, 0x1ff, 0x800, true));
	/* Of a caller, the byte before the return address. */
	assert_true(waits(&spec, 0x800, 0x400, true));
	assert_false(waits(&spec, 0x800, 0x3ff, true));
	assert_false(waits(&spec, 0x800, 0x401, true));
	assert_true(waits(&spec, 0x800, 0x200, true));
	assert_false(waits(&spec, 0x800, 0x100, true));
	spec.gil_path = "/nowhere/b.so";
	assert_false(waits(&spec, 0x100, 0x800, false));
	spec.gil_path = "/nowhere/a.so";
	spec.gil_build_id = "0102";
	assert_false(waits(&spec, 0x100, 0x800, false));
}

static void test_take_gil_is_recognised_by_its_name(void **state)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = new_unwinder(NULL);
	const void *functions[] = {(const void *)take_gil_of_a_test, (const void *)recurse};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(functions); i++) {
		uint64_t registers[2];
		struct gt_stack_sample sample =
			sample_at(registers, (uint64_t)(uintptr_t)functions[i]);
		uint32_t stack = unwind(unwinder, SPACE, &sample);

		assert_int_equal(gt_stacks_top(gt_unwinder_stacks(unwinder), stack)->waits_for_gil,
				 i == 0);
	}
}

static void test_kernel_frames_are_innermost(void **state)
{
	static const char symbols[] = "0000000000000000 A fixed_percpu_data\n"
				      "ffffffff81000000 T _text\n"
				      "ffffffff81002000 t schedule\n"
				      "ffffffff81001000 T do_syscall_64\n"
				      "ffffffff81001800 D no_code\n"
				      "nonsense\n\n"
				      "ffffffffc0000000 t a_function\t[a_module]\n"
				      "ffffffffc0000100 t the_end\t[a_module]";
	char path[] = "/tmp/giltrace-test-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	struct gt_unwinder_spec spec = {.kernel_symbols = path};
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = NULL, *nameless = NULL;
	uint64_t chain[] = {
		(uint64_t)PERF_CONTEXT_KERNEL,
		0xffffffff81002010,
		0xffffffffc0000100, /* a return address: behind the call */
		0xffffffff81001900,
		(uint64_t)PERF_CONTEXT_USER,
		(uint64_t)(uintptr_t)take_gil_of_a_test,
	};
	struct gt_stack_sample sample = {.frames = chain, .frame_count = ARRAY_SIZE(chain)};
	struct gt_stack_sample kernel_only = {.frames = chain, .frame_count = 4};

	(void)state;
	assert_int_equal(gt_write_all(fd, symbols, strlen(symbols)), 0);
	unwinder = new_unwinder(&spec);
	expect_names(unwinder, SPACE, &sample,
		     "schedule a_function do_syscall_64 take_gil_of_a_test");
	expect_names(unwinder, SPACE, &kernel_only, "schedule a_function do_syscall_64");
	expect_names(unwinder, SPACE, &(struct gt_stack_sample){0}, "");
	unlink(path);
	nameless = new_unwinder(&spec);
	expect_names(nameless, SPACE, &sample, "[kernel] take_gil_of_a_test");
}

/* Of which more was recorded than anybody wants to see. */
static void test_an_endless_stack_is_not_counted(void **state)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = NULL;
	struct gt_mapping mapping = {.start = MAPPED_AT, .length = 0x1000, .path = "/nowhere/a.so"};
	uint64_t chain[1000] = {(uint64_t)PERF_CONTEXT_USER};
	struct gt_stack_sample sample = {
		.frames = chain, .frame_count = ARRAY_SIZE(chain), .is_cut = true};
	_cleanup_free_ char *names = NULL;

	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(chain); i++)
		chain[i] = MAPPED_AT + 0x10;
	assert_int_equal(gt_unwinder_new(&(struct gt_unwinder_spec){0}, &unwinder), 0);
	assert_int_equal(gt_unwinder_map(unwinder, SPACE, &mapping), 0);
	names = names_of(unwinder, unwind(unwinder, SPACE, &sample));
	assert_true(gt_string_ends_with(names, " a.so+0xf [cut]"));
	assert_int_equal(gt_unwinder_counts(unwinder).frames, 512);
	assert_int_equal(gt_unwinder_counts(unwinder).cut, 0);
}

static void test_processes_have_maps_of_their_own(void **state)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = NULL;
	struct gt_mapping mapping = {.start = MAPPED_AT, .length = 0x1000, .path = "/nowhere/a.so"};
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, MAPPED_AT + 0x10};
	struct gt_stack_sample sample = {.frames = chain, .frame_count = ARRAY_SIZE(chain)};

	(void)state;
	assert_int_equal(gt_unwinder_new(&(struct gt_unwinder_spec){0}, &unwinder), 0);
	expect_names(unwinder, SPACE, &sample, "[unknown]");
	assert_int_equal(gt_unwinder_map(unwinder, SPACE, &mapping), 0);
	expect_names(unwinder, SPACE, &sample, "a.so+0x10");
	expect_names(unwinder, OTHER_SPACE, &sample, "[unknown]");
	assert_int_equal(gt_unwinder_fork(unwinder, SPACE, OTHER_SPACE), 0);
	expect_names(unwinder, OTHER_SPACE, &sample, "a.so+0x10");
	mapping.path = "/nowhere/b.so";
	assert_int_equal(gt_unwinder_map(unwinder, OTHER_SPACE, &mapping), 0);
	expect_names(unwinder, OTHER_SPACE, &sample, "b.so+0x10");
	expect_names(unwinder, SPACE, &sample, "a.so+0x10");
	gt_unwinder_exec(unwinder, OTHER_SPACE);
	expect_names(unwinder, SPACE, &sample, "a.so+0x10");
}

/* It is in the kernel until the first file is mapped, and has a user stack no more and not yet. */
static void test_a_program_to_be_loaded_has_no_stack(void **state)
{
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = NULL;
	struct gt_mapping mapping = {.start = MAPPED_AT, .length = 0x1000, .path = "/nowhere/a.so"};
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, MAPPED_AT + 0x1010};
	struct gt_stack_sample sample = {.frames = chain, .frame_count = ARRAY_SIZE(chain)};

	(void)state;
	assert_int_equal(gt_unwinder_new(&(struct gt_unwinder_spec){0}, &unwinder), 0);
	gt_unwinder_exec(unwinder, SPACE);
	expect_names(unwinder, SPACE, &sample, "");
	assert_int_equal(gt_unwinder_counts(unwinder).broken, 0);
	assert_int_equal(gt_unwinder_map(unwinder, SPACE, &mapping), 0);
	expect_names(unwinder, SPACE, &sample, "[unknown]");
	assert_int_equal(gt_unwinder_counts(unwinder).broken, 1);
	gt_unwinder_exec(unwinder, SPACE);
	expect_names(unwinder, SPACE, &sample, "");
}

static void expect_file(const struct gt_address_spaces *spaces, uint64_t address, uint32_t file,
			uint64_t offset)
{
	const struct gt_code_mapping *mapping =
		gt_code_map_at(gt_address_spaces_get(spaces, SPACE), address);

	if (file == 0) {
		assert_null(mapping);
		return;
	}
	assert_non_null(mapping);
	assert_int_equal(mapping->file, file);
	assert_int_equal(address - mapping->start + mapping->file_offset, offset);
}

static void test_newer_mappings_replace_older_ones(void **state)
{
	static const struct gt_code_mapping in_order[] = {
		{.start = 0x1000, .end = 0x9000, .file_offset = 0x100000, .file = 1},
		{.start = 0x3000, .end = 0x4000, .file_offset = 0x200000, .file = 2},
		{.start = 0x8000, .end = 0xa000, .file_offset = 0x300000, .file = 3},
		{.start = 0x3800, .end = 0x5000, .file_offset = 0x400000, .file = 4},
		{.start = 0x0800, .end = 0x1800, .file_offset = 0x500000, .file = 5},
		{.start = 0x7000, .end = 0x7000, .file_offset = 0x600000, .file = 6},
	};
	struct gt_address_spaces spaces = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(in_order); i++)
		assert_int_equal(gt_address_spaces_map(&spaces, SPACE, &in_order[i]), 0);
	expect_file(&spaces, 0x7ff, 0, 0);
	expect_file(&spaces, 0x800, 5, 0x500000);
	expect_file(&spaces, 0x17ff, 5, 0x500fff);
	expect_file(&spaces, 0x1800, 1, 0x100800);
	expect_file(&spaces, 0x3000, 2, 0x200000);
	expect_file(&spaces, 0x37ff, 2, 0x2007ff);
	expect_file(&spaces, 0x3800, 4, 0x400000);
	expect_file(&spaces, 0x5000, 1, 0x104000);
	expect_file(&spaces, 0x7fff, 1, 0x106fff);
	expect_file(&spaces, 0x8000, 3, 0x300000);
	expect_file(&spaces, 0xa000, 0, 0);
	gt_address_spaces_clear(&spaces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stack_is_unwound_as_libgcc_does),
		cmocka_unit_test(test_the_same_stack_is_the_same_number),
		cmocka_unit_test(test_a_short_copy_ends_in_a_mark),
		cmocka_unit_test(test_a_stack_that_is_gone_is_not_counted),
		cmocka_unit_test(test_a_broken_stack_ends_in_a_mark),
#ifdef __x86_64__
		cmocka_unit_test(test_a_new_thread_has_no_caller),
		cmocka_unit_test(test_frame_pointers_that_lead_to_the_start),
#endif
		cmocka_unit_test(test_files_are_found),
		cmocka_unit_test(test_the_vdso_has_names),
		cmocka_unit_test(test_memory_of_no_file_is_one_frame),
		cmocka_unit_test(test_waits_for_the_gil_are_recognised),
		cmocka_unit_test(test_take_gil_is_recognised_by_its_name),
		cmocka_unit_test(test_kernel_frames_are_innermost),
		cmocka_unit_test(test_an_endless_stack_is_not_counted),
		cmocka_unit_test(test_processes_have_maps_of_their_own),
		cmocka_unit_test(test_a_program_to_be_loaded_has_no_stack),
		cmocka_unit_test(test_newer_mappings_replace_older_ones),
	};

	return cmocka_run_group_tests(tests, read_mappings, free_mappings);
}
