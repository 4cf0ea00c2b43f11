/* SPDX-License-Identifier: MIT */
/* Programs: finding one as the shell does, and running one to hear what it says. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The file that NAME runs: the path itself when it has a slash, else the first executable file of
 * that name in the folders of PATH. The caller frees *RET_PATH. -ENOENT; -EACCES when there is one,
 * but it cannot be executed; -EISDIR; -ENOMEM. Logs nothing.
 */
int gt_program_find(const char *name, char **ret_path);

/* What a program said, and how it ended. */
struct gt_program_output {
	char *output; /* its standard output, with a NUL behind it */
	size_t output_size;
	char *errors; /* its standard error, likewise */
	size_t errors_size;
	int status; /* as waitpid gives it */
};

/*
 * An open socket in the program: once it has written a byte there, behind its answer, it can wait
 * for us to close the other end.
 */
#define GT_PROGRAM_HOLD_FD 63

/*
 * Told what the program has said, and which process it was, by our numbers, whatever namespace that
 * is in (0: it cannot be seen from here). The process lives, and waits, until this returns.
 */
typedef void (*gt_program_listener)(pid_t pid, const char *output, size_t size, void *argument);

/*
 * Runs the file ARGUMENTS[0] with the caller's environment and with nothing to read, until it ends.
 * The caller clears RET. -ETIMEDOUT when that takes longer than TIMEOUT_NS: it has been killed
 * then; -EFBIG when it says more than a program that answers a question would; else a negative
 * errno: it cannot be started. Logs nothing.
 */
int gt_program_run(char *const arguments[], uint64_t timeout_ns, gt_program_listener listener,
		   void *listener_argument, struct gt_program_output *ret);
void gt_program_output_clear(struct gt_program_output *output);
