/* SPDX-License-Identifier: MIT */
#include "python/runtime_offsets.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "elf/elf_file.h"

struct debug_offsets {
	char cookie[8];
	uint64_t version;
	uint64_t free_threaded;
};

/* Version 3.13: the first that has them. */
#define FIRST_VERSION 0x030d0000

int gt_python_is_free_threaded(const struct gt_elf *elf, bool *ret)
{
	struct debug_offsets offsets;
	uint64_t address, size;
	const void *bytes = gt_elf_section_bytes(elf, ".PyRuntime", &address, &size);

	if (!bytes || size < sizeof(offsets) ||
	    memcmp(bytes, "xdebugpy", sizeof(offsets.cookie)) != 0) {
		*ret = false;
		return 0;
	}
	memcpy(&offsets, bytes, sizeof(offsets));
	if (offsets.version < FIRST_VERSION || offsets.version > UINT32_MAX ||
	    offsets.free_threaded > 1) {
		gt_error("%s is a broken ELF file: .PyRuntime says version 0x%" PRIx64
			 ", free-threaded %" PRIu64,
			 gt_elf_path(elf), offsets.version, offsets.free_threaded);
		return -EBADMSG;
	}
	*ret = offsets.free_threaded == 1;
	return 0;
}
