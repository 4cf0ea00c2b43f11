/* SPDX-License-Identifier: MIT */
#include "render/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/strings.h"

#define NO_NAME "[no name]"

/* FNV-1a, 64 bits. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static char *make_visible(const char *text)
{
	char *visible = gt_terminal_dup(text, strlen(text));

	for (char *c = visible; c && *c; c++)
		if (*c == ';')
			*c = ':';
	return visible;
}

int gt_names_add(struct gt_names *names, const char *text, uint32_t *ret)
{
	_cleanup_free_ char *visible = make_visible(*text ? text : NO_NAME);
	uint64_t hash;
	uint32_t first, *next;
	char **item;

	if (!visible)
		return -ENOMEM;
	hash = hash_text(visible);
	first = gt_hash_get(&names->by_text, hash);
	for (uint32_t i = first; i != GT_HASH_NONE; i = names->next.items[i]) {
		if (strcmp(names->texts.items[i], visible) != 0)
			continue;
		*ret = i;
		return 0;
	}
	next = gt_array_push(&names->next);
	if (!next)
		return -ENOMEM;
	*next = first;
	item = gt_array_push(&names->texts);
	if (!item || gt_hash_set(&names->by_text, hash, names->texts.count - 1) < 0)
		return -ENOMEM;
	*item = GT_STEAL(visible);
	*ret = names->texts.count - 1;
	return 0;
}

int gt_names_add_numbered(struct gt_names *names, const char *text, uint32_t number, uint32_t *ret)
{
	_cleanup_free_ char *numbered =
		gt_format("%s (%" PRIu32 ")", *text ? text : NO_NAME, number);

	return numbered ? gt_names_add(names, numbered, ret) : -ENOMEM;
}

void gt_names_clear(struct gt_names *names)
{
	gt_array_for_each (&names->texts, text)
		free(*text);
	gt_array_clear(&names->texts);
	gt_array_clear(&names->next);
	gt_hash_clear(&names->by_text);
}
