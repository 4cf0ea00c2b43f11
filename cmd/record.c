/* SPDX-License-Identifier: MIT */
/* giltrace record: runs the target once, with everything that is recorded of it, into a directory.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/time.h"
#include "cmd/capture.h"
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "cmd/probe_choice.h"
#include "cmd/state_choice.h"
#include "cmd/trace_directory.h"
#include "cmd/traced_python.h"
#include "cmd/verbs.h"
#include "record/meta.h"
#include "record/session.h"
#include "record/target.h"

/* Python would find it out too, but only when everything has been set up and recorded. */
static int check_script(const char *script)
{
	_cleanup_free_ char *main_path = NULL;
	struct stat status;
	int err;

	if (!script || strcmp(script, "-") == 0)
		return 0;
	if (stat(script, &status) < 0 || access(script, R_OK) < 0) {
		err = -errno;
		gt_error_errno(err, "cannot run %s\n  %s", script,
			       gt_options_is_verb(script)
				       ? "a verb goes before the options"
				       : "give the path of a script, -m MODULE or -c CODE");
		/* A file in place of a folder on the way is as good as nothing there. */
		return err == -ENOTDIR ? -ENOENT : err;
	}
	if (!S_ISDIR(status.st_mode))
		return 0;
	main_path = gt_format("%s/__main__.py", script);
	if (!main_path)
		return gt_error_oom();
	if (access(main_path, R_OK) == 0)
		return 0;
	gt_error("cannot run %s: it is a directory without a __main__.py", script);
	return -EACCES;
}

/* The target's arguments, NULL-terminated; the caller frees the list. NULL when out of memory. */
static char **target_arguments(const struct gt_options *options, const char *program)
{
	size_t count = 0, used = 0;
	char **arguments;

	while (options->arguments[count])
		count++;
	arguments = calloc(count + 5, sizeof(*arguments));
	if (!arguments)
		return NULL;
	arguments[used++] = (char *)program;
	if (options->module) {
		arguments[used++] = (char *)"-m";
		arguments[used++] = (char *)options->module;
	} else if (options->code) {
		arguments[used++] = (char *)"-c";
		arguments[used++] = (char *)options->code;
	} else {
		/* A script may have a name like an option's; a lone dash is standard input. */
		if (options->script[0] == '-' && options->script[1] != '\0')
			arguments[used++] = (char *)"--";
		arguments[used++] = (char *)options->script;
	}
	memcpy(arguments + used, options->arguments, count * sizeof(*arguments));
	return arguments;
}

static int shell_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int copy_text(char **ret, const char *text)
{
	*ret = strdup(text);
	return *ret ? 0 : gt_error_oom();
}

/* What is known of the recording before it begins. */
static int describe(struct gt_meta *meta, struct gt_traced_python *python, char *const *arguments)
{
	const struct gt_interpreter *interpreter = &python->interpreter;
	char hostname[HOST_NAME_MAX + 1] = "";
	size_t count = 0;
	int r;

	while (arguments[count])
		count++;
	meta->command = calloc(count + 1, sizeof(*meta->command));
	if (!meta->command)
		return gt_error_oom();
	for (size_t i = 0; i < count; i++) {
		r = copy_text(&meta->command[i], arguments[i]);
		if (r < 0)
			return r;
	}
	(void)gethostname(hostname, HOST_NAME_MAX);
	if (copy_text(&meta->hostname, hostname) < 0 ||
	    copy_text(&meta->program, interpreter->program) < 0 ||
	    copy_text(&meta->gil_file, gt_interpreter_gil_file(interpreter)) < 0 ||
	    copy_text(&meta->version, interpreter->version) < 0 ||
	    copy_text(&meta->build_id, gt_elf_build_id(python->elf)) < 0)
		return -ENOMEM;
	if ((python->sites.found_by && copy_text(&meta->found_by, python->sites.found_by) < 0) ||
	    (interpreter->root && copy_text(&meta->root, interpreter->root) < 0))
		return -ENOMEM;
	/* Given to META, which outlives them. */
	meta->sites = python->sites;
	python->sites = (struct gt_gil_sites){0};
	meta->clock_ns = gt_clock_ns(CLOCK_MONOTONIC);
	meta->realtime_ns = gt_clock_ns(CLOCK_REALTIME);
	meta->recorder_pid = (uint32_t)getpid();
	meta->exit_status = -1;
	meta->is_gil_off = !interpreter->is_gil_enabled;
	return 0;
}

