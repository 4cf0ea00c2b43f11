/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "elf/cfi.h"
#include "elf/elf_file.h"
#include "elf/names.h"

/* Of x86-64. */
enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16 };

static struct gt_elf *self;
static struct gt_cfi *tables;
static uint64_t self_base;

static int find_base(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_addr;
	return 1; /* the program comes first */
}

static int set_up(void **state)
{
	(void)state;
	dl_iterate_phdr(find_base, &self_base);
	return gt_elf_open("/proc/self/exe", &self) < 0 || gt_cfi_new(self, NULL, &tables) < 0;
}

static int tear_down(void **state)
{
	(void)state;
	gt_cfi_free(tables);
	gt_elf_close(self);
	return 0;
}

static struct gt_cfi_rule rule_at(const void *code)
{
	struct gt_cfi_rule rule = {0};

	assert_true(gt_cfi_find(tables, (uint64_t)(uintptr_t)code - self_base, &rule));
	return rule;
}

/* Behind the call of a function nothing is on its stack but the return address. */
static void check_entry(const struct gt_cfi_rule *rule)
{
	assert_int_equal(rule->cfa, GT_CFI_CFA_REGISTER);
	assert_int_equal(rule->cfa_register, RSP);
	assert_int_equal(rule->cfa_offset, 8);
	assert_int_equal(rule->from[GT_CFI_RETURN], GT_CFI_AT_CFA);
	assert_int_equal(rule->offsets[GT_CFI_RETURN], -8);
}

static void need_x86_64(void)
{
	if (gt_elf_machine(self) != EM_X86_64)
		skip();
}

/* Where its caller goes on. */
static __attribute__((noinline)) const void *where(volatile char *any)
{
	*any = 1;
	return __builtin_return_address(0);
}

static __attribute__((noinline)) const void *with_frame_pointer(size_t size)
{
	volatile char *room = __builtin_alloca(size);
	const void *here = where(room);

	room[size - 1] = 2; /* so that the call is no jump */
	return here;
}

/* The same code, through the whole of a function; no instruction of it is longer than 15 bytes. */
static void test_a_function_is_entered_without_a_frame(void **state)
{
	struct gt_cfi_rule rule;

	(void)state;
	need_x86_64();
	rule = rule_at((const void *)with_frame_pointer);
	check_entry(&rule);
	assert_int_equal(rule.from[GT_CFI_FRAME_POINTER], GT_CFI_SAME);
	assert_int_equal(rule.from[GT_CFI_SAVED], GT_CFI_SAME);
	assert_false(rule.is_signal_frame);
}

static void test_a_frame_pointer_is_followed(void **state)
{
	struct gt_cfi_rule rule;

	(void)state;
	need_x86_64();
	rule = rule_at((const char *)with_frame_pointer(100) - 1);
	assert_int_equal(rule.cfa, GT_CFI_CFA_REGISTER);
	assert_int_equal(rule.cfa_register, RBP);
	assert_int_equal(rule.cfa_offset, 16);
	assert_int_equal(rule.from[GT_CFI_FRAME_POINTER], GT_CFI_AT_CFA);
	assert_int_equal(rule.offsets[GT_CFI_FRAME_POINTER], -16);
}

/* The first row is asked for again, in between, and after the second one. */
static void test_rows_are_kept_apart(void **state)
{
	const char *start = (const char *)(uintptr_t)with_frame_pointer;
	const char *inside = (const char *)with_frame_pointer(100) - 1;

	(void)state;
	need_x86_64();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rule_at(inside).cfa_offset, 16);
		assert_int_equal(rule_at(start).cfa_offset, 8);
	}
}

