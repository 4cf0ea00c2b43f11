/* SPDX-License-Identifier: MIT */
#include "cmd/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/help.h"
#include "cmd/option_checks.h"
#include "cmd/option_values.h"

#define DEFAULT_OUTPUT "giltrace.html"
#define DEFAULT_DIRECTORY "giltrace.data"

enum {
	OPTION_AGENT_CLOCK = 256,
	OPTION_BUFFER_SIZE,
	OPTION_CALL_GRAPH,
	OPTION_COUNTERS,
	OPTION_FLIGHT_RECORDER,
	OPTION_FOLDED,
	OPTION_GIL_DETECT,
	OPTION_GROUP,
	OPTION_JSON,
	OPTION_KEEP_DATA,
	OPTION_NO_GIL_DETECT,
	OPTION_NO_STATE_DETECT,
	OPTION_PROBE,
	OPTION_PYTHON,
	OPTION_STACK_SIZE,
	OPTION_STATE_DETECT,
	OPTION_SUMMARY_JSON,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},
	{"summary-json", required_argument, NULL, OPTION_SUMMARY_JSON},
	{"keep-data", required_argument, NULL, OPTION_KEEP_DATA},
	{"python", required_argument, NULL, OPTION_PYTHON},
	{"probe", required_argument, NULL, OPTION_PROBE},
	{"gil-detect", no_argument, NULL, OPTION_GIL_DETECT},
	{"no-gil-detect", no_argument, NULL, OPTION_NO_GIL_DETECT},
	{"state-detect", no_argument, NULL, OPTION_STATE_DETECT},
	{"no-state-detect", no_argument, NULL, OPTION_NO_STATE_DETECT},
	{"call-graph", required_argument, NULL, OPTION_CALL_GRAPH},
	{"stack-size", required_argument, NULL, OPTION_STACK_SIZE},
	{"counters", required_argument, NULL, OPTION_COUNTERS},
	{"folded", required_argument, NULL, OPTION_FOLDED},
	{"flight-recorder", required_argument, NULL, OPTION_FLIGHT_RECORDER},
	{"agent-clock", required_argument, NULL, OPTION_AGENT_CLOCK},
	{"buffer-size", required_argument, NULL, OPTION_BUFFER_SIZE},
	{"group", required_argument, NULL, OPTION_GROUP},
	{"json", no_argument, NULL, OPTION_JSON},
	{"verbose", no_argument, NULL, 'v'},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, OPTION_HELP},
	{"version", no_argument, NULL, OPTION_VERSION},
	{0},
};

static const struct {
	const char *name;
	enum gt_verb verb;
} verbs[] = {
	{"run", GT_VERB_RUN},	  {"record", GT_VERB_RECORD}, {"report", GT_VERB_REPORT},
	{"probe", GT_VERB_PROBE}, {"doctor", GT_VERB_DOCTOR},
};

#define VERB(name) (1U << GT_VERB_##name)
#define EVERY_VERB (VERB(RUN) | VERB(RECORD) | VERB(REPORT) | VERB(PROBE) | VERB(DOCTOR))

/* Which verbs an option is for. */
static const struct {
	int option;
	unsigned verbs;
} option_verbs[] = {
	{'o', VERB(RUN) | VERB(REPORT)},
	{OPTION_SUMMARY_JSON, VERB(RUN) | VERB(REPORT)},
	{OPTION_KEEP_DATA, VERB(RUN) | VERB(RECORD)},
	{OPTION_PROBE, VERB(RUN) | VERB(RECORD)},
	{OPTION_GIL_DETECT, VERB(RUN) | VERB(RECORD)},
	{OPTION_NO_GIL_DETECT, VERB(RUN) | VERB(RECORD)},
	{OPTION_STATE_DETECT, VERB(RUN) | VERB(RECORD)},
	{OPTION_NO_STATE_DETECT, VERB(RUN) | VERB(RECORD)},
	{OPTION_CALL_GRAPH, VERB(RUN) | VERB(RECORD)},
	{OPTION_STACK_SIZE, VERB(RUN) | VERB(RECORD)},
	{OPTION_COUNTERS, VERB(RUN) | VERB(RECORD)},
	{OPTION_FOLDED, VERB(REPORT)},
	{OPTION_FLIGHT_RECORDER, VERB(RUN) | VERB(RECORD)},
	{OPTION_AGENT_CLOCK, VERB(RUN) | VERB(RECORD)},
	{OPTION_BUFFER_SIZE, VERB(RUN) | VERB(RECORD)},
	{'m', VERB(RUN) | VERB(RECORD)},
	{'c', VERB(RUN) | VERB(RECORD)},
	{OPTION_PYTHON, VERB(RUN) | VERB(RECORD) | VERB(PROBE) | VERB(DOCTOR)},
	{OPTION_GROUP, VERB(PROBE)},
	{OPTION_JSON, VERB(DOCTOR)},
	{'v', EVERY_VERB},
	{'q', EVERY_VERB},
	{OPTION_HELP, EVERY_VERB},
	{OPTION_VERSION, EVERY_VERB},
};

