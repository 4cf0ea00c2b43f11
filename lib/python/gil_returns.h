/* SPDX-License-Identifier: MIT */
/*
 * The next best thing where the code does not look like a GIL, but symbols say which functions are
 * take_gil and drop_gil: their entries and their returns. Not the same moments:
 *
 *     take      the entry of take_gil: exact
 *     acquired  the returns of take_gil: late by its last unlocks, well under 1 us
 *     release   the entry of drop_gil: early by its first lock
 *     switched  the returns of drop_gil, whether it was asked to let go or not: the number of these
 *               says nothing, and where it was not asked, a wait of the length of its own work is
 *               made of it
 *     retake    as ever
 *
 * So a hold is never too long, and two of them never overlap; waits are too long by fractions of a
 * microsecond each. Figures from these are estimates, and found_by says so: "returns". At none of
 * these moments is the first argument the lock: there is nothing that names the GIL, and those of
 * several interpreters in a process cannot be told apart. Copies of drop_gil that a compiler has
 * put into other functions are missed: such releases have to be inferred.
 */
#pragma once

#include "python/gil_sites.h"

/*
 * -ENODATA, logged, when there are no such symbols, when the functions end in a way that has no
 * address of its own, and for free-threaded builds, whose take_gil returns without the GIL while
 * that is off. Else as gt_gil_sites_find().
 */
int gt_gil_returns_find(const struct gt_elf *elf, struct gt_gil_sites *ret);
