/* SPDX-License-Identifier: MIT */
#include "python/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static const char start_line[] = "\ngiltrace-identity 1\n";
static const char end_line[] = "\ngiltrace-identity end\n";

/* Takes the field that starts at *AT and ends in NUL before END. */
static int take_field(const char **at, const char *end, char **ret)
{
	const char *field_end = memchr(*at, '\0', (size_t)(end - *at));

	if (!field_end)
		return -ENODATA;
	*ret = strdup(*at);
	if (!*ret)
		return -ENOMEM;
	*at = field_end + 1;
	return 0;
}

static int split_environment(const char *text, size_t size, char ***ret)
{
	char **environment;
	size_t count = 0, i = 0;

	for (size_t at = 0; at < size; at++)
		count += text[at] == '\0';
	environment = calloc(count + 1, sizeof(*environment));
	if (!environment)
		return -ENOMEM;
	while (i < count) {
		environment[i] = strdup(text);
		if (!environment[i]) {
			gt_environment_free(environment);
			return -ENOMEM;
		}
		text += strlen(environment[i++]) + 1;
	}
	*ret = environment;
	return 0;
}

static int parse_fields(const char *at, const char *end, struct gt_identity *identity)
{
	_cleanup_free_ char *has_module = NULL, *has_gil = NULL, *size_text = NULL;
	char **const fields[] = {&identity->version, &identity->implementation,
				 &identity->program, &identity->executable,
				 &identity->library, &has_module,
				 &has_gil,	     &size_text};
	const char *error;
	size_t size;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		r = take_field(&at, end, fields[i]);
		if (r < 0)
			return r;
	}
	identity->has_module = strcmp(has_module, "yes") == 0;
	identity->is_gil_enabled = strcmp(has_gil, "yes") == 0;
	size = (size_t)strtonum(size_text, 0, end - at, &error);
	if (error || (size_t)(end - at) - size < strlen(end_line) ||
	    memcmp(at + size, end_line, strlen(end_line)) != 0)
		return -ENODATA;
	return split_environment(at, size, &identity->environment);
}

int gt_identity_parse(const char *output, size_t size, struct gt_identity *ret)
{
	_cleanup_(gt_identity_clear) struct gt_identity identity = {0};
	const char *start;
	int r;

	start = output ? memmem(output, size, start_line, strlen(start_line)) : NULL;
	if (!start)
		return -ENODATA;
	r = parse_fields(start + strlen(start_line), output + size, &identity);
	if (r < 0)
		return r;
	*ret = identity;
	identity = (struct gt_identity){0};
	return 0;
}

void gt_identity_clear(struct gt_identity *identity)
{
	free(identity->version);
	free(identity->implementation);
	free(identity->program);
	free(identity->executable);
	free(identity->library);
	gt_environment_free(identity->environment);
	*identity = (struct gt_identity){0};
}

void gt_environment_free(char **environment)
{
	for (char **variable = environment; variable && *variable; variable++)
		free(*variable);
	free(environment);
}
