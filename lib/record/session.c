/* SPDX-License-Identifier: MIT */
#include "record/session.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/time.h"
#include "record/priority.h"
#include "record/target.h"

/*
 * How long rings are left alone. A busy CPU writes some 50 MB of GIL events a second, so that a
 * ring of 16 MiB holds out six times as long. Sources with less room say so.
 */
#define DRAIN_INTERVAL_MS 50

/* Those that end a program in an orderly way, and how long it has to do so by one of its own. */
static const int postponed_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
#define POSTPONEMENT_NS (250 * GT_NS_PER_MS)

struct gt_session {
	int signal_fd;
	int ended_by; /* a signal that came before there was a target to pass it on to; 0: none */
	uint64_t due_ns[ARRAY_SIZE(postponed_signals)]; /* when to pass it on; 0: it has not come */
	sigset_t old_mask;
	struct sigaction old_sigpipe, old_sigxfsz, old_sigchld;
};

int gt_session_new(struct gt_session **ret)
{
	_cleanup_(gt_session_freep) struct gt_session *session = calloc(1, sizeof(*session));
	struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};
	sigset_t watched;

	if (!session)
		return gt_error_oom();
	session->signal_fd = -1;
	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	for (size_t i = 0; gt_ending_signal(i) != 0; i++)
		sigaddset(&watched, gt_ending_signal(i));
	/* The kernel sends it to who writes too much, and so it is about us alone. */
	sigdelset(&watched, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &watched, &session->old_mask);
	/* A reader of our stderr that goes away must not take the probes' removal with it. */
	sigaction(SIGPIPE, &ignore, &session->old_sigpipe);
	/* Nor must a limit on the size of files: what cannot be written is an error like others. */
	sigaction(SIGXFSZ, &ignore, &session->old_sigxfsz);
	/* If it came to us ignored, there would be no exit status to wait for. */
	sigaction(SIGCHLD, &standard, &session->old_sigchld);
	session->signal_fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (session->signal_fd < 0)
		return gt_error_errno(-errno, "cannot watch for signals");
	*ret = GT_STEAL(session);
	return 0;
}

void gt_session_free(struct gt_session *session)
{
	if (!session)
		return;
	if (session->signal_fd >= 0)
		close(session->signal_fd);
	/* SIGPIPE and SIGXFSZ stay ignored: the report, too, is to be finished when nobody reads
	 * its messages, and to say what cannot be written. */
	sigaction(SIGCHLD, &session->old_sigchld, NULL);
	sigprocmask(SIG_SETMASK, &session->old_mask, NULL);
	if (session->ended_by)
		(void)raise(session->ended_by);
	free(session);
}

void gt_session_init_target(const struct gt_session *session, struct gt_target_spec *spec)
{
	spec->signal_mask = session->old_mask;
	spec->sigpipe = session->old_sigpipe;
	spec->sigxfsz = session->old_sigxfsz;
	spec->sigchld = session->old_sigchld;
}

/*
 * A signal that comes while everything is being set up ends giltrace, as soon as that is undone;
 * one that is ignored is queued all the same while it is blocked.
 */
static bool was_ended(struct gt_session *session)
{
	struct signalfd_siginfo info;
	struct sigaction action;

	while (read(session->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD ||
		    sigaction((int)info.ssi_signo, NULL, &action) < 0 ||
		    action.sa_handler == SIG_IGN)
			continue;
		session->ended_by = (int)info.ssi_signo;
	}
	return session->ended_by != 0;
}

/* Its index in postponed_signals, or their number. */
static size_t find_postponed(int signal_number)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(postponed_signals) && postponed_signals[i] != signal_number)
		i++;
	return i;
}

/*
 * Passes on the signals that were sent to us. What the terminal sends (SI_KERNEL), the whole
 * foreground group gets, the target too. What a process has sent may have been for the group as
 * well; nothing tells. A second interrupt would break off what a Python program does about the
 * first, so that one waits, and is left out if the target has ended by then.
 */
static void forward_signals(struct gt_session *session, const struct gt_target *target)
{
	struct signalfd_siginfo info;
	uint64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC);
	size_t i;

	while (read(session->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD || info.ssi_code > SI_USER)
			continue;
		i = find_postponed((int)info.ssi_signo);
		if (i == ARRAY_SIZE(postponed_signals))
			kill(gt_target_pid(target), (int)info.ssi_signo);
		else if (session->due_ns[i] == 0)
			session->due_ns[i] = now_ns + POSTPONEMENT_NS;
	}
	for (i = 0; i < ARRAY_SIZE(postponed_signals); i++) {
		if (session->due_ns[i] == 0 || now_ns < session->due_ns[i])
			continue;
		kill(gt_target_pid(target), postponed_signals[i]);
		session->due_ns[i] = 0;
	}
}

/*
 * Gives up the sources that cannot be written, so that one full disk makes one message. Gives the
 * milliseconds until the next drain.
 */
static int drain(struct gt_session_source *sources, uint32_t source_count)
{
	uint32_t rest_ms = DRAIN_INTERVAL_MS;

	for (uint32_t i = 0; i < source_count; i++) {
		struct gt_session_source *source = &sources[i];

		if (source->has_failed)
			continue;
		source->has_failed = source->drain(source->object) < 0;
		if (!source->has_failed)
			rest_ms = GT_MIN(rest_ms, source->rest_ms(source->object));
	}
	return (int)rest_ms;
}

static int drain_until_end(struct gt_session *session, struct gt_target *target,
			   struct gt_session_source *sources, uint32_t source_count,
			   int *ret_status)
{
	struct pollfd signals = {.fd = session->signal_fd, .events = POLLIN};
	int rest_ms = 0, r;

	for (;;) {
		if (poll(&signals, 1, rest_ms) < 0 && errno != EINTR)
			return gt_error_errno(-errno, "cannot wait for the target");
		forward_signals(session, target);
		rest_ms = drain(sources, source_count);
		r = gt_target_poll(target, ret_status);
		if (r < 0)
			return gt_error_errno(r, "cannot wait for the target");
		if (r > 0)
			return 0;
	}
}

int gt_session_run(struct gt_session *session, struct gt_target *target,
		   struct gt_session_source *sources, uint32_t source_count, int *ret_status)
{
	int r;

	if (was_ended(session))
		return -EINTR;
	r = gt_target_start(target);
	if (r < 0)
		return r;
	gt_priority_raise();
	r = drain_until_end(session, target, sources, source_count, ret_status);
	gt_priority_restore();
	return r;
}
