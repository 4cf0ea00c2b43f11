/* SPDX-License-Identifier: MIT */
/* A recording pass that can be done without. */
#pragma once

#include <sys/types.h>

#include "record/pass.h"

/*
 * Opens a pass. When that fails, nothing is left of the file, nothing has been said, and *RET_WHY
 * has the message, which the caller frees; NULL when out of memory.
 */
int gt_optional_pass_open(const struct gt_pass_spec *spec, pid_t pid, struct gt_pass **ret,
			  char **ret_why);
