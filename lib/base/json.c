/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <string.h>

#include "base/strings.h"

json_t *gt_json_text(const char *text)
{
	_cleanup_free_ char *valid = NULL;

	if (!text)
		return json_null();
	valid = gt_utf8_dup(text, strlen(text));
	return valid ? json_string(valid) : NULL;
}

json_t *gt_json_integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *gt_json_integer_or_null(int64_t value)
{
	return value < 0 ? json_null() : json_integer((json_int_t)value);
}

json_t *gt_json_texts(char *const *texts)
{
	json_t *array = json_array();

	for (; texts && *texts; texts++)
		gt_json_append(&array, gt_json_text(*texts));
	return array;
}

/* json_..._new() with a NULL container or value releases the other one and fails. */
void gt_json_set(json_t **object, const char *key, json_t *value)
{
	if (json_object_set_new(*object, key, value) == 0)
		return;
	json_decref(*object);
	*object = NULL;
}

void gt_json_append(json_t **array, json_t *value)
{
	if (json_array_append_new(*array, value) == 0)
		return;
	json_decref(*array);
	*array = NULL;
}
