/* SPDX-License-Identifier: MIT */
/* The agent: the library that is loaded into the traced processes (probes/agent). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cmd/obstacle.h"

/* Names another file in place of the one that belongs to this giltrace. */
#define GT_AGENT_FILE_VARIABLE "GILTRACE_AGENT_FILE"

struct gt_elf;

struct gt_agent_file {
	char *path; /* NULL: it was not found */
	int fd;	    /* holds it open for PRELOAD; -1: not needed */
	/*
	 * What LD_PRELOAD can name it by: the path, or one through /proc that has none of the
	 * characters that mean something there.
	 */
	char *preload;
};

/*
 * Finds the agent and sees that processes of MACHINE (EM_…) can load it, into FILE; the caller
 * clears it, also after a failure. IN_OTHER_ROOT: they see another root than we do. A negative
 * errno (not logged), with the reason in OBSTACLE.
 */
int gt_agent_file_find(uint16_t machine, bool in_other_root, struct gt_agent_file *file,
		       struct gt_obstacle *obstacle);
void gt_agent_file_clear(struct gt_agent_file *file);
