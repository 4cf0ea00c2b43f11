/* SPDX-License-Identifier: MIT */
#include "cmd/option_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libutil.h>

#include "base/io.h"
#include "base/log.h"
#include "base/time.h"
#include "cmd/options.h"
#include "record/counter_names.h"

#define MIN_BUFFER_BYTES UINT64_C(4096)
#define MAX_BUFFER_BYTES (UINT64_C(1) << 30)
#define MAX_SECONDS 1e9
/* What the kernel copies of a stack at the most; less than the least tells of no caller. */
#define MIN_STACK_BYTES UINT64_C(512)
#define MAX_STACK_BYTES UINT64_C(65528)

int gt_option_parse_size(const char *text, uint64_t *ret)
{
	uint64_t size;

	if (expand_number(text, &size) < 0 || size == 0 || size > MAX_BUFFER_BYTES) {
		gt_error("'%s' is no size for a buffer\n"
			 "  give one up to 1G, such as 512K; less than 128K, or than 1M with the "
			 "agent, is taken as that",
			 text);
		return -EINVAL;
	}
	*ret = GT_MAX(size, MIN_BUFFER_BYTES);
	return 1;
}

int gt_option_parse_stack_size(const char *text, uint32_t *ret)
{
	uint64_t size;

	if (expand_number(text, &size) < 0 || size < MIN_STACK_BYTES || size > MAX_STACK_BYTES) {
		gt_error("'%s' is no size for a stack\n"
			 "  give the bytes to copy of each, 512 to 65528, such as 16K",
			 text);
		return -EINVAL;
	}
	*ret = (uint32_t)((size + 7) / 8 * 8);
	return 1;
}

int gt_option_parse_word(const char *option, const char *text, const char *const words[], int *ret)
{
	_cleanup_free_ char *all = NULL;

	for (int i = 0; words[i]; i++) {
		char *more;

		if (strcmp(words[i], text) == 0) {
			*ret = i;
			return 1;
		}
		more = gt_format("%s%s%s", all ? all : "", all ? ", " : "", words[i]);
		if (!more)
			return gt_error_oom();
		free(all);
		all = more;
	}
	gt_error("'%s' is nothing that %s knows\n  give one of: %s", text, option, all);
	return -EINVAL;
}

int gt_option_parse_seconds(const char *option, const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds = strtod(text, &end);

	/* Also false for what is no number. */
	if (end == text || *end ||
	    !(seconds * (double)GT_NS_PER_SEC >= 1 && seconds <= MAX_SECONDS)) {
		gt_error("'%s' is no time for %s\n"
			 "  give the seconds to keep, more than 0, such as 10 or 0.5",
			 text, option);
		return -EINVAL;
	}
	*ret_ns = (uint64_t)(seconds * (double)GT_NS_PER_SEC);
	return 1;
}

static int refuse_counter(const char *name, size_t length)
{
	_cleanup_free_ char *names = gt_counter_names();

	gt_error("'%.*s' is nothing that --counters knows\n  give some of: %s", (int)length, name,
		 names ? names : "");
	return -EINVAL;
}

/* One that was named before is counted once all the same. */
static int add_counter(const struct gt_pass_counter *counter, struct gt_options *options)
{
	struct gt_pass_counter *added;

	gt_array_for_each (&options->counters, other)
		if (strcmp(other->name, counter->name) == 0)
			return 1;
	added = gt_array_push(&options->counters);
	if (!added)
		return gt_error_oom();
	*added = *counter;
	return 1;
}

int gt_option_parse_counters(const char *text, struct gt_options *options)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		struct gt_pass_counter counter;
		int r;

		if (!gt_counter_find(text, length, false, &counter))
			return refuse_counter(text, length);
		r = add_counter(&counter, options);
		if (r < 0 || text[length] == '\0')
			return r;
		text += length + 1;
	}
}
