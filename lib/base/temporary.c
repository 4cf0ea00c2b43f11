/* SPDX-License-Identifier: MIT */
#include "base/temporary.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"

/* A trace directory, its files, and an output. */
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

static void remove_all_and_die(int signal_number)
{
	if (process_group > 0)
		(void)kill(-process_group, SIGKILL);
	for (size_t i = MAX_PATHS; i-- > 0;)
		if (is_used[i] && unlink(paths[i]) < 0)
			(void)rmdir(paths[i]);
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
