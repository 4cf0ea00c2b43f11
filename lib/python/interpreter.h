/* SPDX-License-Identifier: MIT */
/*
 * Which Python a command really runs: through shims, symlinks and virtual environments to the ELF
 * file and the libpython that it maps.
 */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

struct gt_interpreter {
	char *program; /* what to exec, as argv[0] too: sys.executable, so that a venv stays one */
	char *executable; /* the ELF file that runs */
	char *library;	  /* the libpython that it maps, or NULL when that is linked in */
	char *version;	  /* "3.11.7" */
	/*
	 * The root directory that it runs in, NULL for our own; the paths are as we see them. Where
	 * what was called sets up more than an interpreter (a root, a user, limits), PROGRAM is
	 * that.
	 */
	char *root;
	bool is_gil_enabled; /* false: free-threaded, and its GIL is off as it is started now */
	/* The environment that a shim sets up for it, NULL-terminated; NULL: the caller's own. */
	char **environment;
};

struct gt_interpreter_request {
	const char *
		python; /* --python: a path, or a name to look for on PATH; NULL: python3 on PATH */
	const char *module; /* -m: must be there for it; NULL: not asked */
};

/*
 * Runs the interpreter once, to ask. Logs what is wrong and what to do. -ENOENT: no such program;
 * -EACCES: cannot be executed; -ENOPKG: no such module; -EOPNOTSUPP: Python 2, PyPy, or no Python
 * at all. The caller clears RET.
 */
int gt_interpreter_resolve(const struct gt_interpreter_request *request,
			   struct gt_interpreter *ret);
void gt_interpreter_clear(struct gt_interpreter *interpreter);

/* The file that has the GIL: the library, or the executable. */
static inline const char *gt_interpreter_gil_file(const struct gt_interpreter *interpreter)
{
	return interpreter->library ? interpreter->library : interpreter->executable;
}
