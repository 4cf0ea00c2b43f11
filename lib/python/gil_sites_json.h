/* SPDX-License-Identifier: MIT */
/* The sites as JSON, the same in every file that has them: an array of file offsets a kind. */
#pragma once

#include "base/json.h"
#include "python/gil_sites.h"

/* Adds "take", "acquired" … to *OBJECT; see gt_json_set(). */
void gt_gil_sites_set_json(json_t **object, const struct gt_gil_sites *sites);
