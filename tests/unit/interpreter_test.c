/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/strings.h"
#include "elf/elf_file.h"
#include "python/identity.h"
#include "python/interpreter.h"
#include "python/program.h"

/* A folder whose name is as hostile as a path may be: a blank, quotes, a newline, no UTF-8. */
static char folder[] = "/tmp/giltrace \"test'\n\xff-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *level)
{
	(void)status;
	(void)type;
	(void)level;
	return remove(path);
}

static int remove_folder(void **state)
{
	(void)state;
	return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file in the folder; the caller frees its path. */
static char *write_file(const char *name, const char *text, mode_t mode)
{
	char *path = gt_format("%s/%s", folder, name);
	_cleanup_fclose_ FILE *file = NULL;

	assert_non_null(path);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fchmod(fileno(file), mode), 0);
	return path;
}

static int resolve(const char *python, const char *module, struct gt_interpreter *ret)
{
	struct gt_interpreter_request request = {.python = python, .module = module};

	*ret = (struct gt_interpreter){0};
	return gt_interpreter_resolve(&request, ret);
}

static void check_refused(const char *python, const char *module, int expected)
{
	struct gt_interpreter interpreter;

	assert_int_equal(resolve(python, module, &interpreter), expected);
	assert_null(interpreter.program);
	assert_null(interpreter.executable);
}

/* Some CPython that is no shim, of the machine's own or of pyenv; skips where there is none. */
static char *any_python(void)
{
	static const char *const places[] = {"/usr/bin/python3", "/usr/local/bin/python3"};
	_cleanup_free_ char *pattern = NULL;
	const char *home = getenv("HOME");
	char *path = NULL;
	glob_t found;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (access(places[i], X_OK) == 0)
			return strdup(places[i]);
	pattern = gt_format("%s/.pyenv/versions/3.*/bin/python3", home ? home : "");
	assert_non_null(pattern);
	if (glob(pattern, 0, NULL, &found) == 0) {
		path = strdup(found.gl_pathv[0]);
		globfree(&found);
		return path;
	}
	print_message("no Python in /usr/bin, /usr/local/bin or pyenv's folder\n");
	skip();
	return NULL;
}

/* What holds for every Python: its files are there, and the GIL's code is in one of them. */
static void check_interpreter(const struct gt_interpreter *interpreter)
{
	_cleanup_(gt_elf_closep) struct gt_elf *elf = NULL;

	assert_true(gt_elf_is_elf(interpreter->executable));
	assert_int_equal(access(interpreter->program, X_OK), 0);
	assert_true(gt_string_starts_with(interpreter->version, "3."));
	assert_int_equal(gt_elf_open(gt_interpreter_gil_file(interpreter), &elf), 0);
	assert_true(gt_elf_exports(elf, "Py_BytesMain") || gt_elf_exports(elf, "Py_Main"));
}

static void test_plain_python(void **state)
{
	_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};
	_cleanup_free_ char *python = any_python();

	(void)state;
	assert_int_equal(resolve(python, NULL, &interpreter), 0);
	check_interpreter(&interpreter);
	assert_string_equal(interpreter.program, python);
	assert_null(interpreter.environment);
}

static void test_every_pyenv_python(void **state)
{
	const char *home = getenv("HOME");
	_cleanup_free_ char *pattern = NULL;
	glob_t found;

	(void)state;
	pattern = gt_format("%s/.pyenv/versions/*/bin/python", home ? home : "");
	assert_non_null(pattern);
	if (glob(pattern, 0, NULL, &found) != 0) {
		print_message("nothing matches %s\n", pattern);
		skip();
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};
		const char *python = found.gl_pathv[i];
		_cleanup_free_ char *in_path = NULL;

		if (strstr(python, "/versions/2.") || strstr(python, "/versions/pypy")) {
			check_refused(python, NULL, -EOPNOTSUPP);
			continue;
		}
		if (resolve(python, "json.tool", &interpreter) < 0)
			fail_msg("%s is refused", python);
		check_interpreter(&interpreter);
		/* Versions are folders: …/versions/3.11.7/bin/python. */
		in_path = gt_format("/versions/%s/", interpreter.version);
		assert_non_null(strstr(python, in_path));
		assert_non_null(strstr(interpreter.executable, in_path));
	}
	globfree(&found);
}

static void test_link_stays_what_is_called(void **state)
{
	_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};
	_cleanup_free_ char *python = any_python(), *link = gt_format("%s/py", folder);

	(void)state;
	assert_int_equal(symlink(python, link), 0);
	assert_int_equal(resolve(link, NULL, &interpreter), 0);
	check_interpreter(&interpreter);
	assert_string_equal(interpreter.program, link);
	assert_null(interpreter.environment);
}

