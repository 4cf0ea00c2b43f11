/* SPDX-License-Identifier: MIT */
#include "record/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "python/gil_sites_json.h"

/*
 * 2: there is a file of the agent, without which the others say little. Versions that know nothing
 * of it read 1 only. 3: there is that of the states alone, of which older versions read no tasks.
 */
#define SCHEMA 1
#define AGENT_SCHEMA 2
#define STATES_SCHEMA 3
#define MAX_FILE_BYTES (UINT32_C(64) << 20)

static json_t *sites_json(const struct gt_gil_sites *sites)
{
	json_t *object = json_object();

	gt_gil_sites_set_json(&object, sites);
	return object;
}

/* Null where there are none. */
static json_t *stacks_json(const struct gt_meta *meta)
{
	json_t *object;

	if (!meta->call_graph)
		return json_null();
	object = json_object();
	gt_json_set(&object, "call_graph", gt_json_text(meta->call_graph));
	gt_json_set(&object, "bytes",
		    meta->stack_bytes ? gt_json_integer(meta->stack_bytes) : json_null());
	gt_json_set(&object, "gil_waits", gt_gil_waits_json(&meta->sites.waits));
	return object;
}

static json_t *python_json(const struct gt_meta *meta)
{
	json_t *object = json_object();

	gt_json_set(&object, "program", gt_json_text(meta->program));
	gt_json_set(&object, "gil_file", gt_json_text(meta->gil_file));
	gt_json_set(&object, "version", gt_json_text(meta->version));
	gt_json_set(&object, "build_id", gt_json_text(meta->build_id));
	gt_json_set(&object, "root", gt_json_text(meta->root));
	return object;
}

static int schema_of(const struct gt_meta *meta)
{
	if (meta->without_gil)
		return STATES_SCHEMA;
	return meta->agent_clock ? AGENT_SCHEMA : SCHEMA;
}

static json_t *meta_json(const struct gt_meta *meta)
{
	json_t *object = json_object();

	gt_json_set(&object, "schema", json_integer(schema_of(meta)));
	gt_json_set(&object, "giltrace", json_string(GILTRACE_VERSION));
	gt_json_set(&object, "command", gt_json_texts(meta->command));
	gt_json_set(&object, "hostname", gt_json_text(meta->hostname));
	gt_json_set(&object, "python", python_json(meta));
	gt_json_set(&object, "probe", gt_json_text(meta->probe));
	gt_json_set(&object, "agent_clock", gt_json_text(meta->agent_clock));
	gt_json_set(&object, "gil_detect", json_boolean(!meta->without_gil));
	gt_json_set(&object, "states", json_boolean(meta->has_states));
	gt_json_set(&object, "wakeups", json_boolean(meta->has_wakeups));
	gt_json_set(&object, "stacks", stacks_json(meta));
	gt_json_set(&object, "complete", json_boolean(meta->is_complete));
	gt_json_set(&object, "gil_off", json_boolean(meta->is_gil_off));
	gt_json_set(&object, "kept_ns",
		    meta->kept_ns ? gt_json_integer(meta->kept_ns) : json_null());
	gt_json_set(&object, "found_by", gt_json_text(meta->found_by));
	gt_json_set(&object, "sites", sites_json(&meta->sites));
	gt_json_set(&object, "recorder_pid", gt_json_integer(meta->recorder_pid));
	gt_json_set(&object, "clock", json_string("CLOCK_MONOTONIC"));
	gt_json_set(&object, "clock_ns", gt_json_integer(meta->clock_ns));
	gt_json_set(&object, "realtime_ns", gt_json_integer(meta->realtime_ns));
	gt_json_set(&object, "buffer_bytes", gt_json_integer(meta->buffer_bytes));
	gt_json_set(&object, "lost", gt_json_integer(meta->lost));
	gt_json_set(&object, "ended_ns",
		    meta->ended_ns ? gt_json_integer(meta->ended_ns) : json_null());
	gt_json_set(&object, "exit_status", gt_json_integer_or_null(meta->exit_status));
	gt_json_set(&object, "event_cost_ns", gt_json_integer_or_null(meta->event_cost_ns));
	return object;
}

int gt_meta_write(const struct gt_meta *meta, const char *path)
{
	_cleanup_(json_decrefp) json_t *object = meta_json(meta);
	_cleanup_free_ char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (!text)
		return gt_error_oom();
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return gt_error_errno(-errno, "cannot write %s", path);
	r = gt_write_all(fd, text, strlen(text));
	if (r < 0)
		return gt_error_errno(r, "cannot write %s", path);
	return 0;
}

/* A copy of a string; NULL where there is none, which is not an error here. */
static char *get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? strdup(text) : NULL;
}

static int64_t get_integer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

static uint64_t get_unsigned(const json_t *object, const char *key)
{
	return (uint64_t)GT_MAX(get_integer(object, key), INT64_C(0));
}

