/* SPDX-License-Identifier: MIT */
#include "python/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/temporary.h"
#include "base/time.h"

/* An environment alone may be 2 MiB and more. */
#define MAX_OUTPUT_BYTES ((size_t)32 << 20)

static int check_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

static int find_in_path(const char *name, const char *folders, char **ret_path)
{
	int worst = -ENOENT;

	for (;;) {
		size_t length = strcspn(folders, ":");
		/* An empty entry is the current folder. */
		_cleanup_free_ char *path =
			gt_format("%.*s%s%s", (int)length, folders, length ? "/" : "./", name);
		int r;

		if (!path)
			return -ENOMEM;
		r = check_executable(path);
		if (r == 0) {
			*ret_path = GT_STEAL(path);
			return 0;
		}
		if (r == -EACCES)
			worst = r;
		if (folders[length] == '\0')
			return worst;
		folders += length + 1;
	}
}

int gt_program_find(const char *name, char **ret_path)
{
	const char *folders = getenv("PATH");
	char *path;
	int r;

	if (name[0] == '\0')
		return -ENOENT;
	if (!strchr(name, '/'))
		/* The fallback is what execvp has in glibc. */
		return find_in_path(name, folders ? folders : "/bin:/usr/bin", ret_path);
	r = check_executable(name);
	if (r < 0)
		return r;
	path = strdup(name);
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	return 0;
}

/* What has come out of one pipe so far. */
struct stream {
	int fd; /* -1: ended */
	char *text;
	size_t size, capacity;
};

struct run {
	struct stream output, errors;
	pid_t pid; /* 0: none, or it has been waited for */
	int status;
	int hold_fd; /* to be closed when the listener has heard all */
	pid_t peer;  /* the process that waits for that; 0: not known */
	gt_program_listener listener;
	void *listener_argument;
};

static void run_clear(struct run *run)
{
	if (run->pid > 0) {
		/* With what it has started: a shim waits for its program. */
		kill(-run->pid, SIGKILL);
		while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	gt_closep(&run->hold_fd);
	gt_closep(&run->output.fd);
	gt_closep(&run->errors.fd);
	free(run->output.text);
	free(run->errors.text);
}

/* Takes what there is, without waiting. -EAGAIN when that is all for now; 0 at the end. */
static int drain(struct stream *stream)
{
	while (stream->fd >= 0) {
		ssize_t n;

		if (stream->capacity - stream->size < 2) {
			size_t bigger = stream->capacity ? stream->capacity * 2 : 8192;
			char *moved;

			if (bigger > MAX_OUTPUT_BYTES)
				return -EFBIG;
			moved = realloc(stream->text, bigger);
			if (!moved)
				return -ENOMEM;
			stream->text = moved;
			stream->capacity = bigger;
		}
		n = read(stream->fd, stream->text + stream->size,
			 stream->capacity - stream->size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		stream->size += (size_t)n;
		stream->text[stream->size] = '\0';
		if (n == 0) {
			close(stream->fd);
			stream->fd = -1;
		}
	}
	return 0;
}

static int drain_both(struct run *run)
{
	int r;

	r = drain(&run->output);
	if (r < 0 && r != -EAGAIN)
		return r;
	r = drain(&run->errors);
	return r == -EAGAIN ? 0 : r;
}

/* True when the program has ended, or is none of ours any more. */
static bool reap(struct run *run)
{
	pid_t pid = waitpid(run->pid, &run->status, WNOHANG);

	if (pid == 0 || (pid < 0 && errno == EINTR))
		return false;
	run->pid = 0;
	return true;
}

/*
 * Who has written to the hold: the kernel says it, in our numbers, because of SO_PASSCRED. False
 * while nobody has.
 */
static bool receive_pid(struct run *run)
{
	char byte;
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr header; /* for its alignment */
	} control;
	struct iovec data = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *header;
	struct ucred peer;

	if (recvmsg(run->hold_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
		memcpy(&peer, CMSG_DATA(header), sizeof(peer));
		run->peer = peer.pid;
	}
	return true;
}

/* What was said before the byte on the hold is all there by now. */
static void hear_out(struct run *run)
{
	(void)drain_both(run);
	if (run->listener)
		run->listener(run->peer, run->output.text ? run->output.text : "", run->output.size,
			      run->listener_argument);
	close(run->hold_fd);
	run->hold_fd = -1;
}

/*
 * Until the program has ended: the end of its output alone would not do, as something that it has
 * started, and left behind, may keep that open.
 */
static int listen_until_end(struct run *run, uint64_t timeout_ns)
{
	uint64_t deadline = gt_clock_ns(CLOCK_MONOTONIC) + timeout_ns;

	for (;;) {
		struct pollfd polled[] = {{.fd = run->output.fd, .events = POLLIN},
					  {.fd = run->errors.fd, .events = POLLIN},
					  {.fd = run->hold_fd, .events = POLLIN}};
		bool silent = run->output.fd < 0 && run->errors.fd < 0;
		bool ended;
		int r;

		/* Both ended, it is about to: look again soon. */
		if (poll(polled, ARRAY_SIZE(polled), silent ? 1 : 50) < 0 && errno != EINTR)
			return -errno;
		ended = reap(run);
		r = drain_both(run);
		if (r < 0 || ended)
			return r;
		if (run->hold_fd >= 0 && receive_pid(run))
			hear_out(run);
		if (gt_clock_ns(CLOCK_MONOTONIC) >= deadline)
			return -ETIMEDOUT;
	}
}

/* posix_spawn's own calls give an errno, positive. The files and attributes are set up by the
 * caller. */
static int prepare(posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes, int output,
		   int errors, int hold)
{
	sigset_t all, none;
	int r;

	sigfillset(&all);
	sigemptyset(&none);
	r = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(files, errors, STDERR_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(files, hold, GT_PROGRAM_HOLD_FD);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attributes, &all);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attributes, &none);
	/* A group of its own, to be ended as one. */
	if (r == 0)
		r = posix_spawnattr_setpgroup(attributes, 0);
	if (r == 0)
		r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF |
								 POSIX_SPAWN_SETSIGMASK |
								 POSIX_SPAWN_SETPGROUP);
	return -r;
}

