/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>

#include "base/macros.h"
#include "elf/elf_file.h"
#include "elf/sweep.h"

#define CODE_ADDRESS 0x1000

enum { RCX = 1, RBX = 3, RDI = 7 };

/* A file that is all code, at CODE_ADDRESS. */
struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	unsigned char code[128];
};

struct reading {
	struct file file;
	struct gt_elf *elf;
	struct gt_disassembler *disassembler;
	struct gt_sweep sweep;
	struct gt_instruction instruction;
};

static void begin(struct reading *reading, uint16_t machine, const void *code, size_t size)
{
	struct gt_elf_function function = {.start = CODE_ADDRESS, .end = CODE_ADDRESS + size};

	*reading = (struct reading){
		.file = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
						ELFDATA2LSB, EV_CURRENT},
				    .e_type = ET_DYN,
				    .e_machine = machine,
				    .e_version = EV_CURRENT,
				    .e_phoff = offsetof(struct file, segment),
				    .e_ehsize = sizeof(Elf64_Ehdr),
				    .e_phentsize = sizeof(Elf64_Phdr),
				    .e_phnum = 1},
			 .segment = {.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_offset = offsetof(struct file, code),
				     .p_vaddr = CODE_ADDRESS,
				     .p_filesz = size,
				     .p_memsz = size}}};
	assert_true(size <= sizeof(reading->file.code));
	memcpy(reading->file.code, code, size);
	assert_int_equal(
		gt_elf_open_memory(&reading->file, sizeof(reading->file), "code", &reading->elf),
		0);
	assert_int_equal(gt_disassembler_new(reading->elf, &reading->disassembler), 0);
	gt_sweep_begin(&reading->sweep, reading->disassembler, &function);
}

static void end(struct reading *reading)
{
	gt_sweep_clear(&reading->sweep);
	gt_disassembler_free(reading->disassembler);
	gt_elf_close(reading->elf);
}

/* On to the instruction at ADDRESS. */
static void read_to(struct reading *reading, uint64_t address)
{
	do
		assert_true(gt_sweep_next(&reading->sweep, &reading->instruction));
	while (reading->instruction.address < address);
	assert_int_equal(reading->instruction.address, address);
}

static void check_value(const struct reading *reading, uint32_t number, enum gt_value_kind kind,
			uint32_t base, uint64_t value)
{
	const struct gt_value *found = &reading->sweep.registers.values[number];

	assert_int_equal(found->kind, kind);
	if (kind == GT_VALUE_UNKNOWN)
		return;
	assert_int_equal(found->value, value);
	assert_int_equal(found->base, base);
}

static void test_ways_that_meet(void **state)
{
	static const unsigned char code[] = {
		0x48, 0x8d, 0x3d, 0xf9, 0x0f, 0, 0, /* 1000: lea 2000, %rdi */
		0x74, 0x07,			    /* 1007: je 1010 */
		0x48, 0x8d, 0x3d, 0xf0, 0x0f, 0, 0, /* 1009: lea 2000, %rdi */
		0x90,				    /* 1010: nop */
		0x48, 0x8d, 0x3d, 0xe8, 0x1f, 0, 0, /* 1011: lea 3000, %rdi */
		0x74, 0x07,			    /* 1018: je 1021 */
		0x48, 0x8d, 0x3d, 0xdf, 0x2f, 0, 0, /* 101a: lea 4000, %rdi */
		0x90,				    /* 1021: nop */
		0xc3,				    /* 1022: ret */
	};
	struct reading reading;

	(void)state;
	begin(&reading, EM_X86_64, code, sizeof(code));
	read_to(&reading, 0x1000);
	check_value(&reading, RDI, GT_VALUE_UNKNOWN, 0, 0);
	read_to(&reading, 0x1010);
	assert_true(reading.instruction.is_padding);
	check_value(&reading, RDI, GT_VALUE_CONSTANT, 0, 0x2000);
	read_to(&reading, 0x101a);
	check_value(&reading, RDI, GT_VALUE_CONSTANT, 0, 0x3000);
	read_to(&reading, 0x1021);
	check_value(&reading, RDI, GT_VALUE_UNKNOWN, 0, 0);
	read_to(&reading, 0x1022);
	assert_int_equal(reading.instruction.kind, GT_INSTRUCTION_RETURN);
	assert_false(gt_sweep_next(&reading.sweep, &reading.instruction));
	end(&reading);
}

