/* SPDX-License-Identifier: MIT */
#include "cmd/buffer_size.h"

#include <unistd.h>

#include "base/macros.h"
#include "cmd/options.h"
#include "record/agent.h"
#include "record/pass.h"

#define DEFAULT_RING_BYTES (UINT64_C(16) << 20)
/* Context switches are a few bytes each. */
#define SWITCH_RING_BYTES (UINT64_C(4) << 20)
#define SMALLEST_DEFAULT_BYTES (UINT64_C(1) << 20)

/* What all rings together may take of a large machine's memory: an eighth. */
static uint64_t default_ring_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t bytes = DEFAULT_RING_BYTES;

	if (pages <= 0 || page_bytes <= 0 || cpus <= 0)
		return bytes;
	while (bytes > SMALLEST_DEFAULT_BYTES &&
	       bytes * (uint64_t)cpus > (uint64_t)pages * (uint64_t)page_bytes / 8)
		bytes /= 2;
	return bytes;
}

uint64_t gt_buffer_size_of_ring(const struct gt_options *options)
{
	return options->buffer_bytes ? options->buffer_bytes : default_ring_bytes();
}

uint64_t gt_buffer_size_of_agents(const struct gt_options *options)
{
	if (options->buffer_bytes == 0)
		return GT_AGENT_DEFAULT_BYTES;
	return GT_MAX(options->buffer_bytes, GT_AGENT_MIN_BYTES);
}

uint64_t gt_buffer_size_of_states(const struct gt_options *options, bool has_stacks)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t bytes = has_stacks ? gt_pass_stack_ring_bytes((uint32_t)GT_MAX(cpus, 1L))
				    : SWITCH_RING_BYTES;

	/* Small ones are asked for where the GIL's events are few, and stacks need more. */
	return options->gil_detect     ? GT_MAX(bytes, options->buffer_bytes)
	       : options->buffer_bytes ? options->buffer_bytes
				       : bytes;
}
