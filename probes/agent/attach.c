/* SPDX-License-Identifier: MIT */
/*
 * Before the program starts: finds giltrace's memory, and the GIL's calls in what is loaded here. A
 * process without both is left alone.
 */
#include "probes/agent/attach.h"

#include <fcntl.h>
#include <link.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#pragma weak pthread_key_create

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* giltrace reads it, and does not preload an agent that is not its own. */
__attribute__((section(GT_AGENT_VERSION_SECTION), used)) static const uint32_t version =
	GT_AGENT_VERSION;

/* The loaded file that has the GIL. */
struct gil_file {
	const struct gt_agent_shared *shared;
	uint64_t base;
	const ElfW(Phdr) * segments;
	uint32_t segment_count;
};

/* A program that is short of addresses needs them for itself. */
static bool has_room(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur / 8 > bytes;
}

/* The memory that the environment names, or NULL. */
static struct gt_agent_shared *map_memory(void)
{
	const char *address = getenv(GT_AGENT_VARIABLE), *path;
	struct gt_agent_shared *shared = MAP_FAILED, *head;
	uint64_t token = 0;
	int fd;

	path = address ? strchr(address, ':') : NULL;
	if (!path)
		return NULL;
	for (; address < path; address++)
		token = token << 4 |
			(uint64_t)(*address <= '9' ? *address - '0' : *address - 'a' + 10);
	fd = open(path + 1, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	head = mmap(NULL, GT_AGENT_CHUNK_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (head != MAP_FAILED) {
		if (head->magic == GT_AGENT_MAGIC && head->version == GT_AGENT_VERSION &&
		    head->token == token && !head->closed && has_room(head->bytes) &&
		    head->bytes == ((uint64_t)head->chunk_count + 1) * GT_AGENT_CHUNK_BYTES)
			shared = mmap(NULL, head->bytes, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_NORESERVE, fd, 0);
		munmap(head, GT_AGENT_CHUNK_BYTES);
	}
	close(fd);
	return shared == MAP_FAILED ? NULL : shared;
}

/* Whether a segment is in the memory of the process, as part of one that is loaded. */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * segment)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &info->dlpi_phdr[i];

		if (load->p_type == PT_LOAD && segment->p_vaddr >= load->p_vaddr &&
		    segment->p_vaddr - load->p_vaddr <= load->p_filesz &&
		    segment->p_filesz <= load->p_filesz - (segment->p_vaddr - load->p_vaddr))
			return true;
	}
	return false;
}

/* Looks for the build-id among the notes of a loaded file. */
static bool has_build_id(const struct dl_phdr_info *info, const struct gt_agent_shared *shared)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *note = (const char *)info->dlpi_addr + segment->p_vaddr;
		const char *end = note + segment->p_filesz;

		if (segment->p_type != PT_NOTE || segment->p_align > 4 || !is_loaded(info, segment))
			continue;
		while ((size_t)(end - note) >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *header = (const ElfW(Nhdr) *)note;
			size_t name = (header->n_namesz + 3) & ~3u;
			size_t content = (header->n_descsz + 3) & ~3u;

			note += sizeof(*header);
			if (name + content > (size_t)(end - note))
				break;
			if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
			    memcmp(note, "GNU", 4) == 0 &&
			    header->n_descsz == shared->build_id_bytes &&
			    memcmp(note + name, shared->build_id, shared->build_id_bytes) == 0)
				return true;
			note += name + content;
		}
	}
	return false;
}

/* By a system call of its own: what libc calls stat has had several names. */
static bool look_at(const char *path, struct statx *ret)
{
	return syscall(SYS_statx, AT_FDCWD, path, 0, STATX_INO, ret) == 0;
}

static bool is_inode(const char *path, const struct gt_agent_shared *shared)
{
	struct statx status;

	return look_at(path[0] ? path : "/proc/self/exe", &status) &&
	       status.stx_ino == shared->inode &&
	       makedev(status.stx_dev_major, status.stx_dev_minor) == shared->device;
}

static int find_gil_file(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct gil_file *file = argument;

	(void)size;
	if (file->shared->build_id_bytes ? !has_build_id(info, file->shared)
					 : !is_inode(info->dlpi_name, file->shared))
		return 0;
	file->base = info->dlpi_addr;
	file->segments = info->dlpi_phdr;
	file->segment_count = info->dlpi_phnum;
	return 1;
}

/* The segment of code that holds a file offset, or NULL. */
static const ElfW(Phdr) * find_segment(const struct gil_file *file, uint64_t offset)
{
	for (uint32_t i = 0; i < file->segment_count; i++) {
		const ElfW(Phdr) *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
		    offset >= segment->p_offset && offset - segment->p_offset < segment->p_filesz)
			return segment;
	}
	return NULL;
}

