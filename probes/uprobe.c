/* SPDX-License-Identifier: MIT */
#include "probes/uprobe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tracefs/tracefs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/strings.h"
#include "elf/elf_file.h"
#include "python/gil_sites.h"

#define GROUP_PREFIX "giltrace_"
#define INITIAL_PID_NAMESPACE 0xeffffffcU /* PROC_PID_INIT_INO of the kernel */
#define PLAIN_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+~=,@%:"
#define MAX_GROUP_BYTES 64 /* MAX_EVENT_NAME_LEN of the kernel */

struct gt_uprobes {
	char *group;
};

/* What to fetch at a site: the return address at a function's entry, else the first argument. */
static const struct {
	uint16_t machine;
	const char *caller, *argument;
} fetches[] = {
	{EM_X86_64, "caller=+0(%sp):x64", "lock=%di:x64"},
	{EM_AARCH64, "caller=%x30:x64", "lock=%x0:x64"},
};

/*
 * Where no call on the GIL's condition variables is known, nothing names it: made-up addresses do,
 * laid out as the variables would be.
 */
static const char *const made_up_locks[GT_GIL_SITE_RETAKE] = {
	[GT_GIL_SITE_ACQUIRED] = "lock=\\0x1058:x64",
	[GT_GIL_SITE_RELEASE] = "lock=\\0x1000:x64",
	[GT_GIL_SITE_SWITCHED] = "lock=\\0x1088:x64",
};

static const char *choose_fetch(const struct gt_gil_sites *sites, enum gt_gil_site_kind kind,
				size_t machine)
{
	if (kind == GT_GIL_SITE_TAKE)
		return fetches[machine].caller;
	return strcmp(sites->found_by, "returns") == 0 ? made_up_locks[kind]
						       : fetches[machine].argument;
}

static int error_install(int err, const char *file)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		gt_error_errno(err, "cannot install the GIL's probes\n"
				    "  run giltrace as root: sudo giltrace …");
		break;
	case -ENOENT:
		gt_error("cannot install the GIL's probes: this kernel has no uprobe_events\n"
			 "  it needs CONFIG_UPROBE_EVENTS");
		break;
	case -EROFS:
		gt_error_errno(err, "cannot install the GIL's probes: tracefs cannot be written\n"
				    "  mount it anew: mount -o remount,rw /sys/kernel/tracing");
		break;
	default:
		gt_error_errno(err, "cannot install a probe in %s", file);
		break;
	}
	return err;
}

static int create(const char *group, const char *event, const char *file, uint64_t offset,
		  const char *fetch)
{
	struct tracefs_dynevent *probe = tracefs_uprobe_alloc(group, event, file, offset, fetch);
	int r;

	if (!probe)
		return -ENOMEM;
	errno = 0;
	r = tracefs_dynevent_create(probe) < 0 ? -errno : 0;
	tracefs_dynevent_free(probe);
	return r;
}

/* Removes the events of GROUP that are not in use, each with all its sites. */
static void remove_group(const char *group)
{
	struct tracefs_dynevent **probes = tracefs_dynevent_get_all(TRACEFS_DYNEVENT_UPROBE, group);

	/* The first probe of an event takes its siblings along; for them it fails, and that is
	 * fine. */
	for (size_t i = 0; probes && probes[i]; i++)
		(void)tracefs_dynevent_destroy(probes[i], false);
	tracefs_dynevent_list_free(probes);
}

/*
 * The name of the group of process PID. Tracing is the whole machine's, and a pid is not: in a
 * container the name has the number of its PID namespace too, so that another one's 7 is not ours.
 */
static char *own_group(pid_t pid)
{
	struct stat status;

	if (stat("/proc/self/ns/pid", &status) < 0 || status.st_ino == INITIAL_PID_NAMESPACE)
		return gt_format(GROUP_PREFIX "%d", (int)pid);
	return gt_format(GROUP_PREFIX "%d_%" PRIu64, (int)pid, (uint64_t)status.st_ino);
}

