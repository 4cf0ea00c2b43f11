/* SPDX-License-Identifier: MIT */
/*
 * What a CPython tells debuggers of itself. From 3.13 on, the section .PyRuntime, which stripping
 * leaves, starts with _Py_DebugOffsets:
 *
 *     char cookie[8]             "xdebugpy"
 *     uint64_t version           PY_VERSION_HEX
 *     uint64_t free_threaded     1 when the build can run without the GIL
 *     …
 */
#pragma once

#include <stdbool.h>

struct gt_elf;

/*
 * Tells whether the file that holds the GIL is of a free-threaded build: there the GIL is off
 * unless PYTHON_GIL=1 or an extension turns it on. False also before 3.13, where there were none.
 * -EBADMSG, logged, when the section makes no sense.
 */
int gt_python_is_free_threaded(const struct gt_elf *elf, bool *ret);