/* The start of the loop is further on than a part of it. */
static void test_turned_loop(void **state)
{
	static const unsigned char code[] = {
		0x48, 0x8b, 0x1d, 0xf9, 0x0f, 0, 0, /* 1000: mov (2000), %rbx */
		0xeb, 0x02,			    /* 1007: jmp 100b */
		0x31, 0xff,			    /* 1009: xor %edi, %edi */
		0xff, 0xd3,			    /* 100b: call *%rbx */
		0x75, 0xfa,			    /* 100d: jne 1009 */
		0x5b,				    /* 100f: pop %rbx */
		0xff, 0xd3,			    /* 1010: call *%rbx */
	};
	struct reading reading;

	(void)state;
	begin(&reading, EM_X86_64, code, sizeof(code));
	read_to(&reading, 0x100b);
	assert_int_equal(reading.instruction.kind, GT_INSTRUCTION_CALL);
	assert_int_equal(reading.instruction.through, RBX);
	check_value(&reading, RBX, GT_VALUE_LOADED, 0, 0x2000);
	check_value(&reading, RDI, GT_VALUE_UNKNOWN, 0, 0);
	read_to(&reading, 0x1010);
	check_value(&reading, RBX, GT_VALUE_UNKNOWN, 0, 0);
	end(&reading);
}

static void test_what_is_lost(void **state)
{
	static const unsigned char code[] = {
		0x48, 0x8d, 0x7b, 0x10,	   /* 1000: lea 0x10(%rbx), %rdi */
		0x48, 0x8d, 0x4f, 0x08,	   /* 1004: lea 8(%rdi), %rcx */
		0x48, 0x89, 0xcb,	   /* 1008: mov %rcx, %rbx */
		0x48, 0x8d, 0x7d, 0x20,	   /* 100b: lea 0x20(%rbp), %rdi */
		0xe8, 0,    0,	  0,	0, /* 100f: call 1014 */
		0xbf, 0x34, 0x12, 0,	0, /* 1014: mov $0x1234, %edi */
		0x48, 0x83, 0xc7, 0x08,	   /* 1019: add $8, %rdi */
		0x90,			   /* 101d: nop */
	};
	struct reading reading;

	(void)state;
	begin(&reading, EM_X86_64, code, sizeof(code));
	read_to(&reading, 0x1008);
	check_value(&reading, RDI, GT_VALUE_RELATIVE, RBX, 0x10);
	check_value(&reading, RCX, GT_VALUE_RELATIVE, RBX, 0x18);
	/* Their base has another value from here on. */
	read_to(&reading, 0x100b);
	check_value(&reading, RDI, GT_VALUE_UNKNOWN, 0, 0);
	check_value(&reading, RBX, GT_VALUE_UNKNOWN, 0, 0);
	read_to(&reading, 0x100f);
	check_value(&reading, RDI, GT_VALUE_RELATIVE, 5, 0x20);
	read_to(&reading, 0x1014);
	check_value(&reading, RDI, GT_VALUE_UNKNOWN, 0, 0);
	read_to(&reading, 0x1019);
	check_value(&reading, RDI, GT_VALUE_CONSTANT, 0, 0x1234);
	read_to(&reading, 0x101d);
	check_value(&reading, RDI, GT_VALUE_UNKNOWN, 0, 0);
	end(&reading);
}