static const struct {
	const char *name;
	enum gt_probe_action action;
} probe_actions[] = {
	{"add", GT_PROBE_ADD},
	{"list", GT_PROBE_LIST},
	{"del", GT_PROBE_DELETE},
};

/* The words that an option may have behind it, in the order of its enum. */
static const char *const agent_clocks[] = {"auto", "tsc", "monotonic", NULL};
static const char *const call_graphs[] = {"dwarf", "fp", NULL};
/* Behind that of no folded stacks. */
static const char *const folded_kinds[] = {"off-gil", "off-cpu", NULL};

bool gt_options_is_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(name, verbs[i].name) == 0)
			return true;
	return false;
}

static int usage_error(const char *text, const char *what)
{
	gt_error("%s%s%s\n  see giltrace --help", text, what ? " " : "", what ? what : "");
	return -EINVAL;
}

static int parse_probe_way(const char *text, enum gt_probe_way *ret)
{
	int word, r = gt_option_parse_word("--probe", text, gt_probe_ways, &word);

	if (r > 0)
		*ret = (enum gt_probe_way)word;
	return r;
}

static int parse_agent_clock(const char *text, enum gt_clock_choice *ret)
{
	int word, r = gt_option_parse_word("--agent-clock", text, agent_clocks, &word);

	if (r < 0)
		return r;
#ifndef __x86_64__
	if (word == GT_CLOCK_CHOICE_TSC)
		return usage_error("only x86 has a time-stamp counter: no --agent-clock", text);
#endif
	*ret = (enum gt_clock_choice)word;
	return 1;
}

static int parse_call_graph(const char *text, struct gt_options *options)
{
	int word, r = gt_option_parse_word("--call-graph", text, call_graphs, &word);

	if (r < 0)
		return r;
	options->has_call_graph = true;
	options->call_graph = (enum gt_call_graph)word;
	return 1;
}

static int parse_folded(const char *text, enum gt_folded_kind *ret)
{
	int word, r = gt_option_parse_word("--folded", text, folded_kinds, &word);

	if (r < 0)
		return r;
	*ret = (enum gt_folded_kind)(GT_FOLDED_NONE + 1 + word);
	return 1;
}

static int choose_states(struct gt_options *options, bool detect)
{
	options->state_detect = detect;
	options->no_state_detect = !detect;
	return 1;
}

/* 1 to go on, 0 when answered, or a negative errno. */
static int parse_option(int option, struct gt_options *options)
{
	const char **output;

	switch (option) {
	case 'o':
		output = gt_array_push(&options->outputs);
		if (!output)
			return gt_error_oom();
		*output = optarg;
		return 1;
	case 'm':
		options->module = optarg;
		return 1;
	case 'c':
		options->code = optarg;
		return 1;
	case 'v':
		gt_log_set_level(GT_LOG_DEBUG);
		return 1;
	case 'q':
		gt_log_set_level(GT_LOG_ERROR);
		options->quiet = true;
		return 1;
	case OPTION_SUMMARY_JSON:
		options->summary_json = optarg;
		return 1;
	case OPTION_KEEP_DATA:
		options->directory = optarg;
		return 1;
	case OPTION_GROUP:
		options->group = optarg;
		return 1;
	case OPTION_JSON:
		options->json = true;
		return 1;
	case OPTION_PYTHON:
		options->python = optarg;
		return 1;
	case OPTION_BUFFER_SIZE:
		return gt_option_parse_size(optarg, &options->buffer_bytes);
	case OPTION_PROBE:
		return parse_probe_way(optarg, &options->probe_way);
	case OPTION_GIL_DETECT:
	case OPTION_NO_GIL_DETECT:
		options->gil_detect = option == OPTION_GIL_DETECT;
		return 1;
	case OPTION_STATE_DETECT:
	case OPTION_NO_STATE_DETECT:
		return choose_states(options, option == OPTION_STATE_DETECT);
	case OPTION_CALL_GRAPH:
		return parse_call_graph(optarg, options);
	case OPTION_STACK_SIZE:
		return gt_option_parse_stack_size(optarg, &options->stack_bytes);
	case OPTION_COUNTERS:
		return gt_option_parse_counters(optarg, options);
	case OPTION_FOLDED:
		return parse_folded(optarg, &options->folded);
	case OPTION_FLIGHT_RECORDER:
		return gt_option_parse_seconds("--flight-recorder", optarg,
					       &options->flight_recorder_ns);
	case OPTION_AGENT_CLOCK:
		return parse_agent_clock(optarg, &options->agent_clock);
	case OPTION_HELP:
		fputs(gt_help, stdout);
		return 0;
	case OPTION_VERSION:
		puts("giltrace " GILTRACE_VERSION);
		return 0;
	default:
		return -EINVAL;
	}
}

