/* SPDX-License-Identifier: MIT */
/* The part of the search for the GIL's sites that is for the agent: see struct gt_gil_call_site. */
#pragma once

#include "python/gil_code.h"
#include "python/gil_sites.h"

/*
 * Fills in the calls of SITES, whose offsets are still virtual addresses, as those of the calls
 * will be. Left empty when an agent could not tell them: a site is a jump (nothing returns there),
 * or the way from a take to its lock is not clear. -ENOMEM (logged).
 */
int gt_gil_calls_find(struct gt_gil_code *code, struct gt_gil_sites *sites);