/* A link and a file that says where the link comes from are all that makes a virtual environment.
 */
static void test_virtual_environment_stays_one(void **state)
{
	_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};
	_cleanup_free_ char *python = any_python(), *bin = gt_format("%s/venv", folder);
	_cleanup_free_ char *inner = gt_format("%s/venv/python", folder), *text = NULL;

	(void)state;
	assert_int_equal(mkdir(bin, 0755), 0);
	text = gt_format("home = %.*s\n", (int)(strrchr(python, '/') - python), python);
	free(write_file("venv/pyvenv.cfg", text, 0644));
	assert_int_equal(symlink(python, inner), 0);
	assert_int_equal(resolve(inner, NULL, &interpreter), 0);
	check_interpreter(&interpreter);
	assert_string_equal(interpreter.program, inner);
	assert_string_not_equal(interpreter.executable, inner);
	assert_null(interpreter.environment);
}

static void test_shim_gives_its_environment(void **state)
{
	_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};
	_cleanup_free_ char *python = any_python(), *text = NULL, *shim = NULL;
	bool found = false;

	(void)state;
	text = gt_format("#!/bin/sh\necho noise; GILTRACE_SHIM='a\nb \xfe' exec %s \"$@\"\n",
			 python);
	shim = write_file("shim", text, 0755);
	assert_int_equal(resolve(shim, NULL, &interpreter), 0);
	check_interpreter(&interpreter);
	assert_string_equal(interpreter.program, python);
	assert_non_null(interpreter.environment);
	for (char **variable = interpreter.environment; *variable; variable++)
		found = found || strcmp(*variable, "GILTRACE_SHIM=a\nb \xfe") == 0;
	assert_true(found);
}

/* A wrapper that does more than to choose an interpreter is what has to be run. */
static void test_wrapper_with_effects_is_kept(void **state)
{
	static const char *const effects[] = {"ulimit -n 77", "cd /usr", "umask 077"};
	_cleanup_free_ char *python = any_python();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(effects); i++) {
		_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};
		_cleanup_free_ char *text = NULL, *wrapper = NULL;

		text = gt_format("#!/bin/sh\n%s\nexec %s \"$@\"\n", effects[i], python);
		wrapper = write_file("wrapper", text, 0755);
		assert_int_equal(resolve(wrapper, NULL, &interpreter), 0);
		check_interpreter(&interpreter);
		assert_string_equal(interpreter.program, wrapper);
		assert_null(interpreter.environment);
		assert_null(interpreter.root);
	}
}

static void test_python3_on_path(void **state)
{
	_cleanup_free_ char *python = any_python(), *link = gt_format("%s/python3", folder);
	_cleanup_free_ char *saved = strdup(getenv("PATH")), *path = NULL;
	_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};

	(void)state;
	path = gt_format("/no/such/folder:%s:/bin", folder);
	assert_int_equal(symlink(python, link), 0);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_int_equal(resolve(NULL, NULL, &interpreter), 0);
	assert_string_equal(interpreter.program, link);
	assert_int_equal(setenv("PATH", "/no/such/folder", 1), 0);
	check_refused(NULL, NULL, -ENOENT);
	assert_int_equal(setenv("PATH", saved, 1), 0);
	assert_int_equal(unlink(link), 0);
}

static void test_modules(void **state)
{
	_cleanup_(gt_interpreter_clear) struct gt_interpreter interpreter = {0};
	_cleanup_free_ char *python = any_python(), *local = NULL, *saved = NULL;

	(void)state;
	check_refused(python, "no_such_module_here", -ENOPKG);
	check_refused(python, "no_such_module_here.part", -ENOPKG);
	check_refused(python, "", -ENOPKG);
	check_refused(python, ".relative", -ENOPKG);
	/* In the current folder, as python -m finds it; looked for, but not imported. */
	local = write_file("giltrace_local.py", "raise SystemExit(3)\n", 0644);
	free(write_file("os.py", "raise SystemExit(4)\n", 0644));
	saved = realpath(".", NULL);
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(resolve(python, "giltrace_local", &interpreter), 0);
	assert_int_equal(chdir(saved), 0);
}