static int read_command(const json_t *array, struct gt_meta *meta)
{
	size_t count = json_array_size(array);

	meta->command = calloc(count + 1, sizeof(*meta->command));
	if (!meta->command)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(array, i));

		meta->command[i] = strdup(text ? text : "");
		if (!meta->command[i])
			return -ENOMEM;
	}
	return 0;
}

static int read_sites(const json_t *object, struct gt_gil_sites *sites)
{
	for (enum gt_gil_site_kind kind = 0; kind < GT_GIL_SITE_KINDS; kind++) {
		const json_t *offsets = json_object_get(object, gt_gil_site_name(kind));

		for (size_t i = 0; i < json_array_size(offsets); i++) {
			uint64_t *offset = gt_array_push(&sites->offsets[kind]);

			if (!offset)
				return -ENOMEM;
			*offset = (uint64_t)json_integer_value(json_array_get(offsets, i));
		}
	}
	return 0;
}

/* 0, -ENOMEM, or -EBADMSG for what is no such object. */
static int read_stacks(const json_t *object, struct gt_meta *meta)
{
	if (!json_is_object(object))
		return 0;
	meta->call_graph = get_text(object, "call_graph");
	meta->stack_bytes = (uint32_t)GT_MIN(get_unsigned(object, "bytes"), (uint64_t)UINT32_MAX);
	return gt_gil_waits_read_json(json_object_get(object, "gil_waits"), &meta->sites.waits)
		       ? 0
		       : -EBADMSG;
}

static int read_object(const json_t *object, struct gt_meta *meta)
{
	const json_t *python = json_object_get(object, "python");
	int r;

	meta->hostname = get_text(object, "hostname");
	meta->program = get_text(python, "program");
	meta->gil_file = get_text(python, "gil_file");
	meta->version = get_text(python, "version");
	meta->build_id = get_text(python, "build_id");
	meta->root = get_text(python, "root");
	meta->probe = get_text(object, "probe");
	meta->agent_clock = get_text(object, "agent_clock");
	meta->without_gil = json_is_false(json_object_get(object, "gil_detect"));
	meta->has_states = json_is_true(json_object_get(object, "states"));
	meta->has_wakeups = json_is_true(json_object_get(object, "wakeups"));
	/* Versions that did not say so wrote the file at the end. */
	meta->is_complete = !json_is_false(json_object_get(object, "complete"));
	meta->is_gil_off = json_is_true(json_object_get(object, "gil_off"));
	meta->kept_ns = get_unsigned(object, "kept_ns");
	meta->found_by = get_text(object, "found_by");
	meta->recorder_pid = (uint32_t)get_unsigned(object, "recorder_pid");
	meta->clock_ns = get_unsigned(object, "clock_ns");
	meta->realtime_ns = get_unsigned(object, "realtime_ns");
	meta->ended_ns = get_unsigned(object, "ended_ns");
	meta->exit_status = get_integer(object, "exit_status");
	meta->event_cost_ns = get_integer(object, "event_cost_ns");
	r = read_command(json_object_get(object, "command"), meta);
	if (r < 0)
		return r;
	r = read_stacks(json_object_get(object, "stacks"), meta);
	if (r < 0)
		return r;
	return read_sites(json_object_get(object, "sites"), &meta->sites);
}

int gt_meta_read(const char *path, struct gt_meta *ret)
{
	_cleanup_(gt_meta_clear) struct gt_meta meta = {0};
	_cleanup_(json_decrefp) json_t *object = NULL;
	_cleanup_free_ char *text = NULL;
	json_error_t error;
	int64_t schema;
	size_t size;
	int r;

	r = gt_read_file(path, MAX_FILE_BYTES, &text, &size);
	if (r < 0)
		return gt_error_errno(r, "cannot read %s", path);
	object = json_loadb(text, size, 0, &error);
	if (!object) {
		gt_error("%s is broken at byte %d: %s", path, error.position, error.text);
		return -EBADMSG;
	}
	schema = get_integer(object, "schema");
	if (schema < SCHEMA || schema > STATES_SCHEMA) {
		gt_error("%s was not written for this version of giltrace: its schema is not one "
			 "of %d to %d\n"
			 "  read it with the giltrace that recorded it",
			 path, SCHEMA, STATES_SCHEMA);
		return -EBADMSG;
	}
	r = read_object(object, &meta);
	if (r == -EBADMSG)
		gt_error("%s is broken: it does not tell where the GIL is waited for", path);
	else if (r < 0)
		gt_error_oom();
	if (r < 0)
		return r;
	*ret = meta;
	meta = (struct gt_meta){0};
	return 0;
}

void gt_meta_clear(struct gt_meta *meta)
{
	for (char **word = meta->command; word && *word; word++)
		free(*word);
	free(meta->command);
	free(meta->hostname);
	free(meta->program);
	free(meta->gil_file);
	free(meta->version);
	free(meta->build_id);
	free(meta->probe);
	free(meta->agent_clock);
	free(meta->call_graph);
	free(meta->root);
	free(meta->found_by);
	gt_gil_sites_clear(&meta->sites);
	*meta = (struct gt_meta){0};
}
