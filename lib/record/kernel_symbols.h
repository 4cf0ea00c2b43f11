/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Saves the kernel's functions, those of its modules too, to PATH, in the format of /proc/kallsyms,
 * so that addresses can be named later or elsewhere (by perf script --kallsyms=PATH as well).
 * -ENODATA when the kernel does not show addresses to this user, or another negative errno; logged
 * with -v only, because a trace is good without. There is no file then.
 */
int gt_kernel_symbols_save(const char *path);
