/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "elf/disassembly.h"
#include "elf/elf_file.h"

/* The test looks at its own program, of which the linker tells it the truth. */
extern const char __executable_start[];

static struct gt_elf *open_own(void)
{
	struct gt_elf *elf = NULL;

	assert_int_equal(gt_elf_open("/proc/self/exe", &elf), 0);
	return elf;
}

/* A function of the program, by its virtual address in the file. */
static uint64_t file_address(const struct gt_elf *elf, const void *pointer)
{
	uint64_t first = 0;

	/* The segment at offset 0 is loaded at __executable_start. */
	assert_true(gt_elf_offset_to_address(elf, 0, &first));
	return (uint64_t)((uintptr_t)pointer - (uintptr_t)__executable_start) + first;
}

static __attribute__((noinline)) int signal_one(pthread_cond_t *cond)
{
	int r = pthread_cond_signal(cond);

	/* Not a tail call. */
	__asm__ volatile("" : "+r"(r));
	return r;
}

static void test_own_symbols(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = open_own();
	gt_elf_functions functions = {0};
	uint64_t address;
	uint32_t function;

	(void)state;
	assert_int_equal(gt_elf_symbols_read(elf, &functions), 0);
	for (uint32_t i = 0; i < functions.count; i++) {
		assert_true(functions.items[i].start < functions.items[i].end);
		if (i > 0)
			assert_true(functions.items[i - 1].end <= functions.items[i].start);
	}
	address = file_address(elf, (const void *)signal_one);
	function = gt_elf_function_at(&functions, address + 1);
	assert_true(function < functions.count);
	assert_int_equal(functions.items[function].start, address);
	assert_string_equal(functions.items[function].name, "signal_one");
	assert_int_equal(gt_elf_function_at(&functions, 0), UINT32_MAX);
	assert_int_equal(gt_elf_function_at(&functions, UINT64_MAX), UINT32_MAX);
	gt_array_clear(&functions);
}

static void test_addresses_and_offsets(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = open_own();
	uint64_t address = file_address(elf, (const void *)signal_one), offset, back, left;
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned char bytes[8];

	(void)state;
	assert_true(gt_elf_address_to_offset(elf, address, &offset));
	assert_true(gt_elf_offset_to_address(elf, offset, &back));
	assert_int_equal(address, back);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), (off_t)offset), sizeof(bytes));
	assert_memory_equal(bytes, gt_elf_bytes(elf, address, sizeof(bytes)), sizeof(bytes));
	assert_memory_equal(bytes, (const void *)(uintptr_t)signal_one, sizeof(bytes));
	assert_non_null(gt_elf_bytes_left(elf, address, &left));
	assert_non_null(gt_elf_bytes(elf, address, left));
	assert_null(gt_elf_bytes(elf, address, left + 1));
	assert_null(gt_elf_bytes(elf, address, UINT64_MAX));
	assert_false(gt_elf_address_to_offset(elf, UINT64_MAX, &offset));
	assert_false(gt_elf_offset_to_address(elf, UINT64_MAX, &back));
}

/* The one call in signal_one leads to what is known as an import of that name. */
static void test_call_of_an_import(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = open_own();
	_cleanup_(gt_disassembler_freep) struct gt_disassembler *disassembler = NULL;
	const char *const names[] = {"pthread_mutex_trylock_not", "pthread_cond_signal"};
	struct gt_instruction instruction;
	gt_elf_imports imports = {0};
	uint64_t address = file_address(elf, (const void *)signal_one);
	uint32_t matches = 0;

	(void)state;
	assert_int_equal(gt_elf_imports_read(elf, names, ARRAY_SIZE(names), &imports), 0);
	assert_true(imports.count >= 1);
	assert_int_equal(gt_disassembler_new(elf, &disassembler), 0);
	do {
		assert_true(gt_disassemble(disassembler, address, &instruction));
		gt_array_for_each (&imports, import) {
			assert_int_equal(import->name, 1);
			if (instruction.kind == GT_INSTRUCTION_CALL &&
			    (import->kind == GT_ELF_IMPORT_SLOT
				     ? instruction.slot
				     : instruction.target) == import->address)
				matches++;
		}
		address += instruction.size;
	} while (instruction.kind != GT_INSTRUCTION_RETURN);
	assert_int_equal(matches, 1);
	gt_array_clear(&imports);
}

static void test_dynamic_section(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = open_own();

	(void)state;
	assert_true(gt_elf_needs(elf, "libcmocka"));
	assert_false(gt_elf_needs(elf, "libpython"));
	assert_false(gt_elf_exports(elf, "Py_BytesMain"));
	assert_true(gt_elf_has_section(elf, ".text"));
	assert_false(gt_elf_has_section(elf, ".bolt.org.text"));
}

