/* SPDX-License-Identifier: MIT */
#include "python/interpreter.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "python/identity.h"
#include "python/program.h"
#include "python/surroundings.h"

/* A Python starts in 10 – 50 ms, behind a shim in 200 ms; a loaded machine may take longer. */
#define START_TIMEOUT_NS (10 * GT_NS_PER_SEC)

#define OLDEST_MINOR 6

#define NAME_ANOTHER "  name a CPython, 3.6 or newer, with --python"

static int find_program(const char *name, char **ret_path)
{
	int r = gt_program_find(name, ret_path);

	if (r == -ENOMEM)
		return gt_error_oom();
	if (r == -ENOENT) {
		gt_error("cannot find %s%s\n" NAME_ANOTHER, name,
			 strchr(name, '/') ? "" : " on PATH");
		return r;
	}
	if (r < 0) {
		gt_error("cannot execute %s: %s\n" NAME_ANOTHER, name, strerror(-r));
		return -EACCES;
	}
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int refuse_pypy(const char *path)
{
	gt_error("%s is PyPy, whose GIL is another\n" NAME_ANOTHER, path);
	return -EOPNOTSUPP;
}

static int refuse_old(const char *path, const char *version)
{
	gt_error("%s is Python %s: giltrace traces CPython 3.6 and newer\n" NAME_ANOTHER, path,
		 version);
	return -EOPNOTSUPP;
}

/*
 * What the file itself tells, before anything is run. Programs of other kinds may do anything when
 * they are called like a Python; but one that is named like it may be a launcher (mise, rye, Nix).
 */
static int check_elf(const char *path)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;
	int r;

	r = gt_elf_open(path, &elf);
	if (r < 0)
		return r == -ENOMEM ? r : -EOPNOTSUPP;
	if (gt_elf_needs(elf, "libpypy") || gt_elf_exports(elf, "pypy_main_startup"))
		return refuse_pypy(path);
	if (gt_elf_needs(elf, "libpython2") || gt_elf_exports(elf, "PyString_FromString"))
		return refuse_old(path, "2");
	if (gt_elf_needs(elf, "libpython") || gt_elf_exports(elf, "Py_BytesMain") ||
	    gt_elf_exports(elf, "Py_Main") || gt_elf_has_section(elf, ".PyRuntime") ||
	    gt_string_starts_with(base_name(path), "python"))
		return 0;
	gt_error("%s is not a Python\n" NAME_ANOTHER, path);
	return -EOPNOTSUPP;
}

/* The last lines with something in them, indented: the reason is seldom in the very last one. */
static char *last_lines(const char *text, size_t size)
{
	enum { LINES = 5 };
	_cleanup_free_ char *lines = strdup("");
	size_t end = size;

	for (uint32_t count = 0; lines && count < LINES && end > 0;) {
		_cleanup_free_ char *line = NULL, *longer = NULL;
		const char *newline = memrchr(text, '\n', end);
		size_t start = newline ? (size_t)(newline - text) + 1 : 0;

		line = gt_terminal_dup(text + start, end - start);
		if (!line)
			return NULL;
		end = newline ? start - 1 : 0;
		if (line[strspn(line, " ")] == '\0')
			continue;
		longer = gt_format("\n  %s%s", line, lines);
		if (!longer)
			return NULL;
		free(lines);
		lines = GT_STEAL(longer);
		count++;
	}
	return GT_STEAL(lines);
}

static int refuse_silent(const char *path, const struct gt_program_output *output)
{
	_cleanup_free_ char *said = NULL;

	said = last_lines(output->errors ? output->errors : "", output->errors_size);
	if (!said)
		return gt_error_oom();
	if (output->status == 0)
		gt_error("%s is not a Python: it does not answer like one%s\n" NAME_ANOTHER, path,
			 said);
	else if (WIFSIGNALED(output->status))
		gt_error("%s does not start: it was killed by signal %d%s\n" NAME_ANOTHER, path,
			 WTERMSIG(output->status), said);
	else
		gt_error("%s does not start as a Python does: exit status %d%s\n"
			 "  see that it runs by itself, or name another one with --python",
			 path, WEXITSTATUS(output->status), said);
	return -EOPNOTSUPP;
}