/* Under another name first, so that a giltrace that is killed leaves a whole one. */
static int write_meta(const struct gt_meta *meta, const char *directory)
{
	_cleanup_free_ char *path = gt_format("%s/%s", directory, GT_TRACE_META_FILE);
	_cleanup_free_ char *new_path = gt_format("%s/%s", directory, GT_TRACE_NEW_META_FILE);
	int r;

	if (!path || !new_path)
		return gt_error_oom();
	r = gt_meta_write(meta, new_path);
	if (r == 0 && rename(new_path, path) < 0)
		r = gt_error_errno(-errno, "cannot write %s", path);
	if (r < 0)
		(void)unlink(new_path);
	return r;
}

/* Opens everything around a target that is held, lets it run, and closes everything again. */
static int record_target(const struct gt_capture_spec *spec, struct gt_meta *meta,
			 int *ret_wait_status)
{
	_cleanup_(gt_session_freep) struct gt_session *session = NULL;
	_cleanup_(gt_capture_closep) struct gt_capture *capture = NULL;
	_cleanup_(gt_target_freep) struct gt_target *target = NULL;
	struct gt_session_source *sources;
	struct gt_target_spec target_spec = {
		.program = spec->python->interpreter.program,
		.argv = spec->arguments,
	};
	uint32_t source_count;
	int r;

	r = gt_session_new(&session);
	if (r < 0)
		return r;
	r = gt_capture_new(spec, &capture);
	if (r < 0)
		return r;
	target_spec.environment = gt_capture_environment(capture);
	gt_session_init_target(session, &target_spec);
	r = gt_target_fork(&target_spec, &target);
	if (r < 0)
		return r;
	r = gt_capture_open(capture, gt_target_pid(target));
	if (r < 0)
		return r;
	r = gt_capture_describe(capture, meta);
	if (r == 0)
		r = write_meta(meta, spec->directory);
	if (r < 0)
		return r;
	sources = gt_capture_sources(capture, &source_count);
	r = gt_session_run(session, target, sources, source_count, ret_wait_status);
	if (r < 0) {
		/* There is nothing to report. */
		gt_trace_directory_empty(spec->directory);
		return r;
	}
	meta->ended_ns = gt_clock_ns(CLOCK_MONOTONIC);
	return gt_capture_finish(capture, meta);
}

static bool is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int gt_record_into(const struct gt_options *options, const char *directory, int *ret_status)
{
	_cleanup_(gt_traced_python_clear) struct gt_traced_python python = {0};
	_cleanup_(gt_meta_clear) struct gt_meta meta = {0};
	_cleanup_free_ char **arguments = NULL;
	_cleanup_(gt_probe_choice_clear) struct gt_probe_choice choice = {0};
	_cleanup_(gt_state_choice_clear) struct gt_state_choice states = {0};
	struct gt_capture_spec spec = {
		.directory = directory,
		.options = options,
		.python = &python,
		.sites = &meta.sites,
		.choice = &choice,
		.states = &states,
	};
	int status, r;

	r = gt_traced_python_find(options, &python);
	if (r != 0)
		return r;
	/* In a root of its own the script is there, and relative to another folder. */
	r = python.interpreter.root ? 0 : check_script(options->script);
	if (r < 0)
		return gt_exit_status_of(r);
	if (!python.interpreter.is_gil_enabled && options->gil_detect)
		gt_warning("the GIL of %s is off: it is free-threaded\n"
			   "  there are no holds to report, unless an extension module turns the "
			   "GIL on;\n"
			   "  PYTHON_GIL=1 does, too",
			   python.interpreter.program);
	if (gt_probe_choose(options, &python, &choice) < 0 ||
	    gt_state_choose(options, &choice.rights, &states) < 0)
		return GT_EXIT_FAILURE;
	if (mkdir(directory, 0777) < 0 && (errno != EEXIST || !is_directory(directory))) {
		gt_error_errno(-errno,
			       "cannot make the directory %s\n"
			       "  let --keep-data name a new one where you can write",
			       directory);
		return GT_EXIT_FAILURE;
	}
	/* What an earlier recording left there is not about this one. */
	gt_trace_directory_empty(directory);
	arguments = target_arguments(options, python.interpreter.program);
	if (!arguments) {
		gt_error_oom();
		return GT_EXIT_FAILURE;
	}
	if (describe(&meta, &python, arguments) < 0)
		return GT_EXIT_FAILURE;
	meta.kept_ns = choice.uses_agent ? options->flight_recorder_ns : 0;
	spec.arguments = arguments;
	if (record_target(&spec, &meta, &status) < 0)
		return GT_EXIT_FAILURE;
	*ret_status = shell_status(status);
	meta.exit_status = *ret_status;
	meta.is_complete = true;
	return write_meta(&meta, directory) < 0 ? GT_EXIT_FAILURE : 0;
}

int gt_record(const struct gt_options *options)
{
	int status, r;

	r = gt_record_into(options, options->directory, &status);
	if (r != 0)
		return r;
	gt_info("recorded in %s: see giltrace report %s", options->directory, options->directory);
	return status;
}
