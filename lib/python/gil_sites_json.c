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

json_t *gt_gil_calls_json(const gt_gil_call_sites *calls)
{
	json_t *array = json_array();

	gt_array_for_each (calls, call)
		gt_json_append(&array,
			       json_pack("[i, I, b, i]", (int)call->kind,
					 (json_int_t)call->return_offset,
					 (int)call->by_frame_pointer, (int)call->caller_offset));
	return array;
}

static bool read_call(const json_t *value, struct gt_gil_call_site *ret)
{
	json_int_t return_offset;
	int kind, by_frame_pointer, caller_offset;

	/* Jansson's format for reading takes an object that it does not change. */
	if (json_unpack((json_t *)value, "[i, I, b, i !]", &kind, &return_offset, &by_frame_pointer,
			&caller_offset) < 0 ||
	    kind < 0 || kind >= GT_GIL_CALL_KINDS || return_offset < 0)
		return false;
	*ret = (struct gt_gil_call_site){
		.kind = (enum gt_gil_call_kind)kind,
		.return_offset = (uint64_t)return_offset,
		.by_frame_pointer = by_frame_pointer != 0,
		.caller_offset = caller_offset,
	};
	return true;
}

bool gt_gil_calls_read_json(const json_t *array, gt_gil_call_sites *calls)
{
	if (!json_is_array(array))
		return false;
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct gt_gil_call_site *call = gt_array_push(calls);

		if (!call || !read_call(json_array_get(array, i), call))
			return false;
	}
	return true;
}

json_t *gt_gil_waits_json(const gt_elf_ranges *waits)
{
	json_t *array = json_array();

	gt_array_for_each (waits, range)
		gt_json_append(&array, json_pack("[I, I]", (json_int_t)range->start,
						 (json_int_t)range->end));
	return array;
}

bool gt_gil_waits_read_json(const json_t *array, gt_elf_ranges *waits)
{
	json_int_t start, end, last = 0;

	if (!json_is_array(array))
		return false;
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct gt_elf_range *range;

		if (json_unpack(json_array_get(array, i), "[I, I !]", &start, &end) < 0 ||
		    start < last || end <= start)
			return false;
		range = gt_array_push(waits);
		if (!range)
			return false;
		*range = (struct gt_elf_range){.start = (uint64_t)start, .end = (uint64_t)end};
		last = end;
	}
	return true;
}
