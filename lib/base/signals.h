/* SPDX-License-Identifier: MIT */
/* Which signals end a program that does nothing about them, and can be caught. */
#pragma once

#include <stddef.h>

/*
 * The INDEX-th of them, or 0 behind the last. Those that a fault raises in the program itself
 * (SIGSEGV …) are not among them.
 */
int gt_ending_signal(size_t index);
