/* SPDX-License-Identifier: MIT */
/* The first argument of a call of a pthread function, as far as the code before the call tells it.
 */
#pragma once

#include "elf/disassembly.h"
#include "python/gil_code.h"

/* Kind GT_ARGUMENT_UNKNOWN where it cannot be told. */
struct gt_argument gt_gil_argument(const struct gt_gil_code *code, const struct gt_gil_call *call);

/* True when both surely are the same object of one function. */
bool gt_gil_arguments_equal(const struct gt_argument *left, const struct gt_argument *right);
