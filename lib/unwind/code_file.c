/* SPDX-License-Identifier: MIT */
#include "unwind/code_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strings.h"
#include "elf/names.h"
#include "unwind/find_file.h"

void gt_code_files_clear(struct gt_code_files *files)
{
	gt_array_for_each (&files->files, file) {
		if (file->cfi)
			gt_cfi_free(file->cfi);
		gt_array_clear(&file->names);
		gt_array_clear(&file->ranges);
		gt_elf_close(file->debug_file);
		gt_elf_close(file->elf);
		free(file->path);
	}
	gt_array_clear(&files->files);
	gt_hash_clear(&files->by_content);
}

/* FNV-1a, 64 bits. */
static uint64_t hash_file(const char *path, const char *build_id)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	for (; *build_id; build_id++)
		hash = (hash ^ (unsigned char)*build_id) * UINT64_C(0x100000001b3);
	return hash;
}

int gt_code_files_add(struct gt_code_files *files, const struct gt_mapping *mapping,
		      uint32_t *ret_number)
{
	char build_id[GT_BUILD_ID_MAX * 2 + 1] = "";
	struct gt_code_file *file;
	uint32_t first;
	uint64_t hash;

	if (mapping->build_id && mapping->build_id_size <= GT_BUILD_ID_MAX)
		gt_hex_format(mapping->build_id, mapping->build_id_size, build_id);
	hash = hash_file(mapping->path, build_id);
	first = gt_hash_get(&files->by_content, hash);
	for (uint32_t i = first; i != GT_HASH_NONE; i = files->files.items[i].next) {
		if (strcmp(files->files.items[i].path, mapping->path) != 0 ||
		    strcmp(files->files.items[i].build_id, build_id) != 0)
			continue;
		*ret_number = i;
		return 0;
	}
	file = gt_array_push(&files->files);
	if (!file)
		return gt_error_oom();
	file->next = first;
	strcpy(file->build_id, build_id);
	file->path = strdup(mapping->path);
	if (!file->path || gt_hash_set(&files->by_content, hash, files->files.count - 1) < 0)
		return gt_error_oom();
	*ret_number = files->files.count - 1;
	return 0;
}

static bool has_gil(const struct gt_unwinder_spec *spec, const struct gt_code_file *file)
{
	const char *build_id = file->build_id;

	if (build_id[0] == '\0' && file->elf)
		build_id = gt_elf_build_id(file->elf);
	if (spec->gil_build_id && spec->gil_build_id[0])
		return strcmp(build_id, spec->gil_build_id) == 0;
	return spec->gil_path && strcmp(file->path, spec->gil_path) == 0;
}

static int read_tables(struct gt_code_file *file)
{
	int r = 0;

	if (gt_elf_is_stripped(file->elf)) {
		r = gt_elf_open_debug_file(file->elf, &file->debug_file);
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0)
		r = gt_elf_names_read(file->elf, file->debug_file, &file->names);
	return r < 0 ? r : gt_cfi_new(file->elf, file->debug_file, &file->cfi);
}

/* Where there is no file, or it is broken, what cannot be read stays empty. */
static int open_file(const struct gt_unwinder_spec *spec, struct gt_code_file *file)
{
	struct gt_log_capture said;
	char *text;
	int r;

	file->is_opened = true;
	r = gt_find_code_file(spec, file->path, file->build_id, &file->elf);
	file->has_gil = has_gil(spec, file);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	gt_log_start_capture(&said);
	r = read_tables(file);
	text = gt_log_end_capture(&said);
	if (text)
		gt_debug("%s", text);
	free(text);
	return r == -ENOMEM ? gt_error_oom() : 0;
}

/*
 * The dynamic loader starts in assembler of which no table tells, and which calls all functions
 * that set libraries up. Nobody has called it.
 */
static bool is_start(const struct gt_elf *elf, uint64_t address)
{
	const uint64_t length = 256;

	return address >= gt_elf_entry(elf) && address - gt_elf_entry(elf) < length;
}

/*
 * Where the C library makes threads, the tables end in front of the system call: the maker and the
 * new one go on behind it, the one with a return address on its stack, the other without.
 */
static bool is_behind_system_call(const struct gt_elf *elf, uint64_t address)
{
	static const uint8_t instruction[] = {0x0f, 0x05}; /* syscall */
	const void *bytes =
		gt_elf_machine(elf) == EM_X86_64
			? gt_elf_bytes(elf, address - sizeof(instruction), sizeof(instruction))
			: NULL;

	return bytes && memcmp(bytes, instruction, sizeof(instruction)) == 0;
}

static struct gt_cfi_rule rule_behind_system_call(const struct gt_elf *elf)
{
	return (struct gt_cfi_rule){
		.cfa = GT_CFI_CFA_REGISTER,
		.cfa_register = gt_cfi_numbers(gt_elf_machine(elf))->stack_pointer,
		.cfa_offset = sizeof(uint64_t),
		.from[GT_CFI_RETURN] = GT_CFI_AT_CFA,
		.offsets[GT_CFI_RETURN] = -(int16_t)sizeof(uint64_t),
		.may_be_new = true,
	};
}

