/* SPDX-License-Identifier: MIT */
#include "python/surroundings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"

#define MAX_FILE_BYTES 65536

/* A file of /proc/PID, or of /proc/self for 0; the caller frees it. NULL when it cannot be read. */
static char *read_proc(pid_t pid, const char *name)
{
	_cleanup_free_ char *path =
		pid ? gt_format("/proc/%d/%s", (int)pid, name) : gt_format("/proc/self/%s", name);
	char *text;

	return path && gt_read_file(path, MAX_FILE_BYTES, &text, NULL) == 0 ? text : NULL;
}

/* Where a link of /proc/PID leads, likewise. */
static char *read_link(pid_t pid, const char *name)
{
	_cleanup_free_ char *path =
		pid ? gt_format("/proc/%d/%s", (int)pid, name) : gt_format("/proc/self/%s", name);
	char target[PATH_MAX];
	ssize_t length = path ? readlink(path, target, sizeof(target)) : -1;

	return length >= 0 && (size_t)length < sizeof(target) ? strndup(target, (size_t)length)
							      : NULL;
}

static bool is_same_text(const char *left, const char *right)
{
	return left && right && strcmp(left, right) == 0;
}

static bool is_same_link(pid_t pid, const char *name)
{
	_cleanup_free_ char *theirs = read_link(pid, name), *ours = read_link(0, name);

	return is_same_text(theirs, ours);
}

/* Whether both texts have the same line that KEY starts (with the newline before it), or both none.
 */
static bool is_same_line(const char *left, const char *right, const char *key)
{
	const char *a = strstr(left, key), *b = strstr(right, key);
	size_t length;

	if (!a || !b)
		return a == b;
	length = 1 + strcspn(a + 1, "\n");
	return length == 1 + strcspn(b + 1, "\n") && memcmp(a, b, length) == 0;
}

bool gt_surroundings_can_be_seen(pid_t pid)
{
	_cleanup_free_ char *root = read_link(pid, "root");

	return root != NULL;
}

bool gt_surroundings_are_ours(pid_t pid)
{
	static const char *const links[] = {"cwd",    "root",	 "ns/mnt", "ns/pid",
					    "ns/net", "ns/user", "ns/ipc", "ns/uts"};
	static const char *const lines[] = {
		"\nUmask:",  "\nUid:",	      "\nGid:",	    "\nGroups:",
		"\nCapEff:", "\nNoNewPrivs:", "\nSeccomp:", "\nCpus_allowed:"};
	_cleanup_free_ char *status = read_proc(pid, "status"),
			    *our_status = read_proc(0, "status");
	_cleanup_free_ char *limits = read_proc(pid, "limits"),
			    *our_limits = read_proc(0, "limits");

	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (!is_same_link(pid, links[i]))
			return false;
	if (!status || !our_status || !is_same_text(limits, our_limits))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!is_same_line(status, our_status, lines[i]))
			return false;
	return true;
}

char *gt_surroundings_root(pid_t pid)
{
	_cleanup_free_ char *root = read_link(pid, "root");

	return root && strcmp(root, "/") != 0 ? GT_STEAL(root) : NULL;
}

bool gt_surroundings_share_file(pid_t pid, const char *path, const char *our_path)
{
	_cleanup_free_ char *inside = gt_format("/proc/%d/root%s", (int)pid, path);
	struct stat theirs, ours;

	return inside && stat(inside, &theirs) == 0 && stat(our_path, &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}