static void test_aarch64_registers(void **state)
{
	static const uint32_t code[] = {
		0xb0000000, /* 1000: adrp x0, 2000 */
		0xf9400c08, /* 1004: ldr x8, [x0, #0x18] */
		0x91008001, /* 1008: add x1, x0, #0x20 */
		0x91404002, /* 100c: add x2, x0, #0x10, lsl #12 */
		0x91004263, /* 1010: add x3, x19, #0x10 */
		0xaa0303f4, /* 1014: mov x20, x3 */
		0xd63f0100, /* 1018: blr x8 */
		0xd503201f, /* 101c: nop */
	};
	struct reading reading;

	(void)state;
	begin(&reading, EM_AARCH64, code, sizeof(code));
	read_to(&reading, 0x1018);
	assert_int_equal(reading.instruction.kind, GT_INSTRUCTION_CALL);
	assert_int_equal(reading.instruction.through, 8);
	check_value(&reading, 0, GT_VALUE_CONSTANT, 0, 0x2000);
	check_value(&reading, 8, GT_VALUE_LOADED, 0, 0x2018);
	check_value(&reading, 1, GT_VALUE_CONSTANT, 0, 0x2020);
	check_value(&reading, 2, GT_VALUE_CONSTANT, 0, 0x12000);
	check_value(&reading, 20, GT_VALUE_RELATIVE, 19, 0x10);
	read_to(&reading, 0x101c);
	assert_true(reading.instruction.is_padding);
	check_value(&reading, 0, GT_VALUE_UNKNOWN, 0, 0);
	check_value(&reading, 20, GT_VALUE_RELATIVE, 19, 0x10);
	end(&reading);
}

static void test_aarch64_kinds(void **state)
{
	static const struct {
		uint32_t word;
		enum gt_instruction_kind kind;
		bool has_target;
		uint32_t through;
	} cases[] = {
		{0x94000002, GT_INSTRUCTION_CALL, true, GT_REGISTER_NONE},    /* bl */
		{0x14000002, GT_INSTRUCTION_JUMP, true, GT_REGISTER_NONE},    /* b */
		{0x54000040, GT_INSTRUCTION_BRANCH, true, GT_REGISTER_NONE},  /* b.eq */
		{0xb4000040, GT_INSTRUCTION_BRANCH, true, GT_REGISTER_NONE},  /* cbz */
		{0x36180040, GT_INSTRUCTION_BRANCH, true, GT_REGISTER_NONE},  /* tbz w0, #3 */
		{0xd61f0220, GT_INSTRUCTION_JUMP, false, 17},		      /* br x17 */
		{0xd63f0100, GT_INSTRUCTION_CALL, false, 8},		      /* blr x8 */
		{0xd65f03c0, GT_INSTRUCTION_RETURN, false, GT_REGISTER_NONE}, /* ret */
		{0xd65f0bff, GT_INSTRUCTION_RETURN, false, GT_REGISTER_NONE}, /* retaa */
		{0xd65f0fff, GT_INSTRUCTION_RETURN, false, GT_REGISTER_NONE}, /* retab */
		{0xd71f0a11, GT_INSTRUCTION_JUMP, false, GT_REGISTER_NONE},   /* braa */
		{0xd73f0a11, GT_INSTRUCTION_CALL, false, GT_REGISTER_NONE},   /* blraa */
		{0xd4200000, GT_INSTRUCTION_TRAP, false, GT_REGISTER_NONE},   /* brk */
		{0x00000000, GT_INSTRUCTION_TRAP, false, GT_REGISTER_NONE},   /* udf */
		{0xd503245f, GT_INSTRUCTION_PLAIN, false, GT_REGISTER_NONE},  /* bti c */
		{0xd503233f, GT_INSTRUCTION_PLAIN, false, GT_REGISTER_NONE},  /* paciasp */
		{0xb8e00041, GT_INSTRUCTION_PLAIN, false, GT_REGISTER_NONE},  /* ldaddal */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reading reading;

		begin(&reading, EM_AARCH64, &cases[i].word, sizeof(cases[i].word));
		read_to(&reading, CODE_ADDRESS);
		assert_int_equal(reading.instruction.size, 4);
		assert_int_equal(reading.instruction.kind, cases[i].kind);
		assert_int_equal(reading.instruction.target,
				 cases[i].has_target ? CODE_ADDRESS + 8 : 0);
		if (cases[i].kind != GT_INSTRUCTION_RETURN)
			assert_int_equal(reading.instruction.through, cases[i].through);
		end(&reading);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways_that_meet), cmocka_unit_test(test_turned_loop),
		cmocka_unit_test(test_what_is_lost),   cmocka_unit_test(test_aarch64_registers),
		cmocka_unit_test(test_aarch64_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