int gt_uprobes_install(const char *group, const struct gt_elf *elf,
		       const struct gt_gil_sites *sites, struct gt_uprobes **ret)
{
	const char *file = gt_elf_path(elf);
	uint16_t machine = gt_elf_machine(elf);
	_cleanup_(gt_uprobes_removep) struct gt_uprobes *uprobes = NULL;
	_cleanup_close_ int fd = -1;
	char through_fd[64];
	const char *target = file;
	size_t fetch = 0;

	while (fetch < ARRAY_SIZE(fetches) && fetches[fetch].machine != machine)
		fetch++;
	if (fetch == ARRAY_SIZE(fetches)) {
		gt_error("cannot probe %s: its machine (ELF number %u) is not supported", file,
			 machine);
		return -EOPNOTSUPP;
	}
	/* Blanks, # and, to the kernel, 0xa0 end a word: what is not plain goes by a name that is.
	 */
	if (file[strspn(file, PLAIN_CHARACTERS)] != '\0') {
		fd = open(file, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return gt_error_errno(-errno, "cannot open %s", file);
		snprintf(through_fd, sizeof(through_fd), "/proc/self/fd/%d", fd);
		target = through_fd;
	}

	uprobes = calloc(1, sizeof(*uprobes));
	if (!uprobes)
		return gt_error_oom();
	uprobes->group = group ? strdup(group) : own_group(getpid());
	if (!uprobes->group)
		return gt_error_oom();
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_RETAKE; kind++) {
		gt_array_for_each (&sites->offsets[kind], offset) {
			int r = create(uprobes->group, gt_gil_site_name(kind), target, *offset,
				       choose_fetch(sites, kind, fetch));
			if (r < 0)
				return error_install(r, file);
		}
	}
	/* In another file the same places may be anything: they must not even be tried. */
	if (!gt_elf_is_current(elf)) {
		gt_error("%s was replaced while giltrace looked at it\n  run giltrace again", file);
		return -ESTALE;
	}
	*ret = GT_STEAL(uprobes);
	return 0;
}

const char *gt_uprobes_group(const struct gt_uprobes *uprobes)
{
	return uprobes->group;
}

void gt_uprobes_remove(struct gt_uprobes *uprobes)
{
	if (!uprobes)
		return;
	if (uprobes->group)
		remove_group(uprobes->group);
	free(uprobes->group);
	free(uprobes);
}

void gt_uprobes_keep(struct gt_uprobes *uprobes)
{
	free(uprobes->group);
	free(uprobes);
}

static bool is_gil_event(const char *event)
{
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_RETAKE; kind++)
		if (strcmp(event, gt_gil_site_name(kind)) == 0)
			return true;
	return false;
}

static bool has_probes(const char *group)
{
	struct tracefs_dynevent **probes = tracefs_dynevent_get_all(TRACEFS_DYNEVENT_ALL, group);
	bool any = probes && probes[0];

	tracefs_dynevent_list_free(probes);
	return any;
}