static uint64_t address_of(const struct gil_file *file, uint64_t offset)
{
	const ElfW(Phdr) *segment = find_segment(file, offset);

	return segment ? file->base + segment->p_vaddr + (offset - segment->p_offset) : 0;
}

static bool prepare(const struct gil_file *file, struct gt_agent_shared *shared)
{
	const ElfW(Phdr) *segment = find_segment(file, shared->sites[0].offset);
	long page = sysconf(_SC_PAGESIZE);
	struct statx proc;

	/* The memory was found by a path in there. Before glibc 2.34 only some programs have keys.
	 */
	if (!segment || !look_at("/proc", &proc) || !pthread_key_create)
		return false;
	gt_agent.proc_major = proc.stx_dev_major;
	gt_agent.proc_minor = proc.stx_dev_minor;
	gt_agent_hot.process = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (gt_agent_hot.process == MAP_FAILED)
		return false;
	if (madvise(gt_agent_hot.process, (size_t)page, MADV_WIPEONFORK) < 0 ||
	    pthread_key_create(&gt_agent.key, gt_agent_end_thread) != 0) {
		munmap(gt_agent_hot.process, (size_t)page);
		return false;
	}
	(void)madvise(shared, shared->bytes, MADV_DONTDUMP);
	gt_agent.shared = shared;
	gt_agent_hot.clock = shared->clock;
	gt_agent.chunk_count = shared->chunk_count;
	gt_agent.map_start = file->base + segment->p_vaddr;
	gt_agent.map_bytes = segment->p_filesz;
	gt_agent.map_offset = segment->p_offset;
	for (uint32_t i = 0; i < shared->retake_count && i < GT_AGENT_MAX_RETAKES; i++)
		gt_agent.retakes[gt_agent.retake_count++] = address_of(file, shared->retakes[i]);
	return true;
}

/* From here on the calls are seen. */
static void add_calls(const struct gil_file *file, const struct gt_agent_shared *shared)
{
	for (uint32_t i = 0; i < shared->site_count && i < GT_AGENT_MAX_SITES; i++) {
		const struct gt_agent_site *site = &shared->sites[i];
		uint64_t address = address_of(file, site->offset);
		uint32_t slot = gt_agent_call_slot(address);

		if (!address)
			continue;
		while (gt_agent_calls.calls[slot].address)
			slot = (slot + 1) % GT_AGENT_CALLS;
		gt_agent_calls.taken[slot / 64] |= UINT64_C(1) << slot % 64;
		gt_agent_calls.calls[slot] = (struct gt_agent_call){
			.address = address,
			.kind = site->kind,
			.by_frame_pointer = site->by_frame_pointer,
			.caller_offset = site->caller_offset,
		};
	}
}

static __attribute__((constructor)) void attach(void)
{
	struct gt_agent_shared *shared;
	struct gil_file file = {0};

	gt_agent_find_functions();
	shared = map_memory();
	if (!shared)
		return;
	file.shared = shared;
	if (dl_iterate_phdr(find_gil_file, &file) && prepare(&file, shared))
		add_calls(&file, shared);
	else
		munmap(shared, shared->bytes);
}

static __attribute__((destructor)) void detach(void)
{
	gt_agent_end_program();
}

/* Of a link to "4711/task/4712". */
static bool read_link(uint32_t *ret_pid, uint32_t *ret_tid)
{
	char link[64];
	ssize_t length = readlink("/proc/thread-self", link, sizeof(link));
	uint32_t numbers[2] = {0, 0}, which = 0;

	for (ssize_t i = 0; i < length && which < 2; i++) {
		if (link[i] >= '0' && link[i] <= '9')
			numbers[which] = numbers[which] * 10 + (uint32_t)(link[i] - '0');
		else if (i > 0 && link[i - 1] >= '0' && link[i - 1] <= '9')
			which++;
	}
	*ret_pid = numbers[0];
	*ret_tid = numbers[1];
	return numbers[1] != 0;
}

/*
 * In another PID namespace the kernel's own answers are other numbers, but the /proc that giltrace
 * sees has ours wherever it is mounted. Without it, a process that had the number here that it has
 * there will still have it.
 */
void gt_agent_identify(uint32_t *ret_pid, uint32_t *ret_tid)
{
	struct gt_agent_process *process = gt_agent_hot.process;
	struct statx proc;

	*ret_pid = process->pid;
	*ret_tid = 0;
	if (look_at("/proc", &proc) && proc.stx_dev_major == gt_agent.proc_major &&
	    proc.stx_dev_minor == gt_agent.proc_minor && read_link(ret_pid, ret_tid))
		process->pid = *ret_pid;
	else if (process->pid && (uint32_t)getpid() == process->pid)
		*ret_tid = (uint32_t)syscall(SYS_gettid);
}
