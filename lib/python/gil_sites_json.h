/* SPDX-License-Identifier: MIT */
/* The sites as JSON, the same in every file that has them: an array of file offsets a kind. */
#pragma once

#include "base/json.h"
#include "python/gil_sites.h"

/* Adds "take", "acquired" … to *OBJECT; see gt_json_set(). */
void gt_gil_sites_set_json(json_t **object, const struct gt_gil_sites *sites);

/* The calls as an array of arrays of numbers, for giltrace's own files; see
 * gt_gil_calls_read_json(). */
json_t *gt_gil_calls_json(const gt_gil_call_sites *calls);

/* False for what is no such array. CALLS, empty before, may have been filled in part. */
bool gt_gil_calls_read_json(const json_t *array, gt_gil_call_sites *calls);

/* The code in which a thread waits for the GIL: [[start, end], …], as in struct gt_gil_sites. */
json_t *gt_gil_waits_json(const gt_elf_ranges *waits);

/*
 * False for what is no such array, also where the ranges are out of order. WAITS, empty before, may
 * have been filled in part.
 */
bool gt_gil_waits_read_json(const json_t *array, gt_elf_ranges *waits);