#ifdef __x86_64__
/* As hand-written code does: a copy of the stack pointer is on the stack, and counts. */
const void *realigned_code(void);
__asm__(".text\n"
	".type realigned_code, @function\n"
	"realigned_code:\n"
	".cfi_startproc\n"
	"	lea 8(%rsp), %r10\n"
	"	.cfi_def_cfa 10, 0\n"
	"	and $-64, %rsp\n"
	"	push -8(%r10)\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_escape 0x10, 0x6, 0x2, 0x76, 0\n" /* rbp: breg6 + 0 */
	"	push %r10\n"
	"	.cfi_escape 0xf, 0x3, 0x76, 0x78, 0x6\n" /* CFA: breg6 - 8, deref */
	"realigned_code_body:\n"
	"	lea realigned_code_body(%rip), %rax\n"
	"	pop %r10\n"
	"	.cfi_def_cfa 10, 0\n"
	"	pop %rbp\n"
	"	lea -8(%r10), %rsp\n"
	"	.cfi_def_cfa 7, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size realigned_code, . - realigned_code\n");

static void test_a_realigned_stack_is_followed(void **state)
{
	const void *body = realigned_code();
	struct gt_cfi_rule rule = rule_at(body);

	(void)state;
	assert_int_equal(rule.cfa, GT_CFI_CFA_MEMORY);
	assert_int_equal(rule.cfa_register, RBP);
	assert_int_equal(rule.cfa_offset, -8);
	assert_int_equal(rule.cfa_added, 0);
	assert_int_equal(rule.from[GT_CFI_FRAME_POINTER], GT_CFI_AT_REGISTER | RBP);
	assert_int_equal(rule.offsets[GT_CFI_FRAME_POINTER], 0);
	assert_int_equal(rule.from[GT_CFI_RETURN], GT_CFI_AT_CFA);
	assert_int_equal(rule.offsets[GT_CFI_RETURN], -8);
}

/* An epilogue in the midst of a function, behind which all is as it was before. */
__asm__(".text\n"
	".type restoring_code, @function\n"
	"restoring_code:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_remember_state\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"restoring_code_epilogue:\n"
	"	ret\n"
	"	.cfi_restore_state\n"
	"restoring_code_body:\n"
	"	nop\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size restoring_code, . - restoring_code\n");
extern const char restoring_code[], restoring_code_epilogue[], restoring_code_body[];

static void test_a_restored_state_is_no_earlier_row(void **state)
{
	(void)state;
	assert_int_equal(rule_at(restoring_code_body).cfa_offset, 16);
	assert_int_equal(rule_at(restoring_code_epilogue).cfa_offset, 8);
	assert_int_equal(rule_at(restoring_code_body + 1).cfa_offset, 16);
	assert_int_equal(rule_at(restoring_code + 1).cfa_offset, 16);
	assert_int_equal(rule_at(restoring_code).cfa_offset, 8);
}

const void *odd_code(void);
__asm__(".text\n"
	".type odd_code, @function\n"
	"odd_code:\n"
	".cfi_startproc\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_register 16, 5\n"
	"odd_code_popped:\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_undefined 16\n"
	"odd_code_outermost:\n"
	"	nop\n"
	"	.cfi_escape 0xf, 0x4, 0x77, 0x8, 0x6, 0x1f\n" /* CFA: breg7 + 8, deref, neg */
	"odd_code_unknown:\n"
	"	lea odd_code(%rip), %rax\n"
	"	ret\n"
	".cfi_endproc\n"
	".size odd_code, . - odd_code\n");
extern const char odd_code_popped[], odd_code_outermost[], odd_code_unknown[];

static void test_odd_rules_are_told_apart(void **state)
{
	struct gt_cfi_rule rule = rule_at(odd_code_popped);

	(void)state;
	assert_ptr_equal(odd_code(), odd_code);
	/* The return address is in rdi, as in vfork(). */
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(rule.from[GT_CFI_RETURN], GT_CFI_IN_REGISTER | 5);
	rule = rule_at(odd_code_outermost);
	assert_int_equal(rule.from[GT_CFI_RETURN], GT_CFI_UNDEFINED);
	assert_false(gt_cfi_find(tables, (uint64_t)(uintptr_t)odd_code_unknown - self_base, &rule));
}
#endif

