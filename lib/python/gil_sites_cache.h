/* SPDX-License-Identifier: MIT */
/*
 * The sites of a build, kept from one run to the next: a file per build-id under
 * ${XDG_CACHE_HOME:-~/.cache}/giltrace/sites/. Only folders that belong to the user who runs
 * giltrace are read and written, so that root never takes sites from another user, nor writes where
 * that one's links lead.
 */
#pragma once

#include "python/gil_sites.h"

/*
 * As gt_gil_sites_find(), but from the cache where that has this build; else the cache has it
 * afterwards, if it can be written. A cached file that is broken, or of another file or version, is
 * written anew.
 */
int gt_gil_sites_find_cached(const struct gt_elf *elf, struct gt_gil_sites *ret);
