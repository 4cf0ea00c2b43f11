/* SPDX-License-Identifier: MIT */
/*
 * Small macros that every folder uses: array sizes, minimum and maximum, alignment, and the cleanup
 * attributes that release a resource when its variable leaves the scope.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define GT_MIN(a, b)                                                                               \
	({                                                                                         \
		__typeof__(a) min_a_ = (a);                                                        \
		__typeof__(b) min_b_ = (b);                                                        \
		min_a_ < min_b_ ? min_a_ : min_b_;                                                 \
	})

#define GT_MAX(a, b)                                                                               \
	({                                                                                         \
		__typeof__(a) max_a_ = (a);                                                        \
		__typeof__(b) max_b_ = (b);                                                        \
		max_a_ > max_b_ ? max_a_ : max_b_;                                                 \
	})

/* Rounds up to a power of two. */
#define GT_ALIGN_UP(value, alignment)                                                              \
	(((value) + (alignment)-1) & ~((__typeof__(value))(alignment)-1))

#define _printf_(text, first) __attribute__((format(printf, text, first)))
#define _cleanup_(function) __attribute__((cleanup(function)))

/*
 * Defines FUNCTION##p for _cleanup_(): calls FUNCTION on the pointer that the variable holds, when
 * it holds one.
 */
#define GT_DEFINE_CLEANUP(type, function)                                                          \
	static inline void function##p(type *variable)                                             \
	{                                                                                          \
		if (*variable)                                                                     \
			function(*variable);                                                       \
	}

/* Gives the pointer away: its variable is NULL afterwards, and its cleanup does nothing. */
#define GT_STEAL(pointer)                                                                          \
	({                                                                                         \
		__typeof__(pointer) stolen_ = (pointer);                                           \
		(pointer) = NULL;                                                                  \
		stolen_;                                                                           \
	})

/* The same for a file descriptor. */
#define GT_STEAL_FD(fd)                                                                            \
	({                                                                                         \
		int stolen_fd_ = (fd);                                                             \
		(fd) = -1;                                                                         \
		stolen_fd_;                                                                        \
	})

static inline void gt_freep(void *variable)
{
	free(*(void **)variable);
}

static inline void gt_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

GT_DEFINE_CLEANUP(FILE *, fclose)
GT_DEFINE_CLEANUP(DIR *, closedir)

#define _cleanup_free_ _cleanup_(gt_freep)
#define _cleanup_close_ _cleanup_(gt_closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)