/* The option that getopt_long() has just refused, as it was written. */
static int refuse_option(int option, char *argv[])
{
	char short_option[3] = {'-', (char)optopt, '\0'};
	/* A long one that exists, and lacks its argument, has a number of its own. */
	bool is_short = optopt > 0 && optopt < 256;

	return usage_error(option == ':' ? "an argument is missing behind the option"
					 : "there is no option",
			   is_short ? short_option : argv[optind - 1]);
}

static int refuse_for_verb(int option, int long_index)
{
	char name[64];

	if (long_index >= 0)
		snprintf(name, sizeof(name), "--%s", long_options[long_index].name);
	else
		snprintf(name, sizeof(name), "-%c", option);
	return usage_error("this verb has no option", name);
}

static int parse_report_operands(int argc, char *argv[], struct gt_options *options)
{
	if (optind < argc - 1)
		return usage_error("report takes one trace, and not also", argv[optind + 1]);
	if (optind < argc)
		options->directory = argv[optind];
	return 1;
}

static int parse_probe_operands(int argc, char *argv[], struct gt_options *options)
{
	const char *name = optind < argc ? argv[optind] : "";

	if (optind < argc - 1)
		return usage_error("probe does one thing, and not also", argv[optind + 1]);
	for (size_t i = 0; i < ARRAY_SIZE(probe_actions); i++) {
		if (strcmp(name, probe_actions[i].name) != 0)
			continue;
		options->probe_action = probe_actions[i].action;
		return 1;
	}
	return usage_error("what should be done with the probes? Give add, list or del", NULL);
}

static int parse_doctor_operands(int argc, char *argv[])
{
	return optind < argc ? usage_error("doctor takes no", argv[optind]) : 1;
}

static int parse_target(int argc, char *argv[], struct gt_options *options)
{
	if (!options->module && !options->code) {
		if (optind >= argc)
			return usage_error(
				"what should be run? Give a script, -m MODULE or -c CODE", NULL);
		options->script = argv[optind++];
	}
	options->arguments = &argv[optind];
	return 1;
}

static int set_defaults(struct gt_options *options)
{
	const char **output;

	/* Without the GIL there are the states alone; and what counts is recorded with them. */
	if (!options->gil_detect || options->counters.count > 0)
		options->state_detect = true;
	if (!options->directory &&
	    (options->verb == GT_VERB_RECORD || options->verb == GT_VERB_REPORT))
		options->directory = DEFAULT_DIRECTORY;
	if (options->outputs.count > 0 || options->verb != GT_VERB_RUN)
		return 1;
	output = gt_array_push(&options->outputs);
	if (!output)
		return gt_error_oom();
	*output = DEFAULT_OUTPUT;
	return 1;
}

static int parse_operands(int argc, char *argv[], struct gt_options *options)
{
	switch (options->verb) {
	case GT_VERB_REPORT:
		return parse_report_operands(argc, argv, options);
	case GT_VERB_PROBE:
		return parse_probe_operands(argc, argv, options);
	case GT_VERB_DOCTOR:
		return parse_doctor_operands(argc, argv);
	default:
		return parse_target(argc, argv, options);
	}
}

static bool is_for_verb(int option, enum gt_verb verb)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_verbs); i++)
		if (option_verbs[i].option == option)
			return option_verbs[i].verbs & 1U << verb;
	return false;
}

static int parse(int argc, char *argv[], struct gt_options *options)
{
	const char *letters;
	int r;

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		options->verb = verbs[i].verb;
		argc--;
		argv++;
		break;
	}
	/* What follows a script, a module or code is its own: stop there ('+', and the loop's end).
	 */
	letters = options->verb == GT_VERB_RUN || options->verb == GT_VERB_RECORD ? "+:o:m:c:vq"
										  : ":o:vq";
	opterr = 0;
	optind = 1;
	while (!options->module && !options->code) {
		int long_index = -1;
		int option = getopt_long(argc, argv, letters, long_options, &long_index);

		if (option < 0)
			break;
		if (option == '?' || option == ':')
			return refuse_option(option, argv);
		if (!is_for_verb(option, options->verb))
			return refuse_for_verb(option, long_index);
		r = parse_option(option, options);
		if (r <= 0)
			return r;
	}
	r = parse_operands(argc, argv, options);
	if (r > 0)
		r = gt_options_check(options);
	if (r <= 0)
		return r;
	return set_defaults(options);
}

int gt_options_parse(int argc, char *argv[], struct gt_options *ret)
{
	struct gt_options options = {.gil_detect = true};
	int r = parse(argc, argv, &options);

	if (r <= 0)
		gt_options_clear(&options);
	else
		*ret = options;
	return r;
}

void gt_options_clear(struct gt_options *options)
{
	gt_array_clear(&options->outputs);
	gt_array_clear(&options->counters);
}