/* What the process that has answered shows of itself while it lives. */
struct sight {
	bool was_seen;
	bool is_ours;	   /* it is as a program would be that we start */
	bool is_elsewhere; /* its files are not the ones that we see under their names */
	char *root;	   /* NULL: ours */
};

static void sight_clear(struct sight *sight)
{
	free(sight->root);
}

static bool shares_file(pid_t pid, const char *root, const char *path)
{
	_cleanup_free_ char *our_path = NULL;

	if (path[0] == '\0')
		return true;
	our_path = gt_format("%s%s", root ? root : "", path);
	return our_path && gt_surroundings_share_file(pid, path, our_path);
}

static void look(pid_t pid, const char *output, size_t size, void *argument)
{
	_cleanup_(gt_identity_clear) struct gt_identity identity = {0};
	struct sight *sight = argument;

	if (pid <= 0 || !gt_surroundings_can_be_seen(pid) ||
	    gt_identity_parse(output, size, &identity) < 0)
		return;
	sight->was_seen = true;
	sight->is_ours = gt_surroundings_are_ours(pid);
	sight->root = gt_surroundings_root(pid);
	sight->is_elsewhere = !shares_file(pid, sight->root, identity.executable) ||
			      !shares_file(pid, sight->root, identity.library);
}

static int ask(const char *path, const char *module, struct gt_identity *ret, struct sight *sight)
{
	_cleanup_(gt_program_output_clear) struct gt_program_output output = {0};
	_cleanup_free_ char *hold = gt_format("%d", GT_PROGRAM_HOLD_FD);
	/* Modules that nobody asks for need no site-packages: without, it starts in half the time.
	 */
	const char *with_module[] = {path, "-c", gt_identity_script, hold, module, NULL};
	const char *without[] = {path, "-S", "-c", gt_identity_script, hold, NULL};
	int r;

	if (!hold)
		return gt_error_oom();
	r = gt_program_run((char *const *)(module ? with_module : without), START_TIMEOUT_NS, look,
			   sight, &output);
	if (r == -ENOMEM)
		return gt_error_oom();
	if (r == -ETIMEDOUT || r == -EFBIG) {
		gt_error("%s is not a Python: it does not answer like one (%s)\n" NAME_ANOTHER,
			 path, r == -EFBIG ? "it does not stop talking" : "nothing in 10 s");
		return -EOPNOTSUPP;
	}
	if (r == -EMFILE || r == -ENFILE) {
		gt_error("cannot execute %s: %s\n"
			 "  allow more of them: ulimit -n 1024",
			 path, strerror(-r));
		return -EACCES;
	}
	if (r < 0) {
		gt_error("cannot execute %s: %s\n" NAME_ANOTHER, path, strerror(-r));
		return -EACCES;
	}
	r = gt_identity_parse(output.output, output.output_size, ret);
	if (r == -ENOMEM)
		return gt_error_oom();
	return r < 0 ? refuse_silent(path, &output) : 0;
}

