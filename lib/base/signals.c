/* SPDX-License-Identifier: MIT */
#include "base/signals.h"

#include <signal.h>

#include "base/macros.h"

int gt_ending_signal(size_t index)
{
	static const int signals[] = {
		SIGHUP,	   SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,	  SIGTERM,
		SIGSTKFLT, SIGXCPU, SIGXFSZ, SIGPROF, SIGPOLL, SIGVTALRM, SIGPWR,
	};

	if (index < ARRAY_SIZE(signals))
		return signals[index];
	index -= ARRAY_SIZE(signals);
	return index <= (size_t)(SIGRTMAX - SIGRTMIN) ? SIGRTMIN + (int)index : 0;
}