static void test_stubs_of_a_plt_have_a_rule(void **state)
{
	_cleanup_free_ char *path =
		gt_format("%s/libgil_sites_plt.so", getenv("GILTRACE_TEST_FIXTURES"));
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_cfi_freep) struct gt_cfi *cfi = NULL;
	uint64_t address, size;
	struct gt_cfi_rule rule;

	(void)state;
	need_x86_64();
	assert_int_equal(gt_elf_open(path, &elf), 0);
	assert_int_equal(gt_cfi_new(elf, NULL, &cfi), 0);
	assert_non_null(gt_elf_section_bytes(elf, ".plt", &address, &size));
	assert_true(gt_cfi_find(cfi, address + 16, &rule));
	assert_int_equal(rule.cfa, GT_CFI_CFA_PLT);
	assert_int_equal(rule.cfa_register, RSP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.cfa_added, 11);
	assert_int_equal(rule.from[GT_CFI_RETURN], GT_CFI_AT_CFA);
	assert_int_equal(rule.offsets[GT_CFI_RETURN], -8);
}

static uint64_t find_function(const struct gt_elf *elf, const char *name)
{
	gt_elf_functions names = {0};
	uint64_t address = 0;

	assert_int_equal(gt_elf_names_read(elf, NULL, &names), 0);
	gt_array_for_each (&names, function)
		if (strcmp(function->name, name) == 0)
			address = function->start;
	gt_array_clear(&names);
	assert_int_not_equal(address, 0);
	return address;
}

static void check_debug_frame(const char *path)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	_cleanup_(gt_cfi_freep) struct gt_cfi *cfi = NULL;
	struct gt_cfi_rule rule;

	assert_int_equal(gt_elf_open(path, &elf), 0);
	assert_int_equal(gt_cfi_new(elf, NULL, &cfi), 0);
	assert_true(gt_cfi_find(cfi, find_function(elf, "first_function"), &rule));
	check_entry(&rule);
}

static void test_packed_tables_are_read(void **state)
{
	static const char *const kinds[] = {"plain", "packed", "packed_of_old"};
	uint32_t checked = 0;

	(void)state;
	need_x86_64();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		_cleanup_free_ char *path = gt_format("%s/libdebug_frame_%s.so",
						      getenv("GILTRACE_TEST_FIXTURES"), kinds[i]);

		/* Not every compiler packs. */
		if (!gt_elf_is_elf(path))
			continue;
		check_debug_frame(path);
		checked++;
	}
	if (checked == 0)
		skip();
}

static void test_what_is_no_code_has_no_rule(void **state)
{
	static const uint64_t addresses[] = {0, 1, UINT64_MAX, UINT32_MAX, (uint64_t)1 << 63};
	struct gt_cfi_rule rule;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_false(gt_cfi_find(tables, addresses[i], &rule));
}

int aliased_function(int value);
__attribute__((noinline)) int aliased_function(int value)
{
	return value + 1;
}

extern __typeof__(aliased_function) __aliased_function __attribute__((alias("aliased_function")));
extern __typeof__(aliased_function) aliased_function_of_old
	__attribute__((weak, alias("aliased_function")));

static void test_the_best_name_is_taken(void **state)
{
	gt_elf_functions names = {0};
	uint32_t found;

	(void)state;
	assert_int_equal(gt_elf_names_read(self, NULL, &names), 0);
	found = gt_elf_function_at(&names, (uint64_t)(uintptr_t)aliased_function - self_base);
	assert_int_not_equal(found, UINT32_MAX);
	assert_string_equal(names.items[found].name, "aliased_function");
	gt_array_clear(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_function_is_entered_without_a_frame),
		cmocka_unit_test(test_a_frame_pointer_is_followed),
		cmocka_unit_test(test_rows_are_kept_apart),
#ifdef __x86_64__
		cmocka_unit_test(test_a_realigned_stack_is_followed),
		cmocka_unit_test(test_a_restored_state_is_no_earlier_row),
		cmocka_unit_test(test_odd_rules_are_told_apart),
#endif
		cmocka_unit_test(test_stubs_of_a_plt_have_a_rule),
		cmocka_unit_test(test_packed_tables_are_read),
		cmocka_unit_test(test_what_is_no_code_has_no_rule),
		cmocka_unit_test(test_the_best_name_is_taken),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
