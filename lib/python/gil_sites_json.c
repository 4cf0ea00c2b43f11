/* SPDX-License-Identifier: MIT */
#include "python/gil_sites_json.h"

void gt_gil_sites_set_json(json_t **object, const struct gt_gil_sites *sites)
{
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_KINDS; kind++) {
		json_t *offsets = json_array();

		gt_array_for_each (&sites->offsets[kind], offset)
			gt_json_append(&offsets, gt_json_integer(*offset));
		gt_json_set(object, gt_gil_site_name(kind), offsets);
	}
}
