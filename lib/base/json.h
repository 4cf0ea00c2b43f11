/* SPDX-License-Identifier: MIT */
/*
 * Building JSON with jansson without a check at every line: a value that could not be made drops
 * the whole object, so that the check of the last pointer is enough, and no key is ever missing.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/macros.h"

/* A string, or null for NULL; bytes that are not UTF-8 become \xNN. NULL when out of memory. */
json_t *gt_json_text(const char *text);
json_t *gt_json_integer(uint64_t value);
/* Negative: not known, null. */
json_t *gt_json_integer_or_null(int64_t value);
/* The strings of a NULL-terminated list, which may be NULL. */
json_t *gt_json_texts(char *const *texts);

/* Adds VALUE, taking its reference. If that fails, or VALUE is NULL, *OBJECT is dropped and NULL.
 */
void gt_json_set(json_t **object, const char *key, json_t *value);
void gt_json_append(json_t **array, json_t *value);
