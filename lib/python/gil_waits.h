/* SPDX-License-Identifier: MIT */
/* The part of the search for the GIL's sites that is for stacks: see waits in struct gt_gil_sites.
 */
#pragma once

#include "elf/ranges.h"
#include "python/gil_code.h"

/* Adds the code between two virtual addresses. -ENOMEM, logged. */
int gt_gil_waits_add(gt_elf_ranges *waits, uint64_t start, uint64_t end);

/* Adds all the code of a function, wherever its parts are. -ENOMEM, logged. */
int gt_gil_waits_add_function(struct gt_gil_code *code, uint32_t function, gt_elf_ranges *waits);

/*
 * Turns addresses into file offsets, in rising order, and joins ranges that overlap or touch. Those
 * that are not in the file go.
 */
void gt_gil_waits_finish(const struct gt_elf *elf, gt_elf_ranges *waits);
