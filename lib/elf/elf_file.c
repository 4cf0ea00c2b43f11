/* SPDX-License-Identifier: MIT */
#include "elf/elf_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/log.h"
#include "base/strings.h"
#include "elf/elf_internal.h"

/* Interpreters have some 40. Tables are looked through for each of them. */
#define MAX_SECTIONS 2000

static int broken(const struct gt_elf *elf, const char *what, uint64_t offset, const char *reason)
{
	gt_error("%s is a broken ELF file: %s at offset %" PRIu64 " %s", elf->path, what, offset,
		 reason);
	return -EBADMSG;
}

static bool is_within_file(const struct gt_elf *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->image_size && size <= elf->image_size - offset;
}

static int map_file(struct gt_elf *elf)
{
	_cleanup_close_ int fd = gt_open_regular(elf->path);
	struct stat status;
	void *image;

	if (fd == -EISDIR)
		return gt_error_errno(fd, "cannot read %s", elf->path);
	if (fd < 0 && fd != -EINVAL)
		return gt_error_errno(fd, "cannot open %s", elf->path);
	if (fd >= 0 && fstat(fd, &status) < 0)
		return gt_error_errno(-errno, "cannot open %s", elf->path);
	if (fd < 0 || status.st_size < EI_NIDENT) {
		gt_error("%s is not an ELF file", elf->path);
		return -ENOEXEC;
	}
	/* What libelf unpacks (SHF_COMPRESSED), it notes in the headers: on a page of our own. */
	image = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (image == MAP_FAILED)
		return gt_error_errno(-errno, "cannot map %s", elf->path);
	elf->image = image;
	elf->image_size = (size_t)status.st_size;
	elf->device = status.st_dev;
	elf->inode = status.st_ino;
	elf->changed = status.st_mtim;
	elf->is_mapped = true;
	return 0;
}

static int read_header(struct gt_elf *elf)
{
	GElf_Ehdr header;

	if (elf->image_size < EI_NIDENT || memcmp(elf->image, ELFMAG, SELFMAG) != 0) {
		gt_error("%s is not an ELF file", elf->path);
		return -ENOEXEC;
	}
	if (elf->image[EI_CLASS] != ELFCLASS64 || elf->image[EI_DATA] != ELFDATA2LSB) {
		gt_error("%s is not a 64-bit little-endian ELF file: giltrace reads no other",
			 elf->path);
		return -EOPNOTSUPP;
	}
	elf_version(EV_CURRENT);
	/* libelf writes to an image only when it unpacks sections, which libdw has it do. */
	elf->handle = elf_memory((char *)elf->image, elf->image_size);
	if (!elf->handle || elf_kind(elf->handle) != ELF_K_ELF ||
	    !gelf_getehdr(elf->handle, &header))
		return broken(elf, "the header", 0, "makes no sense");
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
		gt_error("%s is an ELF file, but neither a program nor a library", elf->path);
		return -ENOEXEC;
	}
	if (header.e_shoff > elf->image_size)
		return broken(elf, "the section table", header.e_shoff, "is outside of the file");
	elf->machine = header.e_machine;
	elf->entry = header.e_entry;
	return 0;
}

static void read_build_id(struct gt_elf *elf, const GElf_Phdr *segment)
{
	Elf_Data *notes;
	GElf_Nhdr note;
	size_t at = 0, name_at, description_at;

	notes = elf_getdata_rawchunk(elf->handle, (int64_t)segment->p_offset, segment->p_filesz,
				     segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	if (!notes)
		return;
	while ((at = gelf_getnote(notes, at, &note, &name_at, &description_at)) > 0) {
		const unsigned char *bytes = (const unsigned char *)notes->d_buf + description_at;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp((const char *)notes->d_buf + name_at, ELF_NOTE_GNU,
			   sizeof(ELF_NOTE_GNU)) != 0 ||
		    note.n_descsz > GT_BUILD_ID_MAX)
			continue;
		gt_hex_format(bytes, note.n_descsz, elf->build_id);
		return;
	}
}

static int read_segments(struct gt_elf *elf)
{
	size_t count;

	if (elf_getphdrnum(elf->handle, &count) < 0 || count > INT32_MAX)
		return broken(elf, "the program header table", 0, "makes no sense");
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment, *load;

		if (!gelf_getphdr(elf->handle, (int)i, &segment))
			return broken(elf, "the program header table", 0, "is cut off");
		if (segment.p_type != PT_LOAD && segment.p_type != PT_NOTE)
			continue;
		if (elf->has_debug_only && segment.p_type == PT_LOAD)
			continue;
		if (!is_within_file(elf, segment.p_offset, segment.p_filesz)) {
			if (elf->has_debug_only)
				continue;
			return broken(elf, "a segment", segment.p_offset,
				      "reaches past the end of the file");
		}
		if (segment.p_vaddr > UINT64_MAX - segment.p_filesz)
			return broken(elf, "a segment", segment.p_offset,
				      "reaches past the end of memory");
		if (segment.p_type == PT_NOTE && elf->build_id[0] == '\0')
			read_build_id(elf, &segment);
		if (segment.p_type != PT_LOAD)
			continue;
		load = gt_array_push(&elf->loads);
		if (!load)
			return gt_error_oom();
		*load = segment;
	}
	return 0;
}