bool gt_uprobes_check_group(const char *group)
{
	/* The kernel takes dashes too, and perf does not. */
	size_t good =
		strspn(group, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	if (group[0] == '\0' || group[good] != '\0' || (group[0] >= '0' && group[0] <= '9') ||
	    strlen(group) >= MAX_GROUP_BYTES) {
		gt_error("'%s' is no name for a group of probes\n"
			 "  take letters, digits and underscores, and no digit first",
			 group);
		return false;
	}
	if (gt_string_starts_with(group, GROUP_PREFIX)) {
		gt_error(
			"'%s' is no name for a group of probes that stay: giltrace removes what is "
			"called " GROUP_PREFIX "…\n"
			"  give another with --group",
			group);
		return false;
	}
	if (has_probes(group)) {
		gt_error("there is a group of probes named '%s' already\n"
			 "  give another with --group, or remove it: giltrace probe del --group %s",
			 group, group);
		return false;
	}
	return true;
}

void gt_uprobes_list(const char *only_group,
		     void (*function)(const char *group, const char *event, const char *address))
{
	struct tracefs_dynevent **probes =
		tracefs_dynevent_get_all(TRACEFS_DYNEVENT_UPROBE, only_group);

	for (size_t i = 0; probes && probes[i]; i++) {
		_cleanup_free_ char *group = NULL, *event = NULL, *address = NULL;

		if (tracefs_dynevent_info(probes[i], &group, &event, NULL, &address, NULL) !=
		    TRACEFS_DYNEVENT_UNKNOWN)
			if (group && event && address && is_gil_event(event))
				function(group, event, address);
	}
	tracefs_dynevent_list_free(probes);
}

int gt_uprobes_remove_group(const char *group)
{
	bool found = false;

	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_RETAKE; kind++) {
		struct tracefs_dynevent *probe = tracefs_dynevent_get(
			TRACEFS_DYNEVENT_UPROBE, group, gt_gil_site_name(kind));
		int r;

		if (!probe)
			continue;
		found = true;
		errno = 0;
		r = tracefs_dynevent_destroy(probe, false) < 0 ? -errno : 0;
		tracefs_dynevent_free(probe);
		if (r < 0)
			return gt_error_errno(r,
					      "cannot remove the probe %s:%s\n"
					      "  end what records with it, and try again",
					      group, gt_gil_site_name(kind));
	}
	if (found)
		return 0;
	gt_error("there are no probes of the GIL in a group named '%s'\n"
		 "  see giltrace probe list",
		 group);
	return -ENOENT;
}

/* Whether PID is a giltrace that can still remove its own probes. A zombie has no program any more.
 */
static bool is_living_giltrace(pid_t pid)
{
	_cleanup_free_ char *comm_path = gt_format("/proc/%d/comm", (int)pid);
	_cleanup_free_ char *program_path = gt_format("/proc/%d/exe", (int)pid);
	_cleanup_free_ char *comm = NULL;
	char program[PATH_MAX];
	struct stat theirs, ours;

	if (!comm_path || !program_path)
		return true;
	if (gt_read_file(comm_path, 64, &comm, NULL) == -ENOENT)
		return false;
	/* By its name, or, called by another one, by its file. */
	if (comm && !gt_string_starts_with(comm, "giltrace") &&
	    (stat(program_path, &theirs) < 0 || stat("/proc/self/exe", &ours) < 0 ||
	     theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino))
		return false;
	return readlink(program_path, program, sizeof(program)) >= 0 || errno != ENOENT;
}

/* Whether GROUP is one of ours whose process is gone, or whose number another program has now. */
static bool is_leftover(const char *group)
{
	_cleanup_free_ char *ours = NULL;
	char *end;
	long pid;

	if (!gt_string_starts_with(group, GROUP_PREFIX))
		return false;
	errno = 0;
	pid = strtol(group + strlen(GROUP_PREFIX), &end, 10);
	if (errno || pid <= 0 || pid > INT_MAX)
		return false;
	/* Of another namespace, nobody here can tell whether it lives. */
	ours = own_group((pid_t)pid);
	if (!ours || strcmp(group, ours) != 0)
		return false;
	return pid == getpid() || !is_living_giltrace((pid_t)pid);
}

void gt_uprobes_remove_leftovers(void)
{
	struct tracefs_dynevent **probes = tracefs_dynevent_get_all(TRACEFS_DYNEVENT_UPROBE, NULL);

	for (size_t i = 0; probes && probes[i]; i++) {
		char *group = NULL;

		if (tracefs_dynevent_info(probes[i], &group, NULL, NULL, NULL, NULL) ==
		    TRACEFS_DYNEVENT_UNKNOWN)
			continue;
		if (group && is_leftover(group)) {
			gt_debug("removing the probes of a giltrace that has died: %s", group);
			remove_group(group);
		}
		free(group);
	}
	tracefs_dynevent_list_free(probes);
}
