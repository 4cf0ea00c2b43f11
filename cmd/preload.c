/* SPDX-License-Identifier: MIT */
#include "cmd/preload.h"

#include <errno.h>
#include <stdbool.h>
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

int gt_preload_environment_make(char *const *base, const char *library, const char *name,
				const char *value, struct gt_preload_environment *ret)
{
	struct gt_preload_environment environment = {0};
	const char *others = "";
	size_t count = 0, used = 0;

	while (base[count])
		count++;
	/* Of several, the loader takes the last. */
	for (size_t i = 0; i < count; i++)
		if (is_variable(base[i], PRELOAD))
			others = base[i] + strlen(PRELOAD "=");
	environment.variables = calloc(count + 3, sizeof(*environment.variables));
	environment.preload = gt_format(PRELOAD "=%s%s%s", library, *others ? ":" : "", others);
	environment.agent = gt_format("%s=%s", name, value);
	if (!environment.variables || !environment.preload || !environment.agent) {
		gt_preload_environment_clear(&environment);
		return gt_error_oom();
	}
	for (size_t i = 0; i < count; i++)
		if (!is_variable(base[i], PRELOAD) && !is_variable(base[i], name))
			environment.variables[used++] = base[i];
	environment.variables[used++] = environment.preload;
	environment.variables[used++] = environment.agent;
	*ret = environment;
	return 0;
}

void gt_preload_environment_clear(struct gt_preload_environment *environment)
{
	free(environment->variables);
	free(environment->preload);
	free(environment->agent);
	*environment = (struct gt_preload_environment){0};
}
