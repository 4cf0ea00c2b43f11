/* SPDX-License-Identifier: MIT */
/* The names of the kernel's code, and of its modules', as /proc/kallsyms has them. */
#pragma once

#include <stdint.h>

#include "base/macros.h"

struct gt_kernel_symbols;

/*
 * Reads PATH. What it cannot make sense of is left out. -ENODATA when it has no addresses, as
 * without the right to see them (kernel.kptr_restrict); the errors of reading; -ENOMEM. Logged
 * (with -v).
 */
int gt_kernel_symbols_read(const char *path, struct gt_kernel_symbols **ret);
void gt_kernel_symbols_free(struct gt_kernel_symbols *symbols);
GT_DEFINE_CLEANUP(struct gt_kernel_symbols *, gt_kernel_symbols_free)

/* The name of the function that holds ADDRESS, owned by SYMBOLS; NULL when there is none. */
const char *gt_kernel_symbols_find(const struct gt_kernel_symbols *symbols, uint64_t address);
