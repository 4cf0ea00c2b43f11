/* SPDX-License-Identifier: MIT */
/*
 * The memory that the agents fill (probes/agent/layout.h), on giltrace's side. Every process that
 * has it can write to all of it: what giltrace relies on is kept here, outside of it.
 */
#pragma once

#include <stdint.h>

#include "probes/agent/layout.h"

struct gt_agent_recorder_spec;

struct gt_agent_memory {
	int fd;
	struct gt_agent_shared *shared; /* NULL: not open */
	uint64_t bytes;
	uint32_t chunk_count;
	char *address; /* for GT_AGENT_VARIABLE */
};

/*
 * Makes the memory and fills in what agents need to know. Logs what failed; -EOPNOTSUPP when the
 * GIL's calls are such that an agent cannot tell them. RET can be closed also after a failure.
 */
int gt_agent_memory_open(const struct gt_agent_recorder_spec *spec, struct gt_agent_memory *ret);
void gt_agent_memory_close(struct gt_agent_memory *memory);

/* How many chunks have ever been taken. */
uint32_t gt_agent_memory_touched(const struct gt_agent_memory *memory);

/* Makes a chunk free, and gives it back to the agents. */
void gt_agent_memory_give_back(struct gt_agent_memory *memory, uint32_t index);