static int read_sections(struct gt_elf *elf)
{
	Elf_Scn *handle = NULL;
	size_t names;

	/* A file may do without section headers, and runs all the same. */
	if (elf_getshdrstrndx(elf->handle, &names) < 0)
		return broken(elf, "the section table", 0, "makes no sense");
	while ((handle = elf_nextscn(elf->handle, handle))) {
		struct gt_elf_section *section = gt_array_push(&elf->sections);

		if (!section)
			return gt_error_oom();
		if (elf->sections.count > MAX_SECTIONS)
			return broken(elf, "the section table", 0,
				      "has an absurd number of entries");
		section->handle = handle;
		if (!gelf_getshdr(handle, &section->header))
			return broken(elf, "the section table", 0, "is cut off");
		if (section->header.sh_type != SHT_NOBITS &&
		    !is_within_file(elf, section->header.sh_offset, section->header.sh_size))
			return broken(elf, "a section", section->header.sh_offset,
				      "reaches past the end of the file");
		section->name = elf_strptr(elf->handle, names, section->header.sh_name);
		if (!section->name)
			return broken(elf, "a section", section->header.sh_offset,
				      "has a name outside of the table of names");
	}
	return 0;
}

bool gt_elf_is_elf(const char *path)
{
	_cleanup_close_ int fd = gt_open_regular(path);
	char magic[SELFMAG];

	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* Checks ELF, whose image is set or is the file PATH. Closes it on failure. */
static int open_elf(struct gt_elf *unchecked, const char *path, struct gt_elf **ret)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = unchecked;
	int r;

	if (!elf)
		return gt_error_oom();
	elf->path = strdup(path);
	if (!elf->path)
		return gt_error_oom();
	if (!elf->image) {
		r = map_file(elf);
		if (r < 0)
			return r;
	}
	r = read_header(elf);
	if (r < 0)
		return r;
	r = read_segments(elf);
	if (r < 0)
		return r;
	r = read_sections(elf);
	if (r < 0)
		return r;
	*ret = GT_STEAL(elf);
	return 0;
}

int gt_elf_open(const char *path, struct gt_elf **ret)
{
	return open_elf(calloc(1, sizeof(struct gt_elf)), path, ret);
}

int gt_elf_open_debug(const char *path, struct gt_elf **ret)
{
	struct gt_elf *elf = calloc(1, sizeof(*elf));

	if (elf)
		elf->has_debug_only = true;
	return open_elf(elf, path, ret);
}

int gt_elf_open_memory(const void *image, size_t size, const char *path, struct gt_elf **ret)
{
	struct gt_elf *elf = calloc(1, sizeof(*elf));

	if (elf) {
		elf->image = image;
		elf->image_size = size;
	}
	return open_elf(elf, path, ret);
}

void gt_elf_close(struct gt_elf *elf)
{
	if (!elf)
		return;
	if (elf->handle)
		elf_end(elf->handle);
	if (elf->is_mapped)
		munmap((void *)elf->image, elf->image_size);
	gt_array_clear(&elf->loads);
	gt_array_clear(&elf->sections);
	free(elf->path);
	free(elf);
}

const char *gt_elf_path(const struct gt_elf *elf)
{
	return elf->path;
}

uint64_t gt_elf_size(const struct gt_elf *elf)
{
	return elf->image_size;
}

bool gt_elf_is_current(const struct gt_elf *elf)
{
	struct stat status;

	return stat(elf->path, &status) == 0 && status.st_dev == elf->device &&
	       status.st_ino == elf->inode && status.st_mtim.tv_sec == elf->changed.tv_sec &&
	       status.st_mtim.tv_nsec == elf->changed.tv_nsec;
}

uint16_t gt_elf_machine(const struct gt_elf *elf)
{
	return elf->machine;
}

const char *gt_elf_build_id(const struct gt_elf *elf)
{
	return elf->build_id;
}

uint64_t gt_elf_entry(const struct gt_elf *elf)
{
	return elf->entry;
}

/* The bytes of a segment that only exist in memory (.bss) have no offset. */
static const GElf_Phdr *find_load(const struct gt_elf *elf, uint64_t address)
{
	gt_array_for_each (&elf->loads, load)
		if (address >= load->p_vaddr && address - load->p_vaddr < load->p_filesz)
			return load;
	return NULL;
}

bool gt_elf_address_to_offset(const struct gt_elf *elf, uint64_t address, uint64_t *ret_offset)
{
	const GElf_Phdr *load = find_load(elf, address);

	if (!load)
		return false;
	*ret_offset = address - load->p_vaddr + load->p_offset;
	return true;
}