static int spawn(struct run *run, char *const arguments[], int output, int errors, int hold)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int r;

	r = -posix_spawn_file_actions_init(&files);
	if (r < 0)
		return r;
	r = -posix_spawnattr_init(&attributes);
	if (r < 0) {
		posix_spawn_file_actions_destroy(&files);
		return r;
	}
	r = prepare(&files, &attributes, output, errors, hold);
	if (r == 0)
		r = -posix_spawn(&run->pid, arguments[0], &files, &attributes, arguments, environ);
	/* Above the limit, the number that a file is to get is a bad one. */
	if (r == -EBADF)
		r = -EMFILE;
	if (r < 0)
		run->pid = 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

/* Opens a pipe that does not block here, and blocks for the program. */
static int open_stream(struct stream *stream, int *ret_writer)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	stream->fd = fds[0];
	*ret_writer = fds[1];
	return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int start(struct run *run, char *const arguments[])
{
	_cleanup_close_ int output = -1, errors = -1, hold = -1;
	int fds[2], yes = 1, r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	hold = fds[0];
	run->hold_fd = fds[1];
	if (setsockopt(run->hold_fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0)
		return -errno;
	r = open_stream(&run->output, &output);
	if (r < 0)
		return r;
	r = open_stream(&run->errors, &errors);
	if (r < 0)
		return r;
	return spawn(run, arguments, output, errors, hold);
}

int gt_program_run(char *const arguments[], uint64_t timeout_ns, gt_program_listener listener,
		   void *listener_argument, struct gt_program_output *ret)
{
	_cleanup_(run_clear) struct run run = {
		.output = {.fd = -1},
		.errors = {.fd = -1},
		.hold_fd = -1,
		.listener = listener,
		.listener_argument = listener_argument,
	};
	int r;

	r = start(&run, arguments);
	if (r < 0)
		return r;
	gt_temporary_set_group(run.pid);
	r = listen_until_end(&run, timeout_ns);
	gt_temporary_set_group(0);
	if (r < 0)
		return r;
	*ret = (struct gt_program_output){
		.output = GT_STEAL(run.output.text),
		.output_size = run.output.size,
		.errors = GT_STEAL(run.errors.text),
		.errors_size = run.errors.size,
		.status = run.status,
	};
	return 0;
}

void gt_program_output_clear(struct gt_program_output *output)
{
	free(output->output);
	free(output->errors);
	*output = (struct gt_program_output){0};
}
