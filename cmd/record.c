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
#include "cmd/exit_status.h"
#include "cmd/options.h"
#include "cmd/traced_python.h"
#include "cmd/verbs.h"
#include "probes/tracefs.h"
#include "probes/trap_cost.h"
#include "probes/uprobe.h"
#include "record/meta.h"
#include "record/pass.h"
#include "record/session.h"
#include "record/target.h"

#define DEFAULT_BUFFER_BYTES (UINT64_C(16) << 20)

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

/* What all rings together may take of a large machine's memory: an eighth. */
static uint64_t default_buffer_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t bytes = DEFAULT_BUFFER_BYTES;

	if (pages <= 0 || page_bytes <= 0 || cpus <= 0)
		return bytes;
	while (bytes > (UINT64_C(1) << 20) &&
	       bytes * (uint64_t)cpus > (uint64_t)pages * (uint64_t)page_bytes / 8)
		bytes /= 2;
	return bytes;
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
	    copy_text(&meta->build_id, gt_elf_build_id(python->elf)) < 0 ||
	    copy_text(&meta->probe, "uprobe") < 0 ||
	    copy_text(&meta->found_by, python->sites.found_by) < 0)
		return -ENOMEM;
	/* Given to META, which outlives them. */
	meta->sites = python->sites;
	python->sites = (struct gt_gil_sites){0};
	meta->clock_ns = gt_clock_ns(CLOCK_MONOTONIC);
	meta->realtime_ns = gt_clock_ns(CLOCK_REALTIME);
	meta->recorder_pid = (uint32_t)getpid();
	meta->exit_status = -1;
	meta->event_cost_ns = -1;
	return 0;
}

static void measure_cost(const struct gt_uprobes *uprobes, struct gt_meta *meta)
{
	uint64_t ns;
	int r = gt_trap_cost_measure(uprobes, &ns);

	if (r < 0) {
		gt_debug_errno(r, "cannot measure what a probe costs");
		return;
	}
	meta->event_cost_ns = (int64_t)ns;
	gt_debug("a probe costs %" PRIu64 " ns", ns);
}

/* Opens everything around a target that is held, lets it run, and closes everything again. */
static int record_target(const char *directory, const struct gt_traced_python *python,
			 char *const *arguments, struct gt_meta *meta, int *ret_wait_status)
{
	const struct gt_interpreter *interpreter = &python->interpreter;
	_cleanup_(gt_session_freep) struct gt_session *session = NULL;
	_cleanup_(gt_uprobes_removep) struct gt_uprobes *uprobes = NULL;
	_cleanup_(gt_target_freep) struct gt_target *target = NULL;
	_cleanup_(gt_pass_closep) struct gt_pass *pass = NULL;
	_cleanup_free_ char *path = gt_format("%s/gil.perf.data", directory);
	struct gt_pass_tracepoint tracepoints[GT_GIL_SITE_RETAKE];
	struct gt_session_source source;
	struct gt_pass_counts counts;
	struct gt_target_spec target_spec = {
		.program = interpreter->program,
		.argv = arguments,
		.environment = interpreter->environment ? interpreter->environment : environ,
	};
	struct gt_pass_spec pass_spec = {
		.path = path,
		.what = "the GIL's events",
		.probed = gt_elf_path(python->elf),
		.tracepoints = tracepoints,
		.tracepoint_count = ARRAY_SIZE(tracepoints),
		.ring_bytes = meta->buffer_bytes,
		.command = arguments,
	};
	int r;

	if (!path)
		return gt_error_oom();
	r = gt_tracefs_find(&pass_spec.tracefs);
	if (r < 0)
		return r;
	gt_uprobes_remove_leftovers();
	r = gt_session_new(&session);
	if (r < 0)
		return r;
	r = gt_uprobes_install(NULL, python->elf, &meta->sites, &uprobes);
	if (r < 0)
		return r;
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_RETAKE; kind++)
		tracepoints[kind] = (struct gt_pass_tracepoint){gt_uprobes_group(uprobes),
								gt_gil_site_name(kind)};
	measure_cost(uprobes, meta);
	gt_session_init_target(session, &target_spec);
	r = gt_target_fork(&target_spec, &target);
	if (r < 0)
		return r;
	r = gt_pass_open(&pass_spec, gt_target_pid(target), &pass);
	if (r < 0)
		return r;
	source = gt_pass_source(pass);
	r = gt_session_run(session, target, &source, 1, ret_wait_status);
	if (r < 0)
		return r;
	if (source.has_failed)
		return -EIO;
	r = gt_pass_finish(pass, &counts);
	if (r < 0)
		return r;
	meta->lost = counts.lost;
	gt_debug("recorded %" PRIu64 " GIL events in %" PRIu64 " bytes, lost %" PRIu64,
		 counts.samples, counts.bytes, counts.lost);
	return 0;
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
	_cleanup_free_ char *meta_path = gt_format("%s/meta.json", directory);
	int status, r;

	if (!meta_path) {
		gt_error_oom();
		return GT_EXIT_FAILURE;
	}
	r = gt_traced_python_find(options, &python);
	if (r != 0)
		return r;
	/* In a root of its own the script is there, and relative to another folder. */
	r = python.interpreter.root ? 0 : check_script(options->script);
	if (r < 0)
		return gt_exit_status_of(r);
	if (!python.interpreter.is_gil_enabled)
		gt_warning("the GIL of %s is off: it is free-threaded\n"
			   "  there are no holds to report, unless an extension module turns the "
			   "GIL on;\n"
			   "  PYTHON_GIL=1 does, too",
			   python.interpreter.program);
	if (mkdir(directory, 0777) < 0 && (errno != EEXIST || !is_directory(directory))) {
		gt_error_errno(-errno,
			       "cannot make the directory %s\n"
			       "  let --keep-data name a new one where you can write",
			       directory);
		return GT_EXIT_FAILURE;
	}
	/* What an earlier recording left there is not about this one. */
	(void)unlink(meta_path);
	arguments = target_arguments(options, python.interpreter.program);
	if (!arguments) {
		gt_error_oom();
		return GT_EXIT_FAILURE;
	}
	if (describe(&meta, &python, arguments) < 0)
		return GT_EXIT_FAILURE;
	meta.buffer_bytes = options->buffer_bytes ? options->buffer_bytes : default_buffer_bytes();
	if (record_target(directory, &python, arguments, &meta, &status) < 0)
		return GT_EXIT_FAILURE;
	*ret_status = shell_status(status);
	meta.exit_status = *ret_status;
	meta.is_complete = true;
	return gt_meta_write(&meta, meta_path) < 0 ? GT_EXIT_FAILURE : 0;
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