bool gt_code_file_rule(struct gt_code_files *files, uint32_t number, uint64_t offset,
		       struct gt_cfi_rule *ret)
{
	struct gt_code_file *file = &files->files.items[number];
	uint64_t address;

	if (!file->cfi || !gt_elf_offset_to_address(file->elf, offset, &address))
		return false;
	if (gt_cfi_find(file->cfi, address, ret))
		return true;
	if (is_behind_system_call(file->elf, address)) {
		*ret = rule_behind_system_call(file->elf);
		return true;
	}
	*ret = (struct gt_cfi_rule){.from[GT_CFI_RETURN] = GT_CFI_UNDEFINED};
	return is_start(file->elf, address);
}

/* The name of what is at OFFSET, or NULL. */
static const char *find_name(const struct gt_code_file *file, uint64_t offset)
{
	uint64_t address;
	uint32_t found;

	if (!file->elf || !gt_elf_offset_to_address(file->elf, offset, &address))
		return NULL;
	found = gt_elf_function_at(&file->names, address);
	return found == UINT32_MAX ? NULL : file->names.items[found].name;
}

/* Where the function that holds OFFSET starts; OFFSET where that is not known. */
static int find_start(struct gt_code_file *file, uint64_t offset, uint64_t *ret)
{
	uint64_t address;
	uint32_t found;
	int r;

	*ret = offset;
	if (!file->elf || !gt_elf_offset_to_address(file->elf, offset, &address))
		return 0;
	if (!file->has_ranges) {
		r = gt_elf_frames_read(file->elf, &file->ranges);
		if (r < 0)
			return r;
		file->has_ranges = true;
	}
	found = gt_elf_function_at(&file->ranges, address);
	if (found != UINT32_MAX)
		(void)gt_elf_address_to_offset(file->elf, file->ranges.items[found].start, ret);
	return 0;
}

static bool waits_for_gil(const struct gt_unwinder_spec *spec, const struct gt_code_file *file,
			  uint64_t offset, const char *name)
{
	if (!spec->gil_waits || spec->gil_waits->count == 0)
		return name && gt_string_starts_with(name, "take_gil");
	if (!file->has_gil)
		return false;
	gt_array_for_each (spec->gil_waits, range)
		if (offset >= range->start && offset < range->end)
			return true;
	return false;
}

/*
 * Memory that the kernel names like a file, but in which nothing has an offset that says anything:
 * such as is shared between processes (/dev/zero, that of System V), or has large pages.
 */
static bool is_file(const char *path)
{
	static const char *const memory[] = {"//", "/dev/zero", "/SYSV", "/anon_hugepage"};

	for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
		if (gt_string_starts_with(path, memory[i]))
			return false;
	return path[0] == '/';
}

/*
 * "libfoo.so+0x1234", to TEXT. The name of a deleted file is without the mark of the kernel; and
 * memory that is no file's has nothing to count from: all of it is one frame.
 */
static void format_place(const char *path, uint64_t offset, char *text, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(name);

	if (gt_string_ends_with(name, GT_DELETED_MARK))
		length -= strlen(GT_DELETED_MARK);
	if (is_file(path))
		snprintf(text, size, "%.*s+0x%" PRIx64, (int)GT_MIN(length, (size_t)NAME_MAX), name,
			 offset);
	else if (name[0] == '[')
		snprintf(text, size, "%.*s", NAME_MAX, name);
	else
		snprintf(text, size, "[%.*s]", (int)GT_MIN(length, (size_t)NAME_MAX), name);
}

/*
 * "sem_wait" for "sem_wait@@GLIBC_2.34": .symtab has the versions, .dynsym does not, and a function
 * has the same name whichever of them there is. TEXT is room for it.
 */
static const char *without_version(const char *name, char *text, size_t size)
{
	size_t length = strcspn(name, "@");

	if (name[length] == '\0' || length == 0 || length >= size)
		return name;
	memcpy(text, name, length);
	text[length] = '\0';
	return text;
}

int gt_code_file_frame(struct gt_code_files *files, uint32_t number, uint64_t offset,
		       struct gt_stacks *stacks, uint32_t *ret_frame)
{
	struct gt_code_file *file = &files->files.items[number];
	struct gt_frame frame = {.file = file->path, .kind = GT_FRAME_USER};
	const char *name;
	char place[NAME_MAX + 32];
	uint64_t start;
	int r;

	if (!file->is_opened) {
		r = open_file(files->spec, file);
		if (r < 0)
			return r;
	}
	name = find_name(file, offset);
	frame.name = name ? without_version(name, place, sizeof(place)) : place;
	if (!name) {
		r = find_start(file, offset, &start);
		if (r < 0)
			return r;
		format_place(file->path, start, place, sizeof(place));
	}
	frame.waits_for_gil = waits_for_gil(files->spec, file, offset, name);
	return gt_stacks_add_frame(stacks, &frame, ret_frame);
}
