/* SPDX-License-Identifier: MIT */
#include "base/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"

/* Trace directories, one in each, and outputs. */
#define MAX_PATHS 8

/* Static, because a signal handler cannot use what may be in the middle of a change. */
static char paths[MAX_PATHS][PATH_MAX];
static volatile sig_atomic_t is_used[MAX_PATHS];
static volatile sig_atomic_t process_group;

void gt_temporary_add(const char *path)
{
	if (strlen(path) >= PATH_MAX)
		return;
	for (size_t i = 0; i < MAX_PATHS; i++) {
		if (is_used[i])
			continue;
		strcpy(paths[i], path);
		is_used[i] = 1;
		return;
	}
}

void gt_temporary_forget(const char *path)
{
	for (size_t i = 0; i < MAX_PATHS; i++)
		if (is_used[i] && strcmp(paths[i], path) == 0)
			is_used[i] = 0;
}

void gt_temporary_set_group(pid_t group)
{
	process_group = group;
}

/* As readdir(), which is none of what a signal handler may call, would see it. */
static void empty_directory(const char *path)
{
	_Alignas(struct dirent64) char entries[4096];
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return;
	while ((size = getdents64(fd, entries, sizeof(entries))) > 0) {
		for (ssize_t i = 0; i < size;) {
			const struct dirent64 *entry = (const void *)(entries + i);

			(void)unlinkat(fd, entry->d_name, 0);
			i += entry->d_reclen;
		}
	}
	close(fd);
}

static void remove_path(const char *path)
{
	if (unlink(path) == 0)
		return;
	empty_directory(path);
	(void)rmdir(path);
}

static void remove_all_and_die(int signal_number)
{
	if (process_group > 0)
		(void)kill(-process_group, SIGKILL);
	for (size_t i = MAX_PATHS; i-- > 0;)
		if (is_used[i])
			remove_path(paths[i]);
	/* The disposition is back to the default (SA_RESETHAND). */
	(void)raise(signal_number);
}

void gt_temporary_remove_on_signals(void)
{
	struct sigaction action = {.sa_handler = remove_all_and_die, .sa_flags = (int)SA_RESETHAND};
	struct sigaction old;
	int signal_number;

	for (size_t i = 0; (signal_number = gt_ending_signal(i)) != 0; i++)
		if (sigaction(signal_number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			(void)sigaction(signal_number, &action, NULL);
}
