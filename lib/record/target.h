/* SPDX-License-Identifier: MIT */
/*
 * The program under trace: forked, held until everything is open, then executed as if giltrace were
 * not there (its own stdin, stdout and stderr, arguments, environment, signal mask and
 * dispositions).
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/macros.h"

struct gt_target;

struct gt_target_spec {
	const char *program;
	char *const *argv;			    /* NULL-terminated; argv[0] included */
	char *const *environment;		    /* NULL-terminated */
	sigset_t signal_mask;			    /* that it starts with */
	struct sigaction sigpipe, sigxfsz, sigchld; /* likewise */
};

/* Forks. The child waits for gt_target_start(). SPEC must live until then. A negative errno
 * (logged). */
int gt_target_fork(const struct gt_target_spec *spec, struct gt_target **ret);

pid_t gt_target_pid(const struct gt_target *target);

/*
 * Lets the child call exec: 0 once the program runs, else why it does not (logged). The child is
 * gone then.
 */
int gt_target_start(struct gt_target *target);

/* 1 and the status of waitpid() if it has ended, 0 if it has not, or a negative errno. */
int gt_target_poll(struct gt_target *target, int *ret_status);

/* Frees TARGET. A child that has not been started ends; one that has been goes on. */
void gt_target_free(struct gt_target *target);
GT_DEFINE_CLEANUP(struct gt_target *, gt_target_free)