static void test_code_sections(void **state)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = open_own();
	gt_elf_code_sections sections = {0};
	bool has_text = false;

	(void)state;
	assert_int_equal(gt_elf_code_sections_read(elf, &sections), 0);
	gt_array_for_each (&sections, section) {
		assert_true(section->start <= section->end);
		has_text = has_text || strcmp(section->name, ".text") == 0;
	}
	assert_true(has_text);
	gt_array_clear(&sections);
}

/* Puts bytes where gt_elf_open finds them; the path is /proc/self/fd/N. */
static int open_bytes(const void *bytes, size_t size, struct gt_elf **ret)
{
	_cleanup_close_ int fd = memfd_create("bytes", MFD_CLOEXEC);
	_cleanup_free_ char *path = gt_format("/proc/self/fd/%d", fd);

	assert_true(fd >= 0);
	assert_int_equal(gt_write_all(fd, bytes, size), 0);
	return gt_elf_open(path, ret);
}

static int refusal(const void *bytes, size_t size)
{
	struct gt_elf *elf = NULL;
	int r = open_bytes(bytes, size, &elf);

	assert_null(elf);
	return r;
}

static void test_what_is_refused(void **state)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	struct gt_elf *elf = NULL;
	Elf64_Ehdr changed;

	(void)state;
	assert_int_equal(gt_elf_open("/no/such/file", &elf), -ENOENT);
	assert_int_equal(gt_elf_open("/", &elf), -EISDIR);
	assert_int_equal(gt_elf_open("/dev/null", &elf), -ENOEXEC);
	assert_int_equal(refusal("", 0), -ENOEXEC);
	assert_int_equal(refusal("#!/bin/sh\necho hello\n", 21), -ENOEXEC);
	assert_int_equal(refusal(&header, 20), -EBADMSG);

	changed = header;
	changed.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(refusal(&changed, sizeof(changed)), -EOPNOTSUPP);
	changed = header;
	changed.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(refusal(&changed, sizeof(changed)), -EOPNOTSUPP);
	changed = header;
	changed.e_type = ET_REL;
	assert_int_equal(refusal(&changed, sizeof(changed)), -ENOEXEC);
	changed = header;
	changed.e_shoff = 1 << 20;
	changed.e_shnum = 3;
	assert_int_equal(refusal(&changed, sizeof(changed)), -EBADMSG);
	changed = header;
	changed.e_phoff = 1 << 20;
	changed.e_phnum = 3;
	assert_int_equal(refusal(&changed, sizeof(changed)), -EBADMSG);
}

/* What is no file may be a device, and is not touched. */
static void test_what_is_not_opened(void **state)
{
	char folder[] = "/tmp/giltrace-test-XXXXXX", event[512];
	_cleanup_close_ int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	_cleanup_free_ char *path = NULL;
	struct gt_elf *elf = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = gt_format("%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	assert_int_equal(gt_elf_open(path, &elf), -ENOEXEC);
	assert_false(gt_elf_is_elf(path));
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void test_segment_past_the_end(void **state)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
	} file = {
		.header =
			{
				.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					    ELFDATA2LSB, EV_CURRENT},
				.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_phoff = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 1,
			},
		.segment = {.p_type = PT_LOAD, .p_filesz = sizeof(file), .p_vaddr = 0x1000},
	};
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;

	(void)state;
	assert_int_equal(open_bytes(&file, sizeof(file), &elf), 0);
	assert_non_null(gt_elf_bytes(elf, 0x1000, sizeof(file)));
	assert_null(gt_elf_bytes(elf, 0x1000, sizeof(file) + 1));
	assert_string_equal(gt_elf_build_id(elf), "");
	file.segment.p_filesz++;
	assert_int_equal(refusal(&file, sizeof(file)), -EBADMSG);
	file.segment.p_filesz = UINT64_MAX;
	assert_int_equal(refusal(&file, sizeof(file)), -EBADMSG);
	file.segment.p_filesz = 8;
	file.segment.p_vaddr = UINT64_MAX;
	assert_int_equal(refusal(&file, sizeof(file)), -EBADMSG);
}

int main(void)
{
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_symbols),
		cmocka_unit_test(test_addresses_and_offsets),
		cmocka_unit_test(test_call_of_an_import),
		cmocka_unit_test(test_dynamic_section),
		cmocka_unit_test(test_code_sections),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_what_is_not_opened),
		cmocka_unit_test(test_segment_past_the_end),
	};

	signal_one(&cond);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