static void test_what_cannot_be_executed(void **state)
{
	_cleanup_free_ char *plain = write_file("plain", "print()\n", 0644);
	_cleanup_free_ char *garbage = write_file("garbage", "\x01\x02", 0755);

	(void)state;
	check_refused("giltrace-no-such-python", NULL, -ENOENT);
	check_refused("/no/such/python", NULL, -ENOENT);
	check_refused("", NULL, -ENOENT);
	check_refused("/", NULL, -EACCES);
	check_refused(plain, NULL, -EACCES);
	check_refused(garbage, NULL, -EACCES);
}

static void test_what_is_no_python(void **state)
{
	_cleanup_free_ char *hello = write_file("hello", "#!/bin/sh\necho hello\n", 0755);
	_cleanup_free_ char *fails = write_file("fails", "#!/bin/sh\nexit 3\n", 0755);
	_cleanup_free_ char *dies = write_file("dies", "#!/bin/sh\nkill -9 $$\n", 0755);
	_cleanup_free_ char *talks = write_file("talks", "#!/bin/sh\nexec cat /dev/zero\n", 0755);

	(void)state;
	check_refused("/bin/ls", NULL, -EOPNOTSUPP);
	check_refused(hello, NULL, -EOPNOTSUPP);
	check_refused(fails, NULL, -EOPNOTSUPP);
	check_refused(dies, NULL, -EOPNOTSUPP);
	check_refused(talks, NULL, -EOPNOTSUPP);
}

static void test_python_that_does_not_start(void **state)
{
	_cleanup_free_ char *python = any_python(), *text = NULL, *shim = NULL;

	(void)state;
	text = gt_format("#!/bin/sh\nPYTHONHOME=/no/such/folder exec %s \"$@\"\n", python);
	shim = write_file("homeless", text, 0755);
	check_refused(shim, NULL, -EOPNOTSUPP);
}

static void test_program_is_ended_in_time(void **state)
{
	_cleanup_(gt_program_output_clear) struct gt_program_output output = {0};
	char *const sleeper[] = {(char *)"/bin/sh", (char *)"-c", (char *)"sleep 60; :", NULL};
	/* What is left running must not be waited for. */
	char *const leaver[] = {(char *)"/bin/sh", (char *)"-c", (char *)"sleep 5 & echo left",
				NULL};

	(void)state;
	assert_int_equal(gt_program_run(sleeper, UINT64_C(100000000), NULL, NULL, &output),
			 -ETIMEDOUT);
	assert_int_equal(gt_program_run(leaver, UINT64_C(4000000000), NULL, NULL, &output), 0);
	assert_string_equal(output.output, "left\n");
	assert_int_equal(output.status, 0);
}

static void check_no_answer(const char *text, size_t size)
{
	struct gt_identity identity = {0};

	assert_int_equal(gt_identity_parse(text, size, &identity), -ENODATA);
	assert_null(identity.version);
}

static void test_answers_are_checked(void **state)
{
	static const char answer[] = "noise\ngiltrace-identity 1\n"
				     "3.11.7\0cpython\0/a b\0/c\0\0yes\0"
				     "no\0"
				     "8\0A=1\0B=\n\0\ngiltrace-identity end\nnoise";
	_cleanup_(gt_identity_clear) struct gt_identity identity = {0};
	size_t size = sizeof(answer) - 1;

	(void)state;
	assert_int_equal(gt_identity_parse(answer, size, &identity), 0);
	assert_string_equal(identity.version, "3.11.7");
	assert_string_equal(identity.program, "/a b");
	assert_string_equal(identity.executable, "/c");
	assert_string_equal(identity.library, "");
	assert_true(identity.has_module);
	assert_false(identity.is_gil_enabled);
	assert_string_equal(identity.environment[0], "A=1");
	assert_string_equal(identity.environment[1], "B=\n");
	assert_null(identity.environment[2]);
	/* Cut off anywhere before the end of its last line. */
	for (size_t left = 0; left < size - strlen("noise"); left++)
		check_no_answer(answer, left);
	check_no_answer(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_python),
		cmocka_unit_test(test_every_pyenv_python),
		cmocka_unit_test(test_link_stays_what_is_called),
		cmocka_unit_test(test_virtual_environment_stays_one),
		cmocka_unit_test(test_shim_gives_its_environment),
		cmocka_unit_test(test_wrapper_with_effects_is_kept),
		cmocka_unit_test(test_python3_on_path),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_what_cannot_be_executed),
		cmocka_unit_test(test_what_is_no_python),
		cmocka_unit_test(test_python_that_does_not_start),
		cmocka_unit_test(test_program_is_ended_in_time),
		cmocka_unit_test(test_answers_are_checked),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
