/* SPDX-License-Identifier: MIT */
#include "record/agent_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "record/agent.h"

#define MAX_BYTES (UINT64_C(1) << 40)

/*
 * A file with a size that no process can change: touching memory behind the end of a file that was
 * cut would end giltrace.
 */
static int open_memory_file(uint64_t bytes)
{
	_cleanup_close_ int fd = memfd_create("giltrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	return GT_STEAL_FD(fd);
}

/* The same on a disk, without a name. Its blocks are taken now: later there may be none left. */
static int open_disk_file(const char *path, uint64_t bytes)
{
	_cleanup_free_ char *template = gt_format("%s.XXXXXX", path);
	_cleanup_close_ int fd = -1;
	int r;

	if (!template)
		return -ENOMEM;
	fd = mkostemp(template, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(template);
	r = -posix_fallocate(fd, 0, (off_t)bytes);
	return r < 0 ? r : GT_STEAL_FD(fd);
}

static int open_file(const struct gt_agent_recorder_spec *spec, struct gt_agent_memory *memory)
{
	memory->fd = open_memory_file(memory->bytes);
	if (memory->fd < 0) {
		gt_debug_errno(memory->fd, "no memory without a file for the agents");
		memory->fd = open_disk_file(spec->path, memory->bytes);
	}
	if (memory->fd < 0) {
		int r = memory->fd;

		memory->fd = -1;
		return gt_error_errno(r,
				      "cannot make the memory for the agents, of %" PRIu64 " KiB\n"
				      "  ask for less with --buffer-size",
				      memory->bytes >> 10);
	}
	return 0;
}

static uint8_t hex_digit(char digit)
{
	return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

static int describe_file(const struct gt_elf *elf, struct gt_agent_shared *shared)
{
	const char *build_id = gt_elf_build_id(elf);
	size_t size = GT_MIN(strlen(build_id) / 2, (size_t)GT_AGENT_BUILD_ID_BYTES);
	struct stat status;

	for (size_t i = 0; i < size; i++)
		shared->build_id[i] =
			(uint8_t)(hex_digit(build_id[2 * i]) << 4 | hex_digit(build_id[2 * i + 1]));
	shared->build_id_bytes = (uint32_t)size;
	if (stat(gt_elf_path(elf), &status) < 0)
		return gt_error_errno(-errno, "cannot look at %s", gt_elf_path(elf));
	shared->device = status.st_dev;
	shared->inode = status.st_ino;
	return 0;
}

static int hand_over_sites(const struct gt_agent_recorder_spec *spec,
			   struct gt_agent_shared *shared)
{
	const gt_gil_offsets *retakes = &spec->sites->offsets[GT_GIL_SITE_RETAKE];
	uint32_t count = spec->sites->calls.count;

	if (count == 0 || count > GT_AGENT_MAX_SITES || retakes->count > GT_AGENT_MAX_RETAKES) {
		gt_error("the agent cannot trace %s: its calls for the GIL %s\n"
			 "  run as root, to trace it with the kernel's probes: --probe uprobe",
			 gt_elf_path(spec->elf),
			 count == 0 ? "cannot be told from others" : "are too many");
		return -EOPNOTSUPP;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct gt_gil_call_site *call = &spec->sites->calls.items[i];

		shared->sites[i] = (struct gt_agent_site){
			.offset = call->return_offset,
			.kind = (uint8_t)call->kind,
			.by_frame_pointer = call->by_frame_pointer,
			.caller_offset = call->caller_offset,
		};
	}
	for (uint32_t i = 0; i < retakes->count; i++)
		shared->retakes[i] = retakes->items[i];
	shared->site_count = count;
	shared->retake_count = retakes->count;
	return 0;
}

/* It keeps others' memory from being taken for this one, and is no secret. */
static uint64_t make_token(void)
{
	uint64_t token = 0;

	if (getrandom(&token, sizeof(token), GRND_NONBLOCK) != (ssize_t)sizeof(token))
		token = gt_clock_ns(CLOCK_REALTIME) ^ (uint64_t)getpid() << 32;
	return token;
}

static int fill_in_head(const struct gt_agent_recorder_spec *spec, struct gt_agent_memory *memory)
{
	struct gt_agent_shared *shared = memory->shared;
	int r;

	shared->version = GT_AGENT_VERSION;
	shared->clock = spec->clock;
	shared->token = make_token();
	shared->bytes = memory->bytes;
	shared->chunk_count = memory->chunk_count;
	r = describe_file(spec->elf, shared);
	if (r < 0)
		return r;
	r = hand_over_sites(spec, shared);
	if (r < 0)
		return r;
	shared->magic = GT_AGENT_MAGIC;
	memory->address = gt_format("%016" PRIx64 ":/proc/%d/fd/%d", shared->token, (int)getpid(),
				    memory->fd);
	return memory->address ? 0 : gt_error_oom();
}

int gt_agent_memory_open(const struct gt_agent_recorder_spec *spec, struct gt_agent_memory *ret)
{
	uint64_t wanted = spec->buffer_bytes ? spec->buffer_bytes : GT_AGENT_DEFAULT_BYTES;
	void *start;
	int r;

	*ret = (struct gt_agent_memory){.fd = -1};
	ret->bytes = GT_MIN(GT_MAX(wanted, GT_AGENT_MIN_BYTES), MAX_BYTES) &
		     ~(GT_AGENT_CHUNK_BYTES - 1ul);
	ret->chunk_count = (uint32_t)(ret->bytes / GT_AGENT_CHUNK_BYTES - 1);
	r = open_file(spec, ret);
	if (r < 0)
		return r;
	start = mmap(NULL, ret->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
	if (start == MAP_FAILED)
		return gt_error_errno(-errno,
				      "cannot map the memory for the agents, of %" PRIu64 " KiB\n"
				      "  ask for less with --buffer-size",
				      ret->bytes >> 10);
	ret->shared = start;
	return fill_in_head(spec, ret);
}

void gt_agent_memory_close(struct gt_agent_memory *memory)
{
	if (memory->shared)
		munmap(memory->shared, memory->bytes);
	if (memory->fd >= 0)
		close(memory->fd);
	free(memory->address);
	*memory = (struct gt_agent_memory){.fd = -1};
}

uint32_t gt_agent_memory_touched(const struct gt_agent_memory *memory)
{
	uint32_t touched = __atomic_load_n(&memory->shared->touched, __ATOMIC_ACQUIRE);

	return GT_MIN(touched, memory->chunk_count);
}

void gt_agent_memory_give_back(struct gt_agent_memory *memory, uint32_t index)
{
	struct gt_agent_chunk *chunk = gt_agent_chunk_at(memory->shared, index);
	uint64_t first = __atomic_load_n(&memory->shared->free, __ATOMIC_ACQUIRE), ours;

	__atomic_store_n(&chunk->state, GT_AGENT_CHUNK_FREE, __ATOMIC_RELEASE);
	do {
		__atomic_store_n(&chunk->next, (uint32_t)first, __ATOMIC_RELAXED);
		ours = ((first >> 32) + 1) << 32 | (index + 1);
	} while (!__atomic_compare_exchange_n(&memory->shared->free, &first, ours, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}
