/* SPDX-License-Identifier: MIT */
#include "cmd/preload.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "cmd/traced_python.h"

#define PRELOAD "LD_PRELOAD"

/* AddressSanitizer ends a program that is linked with it where another library comes first. */
#define SANITIZER_OPTIONS "ASAN_OPTIONS"
#define ANY_LINK_ORDER "verify_asan_link_order=0"

/*
 * Whether PATH gives who runs it the rights of another user, or more than they have: the loader
 * ignores LD_PRELOAD then (AT_SECURE, see cap_bprm_creds_from_file() in the kernel).
 */
static bool gives_rights(const char *path)
{
	struct statvfs file_system;
	struct stat status;

	if (stat(path, &status) < 0 ||
	    (statvfs(path, &file_system) == 0 && (file_system.f_flag & ST_NOSUID)))
		return false;
	if ((status.st_mode & S_ISUID) && status.st_uid != geteuid())
		return true;
	/* Without the right of the group to execute it, the bit is not about rights. */
	if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getegid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static int check_executable(const char *path, struct gt_obstacle *obstacle)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	struct gt_log_capture capture;
	const char *loader;
	int r;

	gt_log_start_capture(&capture);
	r = gt_elf_open(path, &elf);
	if (r < 0) {
		gt_obstacle_set_message(obstacle, gt_log_end_capture(&capture));
		return r;
	}
	free(gt_log_end_capture(&capture));
	loader = gt_elf_loader(elf);
	if (!loader) {
		gt_obstacle_set(obstacle, "use a Python that is linked dynamically",
				"%s is linked statically, and nothing can be loaded into it", path);
		return -EOPNOTSUPP;
	}
	if (strstr(loader, "ld-musl")) {
		gt_obstacle_set(obstacle, "use a Python that was built for glibc",
				"%s was built for musl, and the agent is made for glibc", path);
		return -EOPNOTSUPP;
	}
	if (gives_rights(path)) {
		gt_obstacle_set(obstacle, "use a copy of it without them",
				"%s is setuid, setgid or has capabilities, so that its loader "
				"ignores " PRELOAD,
				path);
		return -EPERM;
	}
	return 0;
}

int gt_preload_check(const struct gt_traced_python *python, struct gt_obstacle *obstacle)
{
	int r = check_executable(python->interpreter.executable, obstacle);

	if (r < 0)
		return r;
	if (python->sites.calls.count == 0) {
		gt_obstacle_set(obstacle, "use another build of Python",
				"the agent cannot tell the GIL's calls in %s from others",
				gt_interpreter_gil_file(&python->interpreter));
		return -EOPNOTSUPP;
	}
	return 0;
}

static bool is_variable(const char *variable, const char *name)
{
	size_t length = strlen(name);

	return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/* The entry that TEXT begins with, as long as *RET_LENGTH; NULL: there is none. As in ld.so(8). */
static const char *next_entry(const char *text, size_t *ret_length)
{
	text += strspn(text, ": ");
	*ret_length = strcspn(text, ": ");
	return *ret_length > 0 ? text : NULL;
}

/* Whether it is the run-time library of a sanitizer, of gcc or of clang. */
static bool is_sanitizer(const char *entry, size_t length)
{
	_cleanup_free_ char *path = strndup(entry, length);
	const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;

	return name && (fnmatch("lib*san.so*", name, 0) == 0 ||
			fnmatch("libclang_rt.*san*.so*", name, 0) == 0);
}

/* Adds the entries of LIST that are SANITIZERS, or those that are not. */
static void add_entries(FILE *stream, const char *list, bool sanitizers)
{
	const char *entry;
	size_t length;

	for (; (entry = next_entry(list, &length)) != NULL; list = entry + length)
		if (is_sanitizer(entry, length) == sanitizers)
			fprintf(stream, "%s%.*s", ftell(stream) > 0 ? ":" : "", (int)length, entry);
}

/*
 * A sanitizer ends a program in which another library is in front of it, so that it stays there.
 * NULL when out of memory.
 */
static char *make_list(const char *library, const char *others)
{
	char *list = NULL;
	size_t size;
	FILE *stream = open_memstream(&list, &size);

	if (!stream)
		return NULL;
	add_entries(stream, others, true);
	fprintf(stream, "%s%s", ftell(stream) > 0 ? ":" : "", library);
	add_entries(stream, others, false);
	if (fclose(stream) == 0)
		return list;
	free(list);
	return NULL;
}

int gt_preload_environment_make(char *const *base, const char *library, const char *name,
				const char *value, struct gt_preload_environment *ret)
{
	struct gt_preload_environment environment = {0};
	const char *others = "", *sanitizer_options = "";
	_cleanup_free_ char *list = NULL;
	size_t count = 0, used = 0;

	while (base[count])
		count++;
	/* Of several, the loader takes the last, and getenv() the first. */
	for (size_t i = 0; i < count; i++)
		if (is_variable(base[i], PRELOAD))
			others = base[i] + strlen(PRELOAD "=");
	for (size_t i = count; i-- > 0;)
		if (is_variable(base[i], SANITIZER_OPTIONS))
			sanitizer_options = base[i] + strlen(SANITIZER_OPTIONS "=");
	list = make_list(library, others);
	environment.variables = calloc(count + 4, sizeof(*environment.variables));
	environment.preload = list ? gt_format(PRELOAD "=%s", list) : NULL;
	environment.agent = gt_format("%s=%s", name, value);
	environment.sanitizer_options = gt_format(SANITIZER_OPTIONS "=%s%s%s", sanitizer_options,
						  *sanitizer_options ? ":" : "", ANY_LINK_ORDER);
	if (!environment.variables || !environment.preload || !environment.agent ||
	    !environment.sanitizer_options) {
		gt_preload_environment_clear(&environment);
		return gt_error_oom();
	}
	for (size_t i = 0; i < count; i++)
		if (!is_variable(base[i], PRELOAD) && !is_variable(base[i], name) &&
		    !is_variable(base[i], SANITIZER_OPTIONS))
			environment.variables[used++] = base[i];
	environment.variables[used++] = environment.preload;
	environment.variables[used++] = environment.agent;
	environment.variables[used++] = environment.sanitizer_options;
	*ret = environment;
	return 0;
}

void gt_preload_environment_clear(struct gt_preload_environment *environment)
{
	free(environment->variables);
	free(environment->preload);
	free(environment->agent);
	free(environment->sanitizer_options);
	*environment = (struct gt_preload_environment){0};
}
