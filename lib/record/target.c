/* SPDX-License-Identifier: MIT */
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/signals.h"

struct gt_target {
	pid_t pid;
	int release_fd; /* a byte lets the child go; end of file ends it */
	int error_fd;	/* errno of a failed exec; end of file after a good one */
	bool started, ended;
	char *program;
};

static ssize_t read_retrying(int fd, void *data, size_t size)
{
	ssize_t n;

	do
		n = read(fd, data, size);
	while (n < 0 && errno == EINTR);
	return n;
}

static _Noreturn void run_child(const struct gt_target_spec *spec, int hold_fd, int error_fd)
{
	char byte;
	int err;

	if (read_retrying(hold_fd, &byte, 1) != 1)
		_exit(125);
	/* Giltrace's own handlers are not the child's: they would remove what the parent records.
	 */
	for (size_t i = 0; gt_ending_signal(i) != 0; i++) {
		struct sigaction action;

		if (sigaction(gt_ending_signal(i), NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			(void)signal(gt_ending_signal(i), SIG_DFL);
	}
	sigaction(SIGPIPE, &spec->sigpipe, NULL);
	/* Where it was a handler, exec makes it the default. */
	sigaction(SIGXFSZ, &spec->sigxfsz, NULL);
	sigaction(SIGCHLD, &spec->sigchld, NULL);
	sigprocmask(SIG_SETMASK, &spec->signal_mask, NULL);
	execve(spec->program, spec->argv, spec->environment);
	err = errno;
	(void)gt_write_all(error_fd, &err, sizeof(err));
	_exit(126);
}

int gt_target_fork(const struct gt_target_spec *spec, struct gt_target **ret)
{
	_cleanup_(gt_target_freep) struct gt_target *target = calloc(1, sizeof(*target));
	int hold[2], error[2];

	if (!target)
		return gt_error_oom();
	target->release_fd = target->error_fd = -1;
	target->program = strdup(spec->program);
	if (!target->program)
		return gt_error_oom();
	if (pipe2(hold, O_CLOEXEC) < 0)
		return gt_error_errno(-errno, "cannot make a pipe");
	if (pipe2(error, O_CLOEXEC) < 0) {
		int r = gt_error_errno(-errno, "cannot make a pipe");

		close(hold[0]);
		close(hold[1]);
		return r;
	}

	target->pid = fork();
	if (target->pid == 0) {
		close(hold[1]);
		close(error[0]);
		run_child(spec, hold[0], error[1]);
	}
	close(hold[0]);
	close(error[1]);
	target->release_fd = hold[1];
	target->error_fd = error[0];
	if (target->pid < 0)
		return gt_error_errno(-errno, "cannot fork");
	*ret = GT_STEAL(target);
	return 0;
}

pid_t gt_target_pid(const struct gt_target *target)
{
	return target->pid;
}

int gt_target_start(struct gt_target *target)
{
	int err, r;

	r = gt_write_all(target->release_fd, "", 1);
	if (r < 0)
		return gt_error_errno(r, "cannot start %s", target->program);
	target->started = true;
	if (read_retrying(target->error_fd, &err, sizeof(err)) == (ssize_t)sizeof(err))
		return gt_error_errno(-err, "cannot execute %s", target->program);
	return 0;
}

int gt_target_poll(struct gt_target *target, int *ret_status)
{
	pid_t pid = waitpid(target->pid, ret_status, WNOHANG);

	if (pid < 0)
		return errno == EINTR ? 0 : -errno;
	if (pid > 0)
		target->ended = true;
	return pid > 0;
}

void gt_target_free(struct gt_target *target)
{
	if (!target)
		return;
	if (target->release_fd >= 0)
		close(target->release_fd);
	if (target->error_fd >= 0)
		close(target->error_fd);
	if (target->pid > 0 && !target->started)
		(void)waitpid(target->pid, NULL, 0);
	free(target->program);
	free(target);
}
