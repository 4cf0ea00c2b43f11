/* SPDX-License-Identifier: MIT */
/* What a Python says of itself: the answer of probes/python/identify.py. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The script, to be passed with -c; behind it the number of the descriptor on which it is to wait,
 * and the name of a module to look for, or nothing.
 */
extern const char gt_identity_script[];

/* Strings may hold any byte. */
struct gt_identity {
	char *version;	      /* "3.11.7" */
	char *implementation; /* "cpython", "pypy" … */
	char *program;	      /* sys.executable, "" when it does not know */
	char *executable;     /* what the kernel runs */
	char *library;	      /* the libpython that is mapped, "" for none */
	bool has_module;      /* the module that was asked for is there */
	bool is_gil_enabled;  /* false: free-threaded, and off */
	char **environment;   /* as it got it, NULL-terminated */
};

/*
 * Reads the answer from what the script wrote; others may have written before and behind it. The
 * caller clears RET. -ENODATA when there is no answer; -ENOMEM. Logs nothing.
 */
int gt_identity_parse(const char *output, size_t size, struct gt_identity *ret);
void gt_identity_clear(struct gt_identity *identity);

/* Frees a NULL-terminated array of strings, and the strings. */
void gt_environment_free(char **environment);
