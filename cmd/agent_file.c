/* SPDX-License-Identifier: MIT */
#include "cmd/agent_file.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "elf/elf_file.h"
#include "probes/agent/layout.h"

#define AGENT_NAME "libgiltrace-agent.so"
#define REINSTALL "build or install giltrace anew"
#define UNSET "unset " GT_AGENT_FILE_VARIABLE ", which names it"

/* The folder that this program is in. The caller frees it; NULL when it cannot be told. */
static char *own_folder(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (length <= 0)
		return NULL;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return strdup(path);
}

/* Where it may be: in the folder that was built in, beside the program, or where it was to be. */
static int find_path(char **ret)
{
	static const char *const beside[] = {
		"../probes/agent/" AGENT_NAME,
		"../" GILTRACE_LIBDIR "/giltrace/" AGENT_NAME,
	};
	const char *named = getenv(GT_AGENT_FILE_VARIABLE);
	_cleanup_free_ char *folder = NULL;

	if (named && *named) {
		/* The target may run in another folder. */
		*ret = realpath(named, NULL);
		return *ret ? 0 : -errno;
	}
	folder = own_folder();
	for (size_t i = 0; folder && i < ARRAY_SIZE(beside); i++) {
		_cleanup_free_ char *path = gt_format("%s/%s", folder, beside[i]);

		*ret = path ? realpath(path, NULL) : NULL;
		if (*ret)
			return 0;
	}
	*ret = realpath(GILTRACE_INSTALLED_LIBDIR "/giltrace/" AGENT_NAME, NULL);
	return *ret ? 0 : -errno;
}

/* False when it has none. */
static bool read_version(const struct gt_elf *elf, uint32_t *ret)
{
	uint64_t address, size;
	const void *bytes = gt_elf_section_bytes(elf, GT_AGENT_VERSION_SECTION, &address, &size);
	uint32_t version;

	if (!bytes || size < sizeof(version))
		return false;
	memcpy(&version, bytes, sizeof(version));
	*ret = le32toh(version);
	return true;
}

/* What helps against a file that is not the right one. */
static const char *find_remedy(void)
{
	const char *named = getenv(GT_AGENT_FILE_VARIABLE);

	return named && *named ? UNSET : REINSTALL;
}

static int check(const char *path, uint16_t machine, struct gt_obstacle *obstacle)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	struct gt_log_capture capture;
	uint32_t version;
	char *text;
	int r;

	gt_log_start_capture(&capture);
	r = gt_elf_open(path, &elf);
	text = gt_log_end_capture(&capture);
	if (r < 0) {
		_cleanup_free_ char *cause = text;

		gt_obstacle_set(obstacle, find_remedy(), "the agent cannot be used: %s",
				cause ? cause : strerror(-r));
		return r;
	}
	free(text);
	if (!read_version(elf, &version)) {
		gt_obstacle_set(obstacle, find_remedy(), "%s is not giltrace's agent", path);
		return -EBADMSG;
	}
	if (version != GT_AGENT_VERSION) {
		gt_obstacle_set(obstacle, find_remedy(),
				"the agent %s is of another version of giltrace: %" PRIu32
				" in place of %d",
				path, version, GT_AGENT_VERSION);
		return -ESTALE;
	}
	if (gt_elf_machine(elf) != machine) {
		gt_obstacle_set(obstacle,
				"use a Python of the architecture that giltrace was built for",
				"the agent %s is for another architecture than this Python", path);
		return -ENOEXEC;
	}
	return 0;
}

/*
 * The loader splits the list at blanks and colons, knows no way to escape them, and replaces what
 * is behind a dollar.
 */
static int name_for_preload(struct gt_agent_file *file, bool in_other_root)
{
	if (!in_other_root && !strpbrk(file->path, " \t\n:$")) {
		file->preload = strdup(file->path);
		return file->preload ? 0 : -ENOMEM;
	}
	file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	file->preload = gt_format("/proc/%d/fd/%d", (int)getpid(), file->fd);
	return file->preload ? 0 : -ENOMEM;
}

int gt_agent_file_find(uint16_t machine, bool in_other_root, struct gt_agent_file *file,
		       struct gt_obstacle *obstacle)
{
	const char *named = getenv(GT_AGENT_FILE_VARIABLE);
	int r;

	*file = (struct gt_agent_file){.fd = -1};
	r = find_path(&file->path);
	if (r < 0) {
		gt_obstacle_set(obstacle, find_remedy(), "the agent %s was not found: %s",
				named && *named ? named : AGENT_NAME, strerror(-r));
		return r;
	}
	r = check(file->path, machine, obstacle);
	if (r < 0)
		return r;
	r = name_for_preload(file, in_other_root);
	if (r < 0)
		gt_obstacle_set(obstacle, NULL, "cannot open the agent %s: %s", file->path,
				strerror(-r));
	return r;
}

void gt_agent_file_clear(struct gt_agent_file *file)
{
	if (file->path && file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->preload);
	*file = (struct gt_agent_file){.fd = -1};
}