static int check_identity(const char *path, const struct gt_identity *identity)
{
	unsigned int major, minor;
	const char *deleted = NULL;

	if (strcmp(identity->implementation, "pypy") == 0)
		return refuse_pypy(path);
	if (strcmp(identity->implementation, "cpython") != 0) {
		gt_error("%s is %s, not CPython\n" NAME_ANOTHER, path, identity->implementation);
		return -EOPNOTSUPP;
	}
	if (sscanf(identity->version, "%u.%u.", &major, &minor) != 2 || major != 3 ||
	    minor < OLDEST_MINOR)
		return refuse_old(path, identity->version);
	/* The kernel's mark for a file that is no more where it was, or that another has replaced.
	 */
	if (gt_string_ends_with(identity->executable, " (deleted)"))
		deleted = identity->executable;
	else if (gt_string_ends_with(identity->library, " (deleted)"))
		deleted = identity->library;
	if (deleted && access(deleted, F_OK) < 0) {
		gt_error("%s is being replaced: %s\n  run giltrace again when that is done", path,
			 deleted);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* python -m a.b.c: whether a is there can be told without running anything of it. */
static int top_module(const char *module, char **ret)
{
	char *top = strndup(module, strcspn(module, "."));

	if (!top)
		return gt_error_oom();
	*ret = top;
	return 0;
}

static bool is_same_file(const char *left, const char *right)
{
	struct stat a, b;

	return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Puts ROOT before a path that was seen from inside. */
static int move_out(const char *root, char **path)
{
	char *outside;

	if (!*path)
		return 0;
	outside = gt_format("%s%s", root, *path);
	if (!outside)
		return gt_error_oom();
	free(*path);
	*path = outside;
	return 0;
}

/*
 * An interpreter whose wrapper has done more than to choose it: the wrapper is run then, and sets
 * up whatever it does.
 */
static int settle_wrapped(char **path, struct sight *sight, struct gt_interpreter *interpreter)
{
	int r;

	free(interpreter->program);
	interpreter->program = GT_STEAL(*path);
	gt_environment_free(interpreter->environment);
	interpreter->environment = NULL;
	if (!sight->root)
		return 0;
	interpreter->root = GT_STEAL(sight->root);
	r = move_out(interpreter->root, &interpreter->executable);
	return r < 0 ? r : move_out(interpreter->root, &interpreter->library);
}

static int refuse_elsewhere(const char *path, const struct gt_identity *identity)
{
	gt_error(
		"%s runs %s in a mount namespace of its own, where that is another file than here\n"
		"  run giltrace inside of it",
		path, identity->executable);
	return -EOPNOTSUPP;
}

/* Fills RET from what PATH said, and takes the strings over. */
static void settle(char **path, struct gt_identity *identity, struct gt_interpreter *ret)
{
	*ret = (struct gt_interpreter){
		.executable = GT_STEAL(identity->executable),
		.version = GT_STEAL(identity->version),
		.is_gil_enabled = identity->is_gil_enabled,
	};
	if (identity->library[0] != '\0')
		ret->library = GT_STEAL(identity->library);
	ret->program = identity->program[0] != '\0' ? GT_STEAL(identity->program) : strdup(*path);
	/* What was called is a shim, which may have set up more than a path. */
	if (!is_same_file(*path, ret->executable))
		ret->environment = GT_STEAL(identity->environment);
}

int gt_interpreter_resolve(const struct gt_interpreter_request *request, struct gt_interpreter *ret)
{
	_cleanup_(gt_identity_clear) struct gt_identity identity = {0};
	_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};
	_cleanup_(sight_clear) struct sight sight = {0};
	_cleanup_free_ char *path = NULL, *module = NULL;
	int r;

	if (request->module) {
		r = top_module(request->module, &module);
		if (r < 0)
			return r;
	}
	r = find_program(request->python ? request->python : "python3", &path);
	if (r < 0)
		return r;
	if (gt_elf_is_elf(path)) {
		r = check_elf(path);
		if (r < 0)
			return r;
	}
	r = ask(path, module, &identity, &sight);
	if (r < 0)
		return r;
	r = check_identity(path, &identity);
	if (r < 0)
		return r;
	if (sight.is_elsewhere)
		return refuse_elsewhere(path, &identity);
	if (module && !identity.has_module) {
		gt_error("no module named %s\n"
			 "  install it for %s, or name another Python with --python",
			 request->module, identity.program[0] ? identity.program : path);
		return -ENOPKG;
	}
	settle(&path, &identity, &interpreter);
	if (!interpreter.program)
		return gt_error_oom();
	if (sight.was_seen && !sight.is_ours) {
		r = settle_wrapped(&path, &sight, &interpreter);
		if (r < 0)
			return r;
	}
	*ret = interpreter;
	interpreter = (struct gt_interpreter){0};
	return 0;
}

void gt_interpreter_clear(struct gt_interpreter *interpreter)
{
	free(interpreter->program);
	free(interpreter->executable);
	free(interpreter->library);
	free(interpreter->version);
	free(interpreter->root);
	gt_environment_free(interpreter->environment);
	*interpreter = (struct gt_interpreter){0};
}