bool gt_elf_offset_to_address(const struct gt_elf *elf, uint64_t offset, uint64_t *ret_address)
{
	gt_array_for_each (&elf->loads, load) {
		if (offset < load->p_offset || offset - load->p_offset >= load->p_filesz)
			continue;
		*ret_address = offset - load->p_offset + load->p_vaddr;
		return true;
	}
	return false;
}

const void *gt_elf_bytes_left(const struct gt_elf *elf, uint64_t address, uint64_t *ret_size)
{
	const GElf_Phdr *load = find_load(elf, address);

	if (!load)
		return NULL;
	*ret_size = load->p_filesz - (address - load->p_vaddr);
	return elf->image + load->p_offset + (address - load->p_vaddr);
}

const void *gt_elf_bytes(const struct gt_elf *elf, uint64_t address, uint64_t size)
{
	uint64_t left;
	const void *bytes = gt_elf_bytes_left(elf, address, &left);

	return bytes && size <= left ? bytes : NULL;
}

bool gt_elf_has_section(const struct gt_elf *elf, const char *name)
{
	gt_array_for_each (&elf->sections, section)
		if (strcmp(section->name, name) == 0)
			return true;
	return false;
}

const void *gt_elf_section_bytes(const struct gt_elf *elf, const char *name, uint64_t *ret_address,
				 uint64_t *ret_size)
{
	gt_array_for_each (&elf->sections, section) {
		const void *bytes;

		if (strcmp(section->name, name) != 0 || section->header.sh_type == SHT_NOBITS)
			continue;
		bytes = gt_elf_bytes(elf, section->header.sh_addr, section->header.sh_size);
		if (!bytes)
			return NULL;
		*ret_address = section->header.sh_addr;
		*ret_size = section->header.sh_size;
		return bytes;
	}
	return NULL;
}

bool gt_elf_is_stripped(const struct gt_elf *elf)
{
	return !gt_elf_section_of_type(elf, SHT_SYMTAB);
}

static int compare_code_sections(const void *left, const void *right)
{
	const struct gt_elf_code_section *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

/* Only a broken file has them; to look through the same bytes many times over would take for ever.
 */
static void drop_overlaps(gt_elf_code_sections *sections)
{
	uint32_t kept = 0;

	if (sections->count > 0)
		qsort(sections->items, sections->count, sizeof(*sections->items),
		      compare_code_sections);
	for (uint32_t i = 0; i < sections->count; i++)
		if (kept == 0 || sections->items[i].start >= sections->items[kept - 1].end)
			sections->items[kept++] = sections->items[i];
	sections->count = kept;
}

int gt_elf_code_sections_read(const struct gt_elf *elf, gt_elf_code_sections *ret)
{
	gt_elf_code_sections sections = {0};

	gt_array_for_each (&elf->sections, section) {
		const GElf_Shdr *header = &section->header;
		struct gt_elf_code_section *code;

		if (header->sh_type != SHT_PROGBITS || !(header->sh_flags & SHF_EXECINSTR) ||
		    !gt_elf_bytes(elf, header->sh_addr, header->sh_size) ||
		    gt_string_starts_with(section->name, ".plt") ||
		    gt_string_starts_with(section->name, ".bolt.org."))
			continue;
		code = gt_array_push(&sections);
		if (!code) {
			gt_array_clear(&sections);
			return gt_error_oom();
		}
		*code = (struct gt_elf_code_section){.start = header->sh_addr,
						     .end = header->sh_addr + header->sh_size,
						     .name = section->name};
	}
	drop_overlaps(&sections);
	*ret = sections;
	return 0;
}

const struct gt_elf_section *gt_elf_section_of_type(const struct gt_elf *elf, uint32_t type)
{
	gt_array_for_each (&elf->sections, section)
		if (section->header.sh_type == type)
			return section;
	return NULL;
}

const struct gt_elf_section *gt_elf_code_section_at(const struct gt_elf *elf, uint64_t address)
{
	gt_array_for_each (&elf->sections, section)
		if ((section->header.sh_flags & SHF_EXECINSTR) &&
		    address >= section->header.sh_addr &&
		    address - section->header.sh_addr < section->header.sh_size)
			return section;
	return NULL;
}

int gt_elf_table_open(const struct gt_elf *elf, const struct gt_elf_section *section,
		      Elf_Data **ret_data, uint32_t *ret_count)
{
	const GElf_Shdr *header = &section->header;
	Elf_Data *data = elf_getdata(section->handle, NULL);

	/* INT32_MAX: libelf counts symbols in int. */
	if (!data || header->sh_entsize == 0 || header->sh_size / header->sh_entsize > INT32_MAX)
		return broken(elf, section->name, header->sh_offset, "makes no sense");
	*ret_data = data;
	*ret_count = (uint32_t)(header->sh_size / header->sh_entsize);
	return 0;
}

const char *gt_elf_symbol_name(const struct gt_elf *elf, const struct gt_elf_section *section,
			       const GElf_Sym *symbol)
{
	const char *name = elf_strptr(elf->handle, section->header.sh_link, symbol->st_name);

	return name ? name : "";
}
