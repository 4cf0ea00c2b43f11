/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/time.h"
#include "cmd/obstacle.h"
#include "cmd/option_values.h"
#include "cmd/options.h"
#include "cmd/preload.h"
#include "cmd/rights.h"

static void test_seconds_may_have_a_fraction(void **state)
{
	static const char *const wrong[] = {"",	   "0",	   "-1",  "x", "1x",
					    "nan", "1e99", "0.0", " ", "0.0000000001"};
	uint64_t ns;

	(void)state;
	assert_int_equal(gt_option_parse_seconds("--time", "10", &ns), 1);
	assert_int_equal(ns, 10 * GT_NS_PER_SEC);
	assert_int_equal(gt_option_parse_seconds("--time", "0.25", &ns), 1);
	assert_int_equal(ns, GT_NS_PER_SEC / 4);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(gt_option_parse_seconds("--time", wrong[i], &ns), -EINVAL);
	assert_int_equal(ns, GT_NS_PER_SEC / 4);
}

static int parse(const char *const arguments[], struct gt_options *options)
{
	char *argv[16] = {(char *)"giltrace"};
	int argc = 1;

	for (size_t i = 0; arguments[i]; i++)
		argv[argc++] = (char *)arguments[i];
	return gt_options_parse(argc, argv, options);
}

static void test_way_of_probing(void **state)
{
	struct gt_options options;

	(void)state;
	assert_int_equal(parse((const char *[]){"x.py", NULL}, &options), 1);
	assert_int_equal(options.probe_way, GT_PROBE_WAY_AUTO);
	assert_int_equal(options.agent_clock, GT_CLOCK_CHOICE_AUTO);
	assert_false(options.state_detect);
	assert_int_equal(options.flight_recorder_ns, 0);
	gt_options_clear(&options);

	assert_int_equal(parse((const char *[]){"--probe", "both", "--state-detect",
						"--agent-clock=monotonic", "x.py", NULL},
			       &options),
			 1);
	assert_int_equal(options.probe_way, GT_PROBE_WAY_BOTH);
	assert_int_equal(options.agent_clock, GT_CLOCK_CHOICE_MONOTONIC);
	assert_true(options.state_detect);
	gt_options_clear(&options);

	assert_int_equal(parse((const char *[]){"record", "--state-detect", "--no-state-detect",
						"--flight-recorder", "2", "x.py", NULL},
			       &options),
			 1);
	assert_false(options.state_detect);
	assert_int_equal(options.flight_recorder_ns, 2 * GT_NS_PER_SEC);
	gt_options_clear(&options);
}

static void parse_well(const char *const arguments[], struct gt_options *options)
{
	assert_int_equal(parse(arguments, options), 1);
}

static void test_what_is_recorded(void **state)
{
	struct gt_options options;

	(void)state;
	parse_well((const char *[]){"x.py", NULL}, &options);
	assert_true(options.gil_detect);
	assert_false(options.state_detect);
	gt_options_clear(&options);

	parse_well((const char *[]){"--no-gil-detect", "x.py", NULL}, &options);
	assert_false(options.gil_detect);
	assert_true(options.state_detect);
	gt_options_clear(&options);

	parse_well((const char *[]){"--no-gil-detect", "--gil-detect", "--no-state-detect", "x.py",
				    NULL},
		   &options);
	assert_true(options.gil_detect);
	assert_false(options.state_detect);
	gt_options_clear(&options);

	parse_well((const char *[]){"--counters", "minor-faults,cycles,minor-faults", "x.py", NULL},
		   &options);
	assert_true(options.state_detect);
	assert_int_equal(options.counters.count, 2);
	assert_string_equal(options.counters.items[1].name, "cycles");
	gt_options_clear(&options);

	parse_well((const char *[]){"report", "--folded", "off-cpu", NULL}, &options);
	assert_int_equal(options.folded, GT_FOLDED_OFF_CPU);
	gt_options_clear(&options);
}

static void test_size_of_stacks(void **state)
{
	static const struct {
		const char *text;
		uint32_t bytes;
	} right[] = {{"512", 512}, {"513", 520}, {"8K", 8192}, {"65528", 65528}};
	static const char *const wrong[] = {"0", "511", "64K", "65529", "-8", "many", ""};
	uint32_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		assert_int_equal(gt_option_parse_stack_size(right[i].text, &bytes), 1);
		assert_int_equal(bytes, right[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(gt_option_parse_stack_size(wrong[i], &bytes), -EINVAL);
	assert_int_equal(bytes, 65528);
}

static void test_what_does_not_go_together(void **state)
{
	static const char *const wrong[][6] = {
		{"--probe", "kernel", "x.py"},
		{"--probe", "", "x.py"},
		{"--probe=uprobe", "--flight-recorder=1", "x.py"},
		{"--flight-recorder=1", "--probe=both", "x.py"},
		{"--probe=uprobe", "--agent-clock=monotonic", "x.py"},
		{"--agent-clock", "hpet", "x.py"},
		{"report", "--probe", "agent"},
		{"doctor", "--state-detect"},
		{"--no-gil-detect", "--no-state-detect", "x.py"},
		{"--no-gil-detect", "--probe=agent", "x.py"},
		{"--no-gil-detect", "--flight-recorder=1", "x.py"},
		{"--no-gil-detect", "--agent-clock=monotonic", "x.py"},
		{"--stack-size=8K", "x.py"},
		{"--call-graph=dwarf", "x.py"},
		{"--state-detect", "--call-graph=lbr", "x.py"},
		{"--state-detect", "--call-graph=fp", "--stack-size=8K", "x.py"},
		{"--counters=minor-faults", "--no-state-detect", "x.py"},
		{"--counters=no-such-counter", "x.py"},
		{"--counters=", "x.py"},
		{"--folded=off-gil", "x.py"},
		{"report", "--folded=on-gil"},
		{"report", "--state-detect"},
	};
	struct gt_options options;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(parse(wrong[i], &options), -EINVAL);
}

static void test_obstacle_from_a_message(void **state)
{
	struct gt_obstacle obstacle = {0};
	char *text;

	(void)state;
	assert_null(gt_obstacle_text(&obstacle));
	gt_obstacle_set_message(&obstacle, strdup("cannot do it: no\n  do this\n  or that"));
	assert_string_equal(obstacle.cause, "cannot do it: no");
	assert_string_equal(obstacle.remedy, "do this\n  or that");
	text = gt_obstacle_text(&obstacle);
	assert_string_equal(text, "cannot do it: no\n  do this\n  or that");
	free(text);
	gt_obstacle_set_message(&obstacle, strdup("it is so"));
	assert_string_equal(obstacle.cause, "it is so");
	assert_null(obstacle.remedy);
	gt_obstacle_set_message(&obstacle, NULL);
	assert_non_null(obstacle.cause);
	gt_obstacle_clear(&obstacle);
}

static void check_environment(const char *const base[], const char *const expected[])
{
	struct gt_preload_environment environment;
	size_t i = 0;

	assert_int_equal(gt_preload_environment_make((char *const *)base, "/lib/agent.so", "AGENT",
						     "1/2", &environment),
			 0);
	for (; expected[i]; i++)
		assert_string_equal(environment.variables[i], expected[i]);
	assert_null(environment.variables[i]);
	gt_preload_environment_clear(&environment);
}

#define ANY_ORDER "verify_asan_link_order=0"

static void test_preload_keeps_what_was_there(void **state)
{
	(void)state;
	check_environment((const char *[]){NULL},
			  (const char *[]){"LD_PRELOAD=/lib/agent.so", "AGENT=1/2",
					   "ASAN_OPTIONS=" ANY_ORDER, NULL});
	check_environment(
		(const char *[]){"A=1", "LD_PRELOAD=a.so b.so", "AGENT=9", "LD_PRELOADED=x", NULL},
		(const char *[]){"A=1", "LD_PRELOADED=x", "LD_PRELOAD=/lib/agent.so:a.so:b.so",
				 "AGENT=1/2", "ASAN_OPTIONS=" ANY_ORDER, NULL});
	check_environment((const char *[]){"LD_PRELOAD=", NULL},
			  (const char *[]){"LD_PRELOAD=/lib/agent.so", "AGENT=1/2",
					   "ASAN_OPTIONS=" ANY_ORDER, NULL});
}

static void test_sanitizers_stay_in_front(void **state)
{
	(void)state;
	check_environment(
		(const char *[]){"LD_PRELOAD=:libsan.c  a.so:/usr/lib/libasan.so.8 b.so:"
				 "libubsan.so::/san.so/libmalloc.so",
				 NULL},
		(const char *[]){"LD_PRELOAD=/usr/lib/libasan.so.8:libubsan.so:/lib/agent.so:"
				 "libsan.c:a.so:b.so:/san.so/libmalloc.so",
				 "AGENT=1/2", "ASAN_OPTIONS=" ANY_ORDER, NULL});
	check_environment(
		(const char *[]){"ASAN_OPTIONS=", "LD_PRELOAD=/x/libclang_rt.asan-x86_64.so", NULL},
		(const char *[]){"LD_PRELOAD=/x/libclang_rt.asan-x86_64.so:/lib/agent.so",
				 "AGENT=1/2", "ASAN_OPTIONS=" ANY_ORDER, NULL});
	check_environment((const char *[]){"ASAN_OPTIONS=detect_leaks=0", "ASAN_OPTIONS=x=1", NULL},
			  (const char *[]){"LD_PRELOAD=/lib/agent.so", "AGENT=1/2",
					   "ASAN_OPTIONS=detect_leaks=0:" ANY_ORDER, NULL});
}

static void check_refusal(struct gt_rights rights, int err, const char *cause, const char *remedy)
{
	struct gt_obstacle obstacle = {0};

	gt_rights_explain_perf(&rights, err, &obstacle);
	assert_non_null(strstr(obstacle.cause, cause));
	assert_non_null(strstr(obstacle.remedy, remedy));
	gt_obstacle_clear(&obstacle);
}

static void test_why_perf_is_refused(void **state)
{
	struct gt_rights paranoid = {.has_paranoid = true, .paranoid = 3};
	struct gt_rights docker = {.has_paranoid = true, .paranoid = 2, .is_filtered = true};

	(void)state;
	check_refusal(paranoid, -EACCES, "perf_event_paranoid is 3",
		      "sudo sysctl kernel.perf_event_paranoid=2");
	paranoid.paranoid = 4;
	check_refusal(paranoid, -EACCES, "perf_event_paranoid is 4",
		      "sudo sysctl kernel.perf_event_paranoid=2");
	check_refusal(docker, -EPERM, "seccomp", "docker run");
	check_refusal(docker, -ENOSYS, "seccomp", "docker run");
	/* Not the filter: that level refuses nobody. */
	check_refusal(docker, -EACCES, "permission denied", "root");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds_may_have_a_fraction),
		cmocka_unit_test(test_way_of_probing),
		cmocka_unit_test(test_what_is_recorded),
		cmocka_unit_test(test_size_of_stacks),
		cmocka_unit_test(test_what_does_not_go_together),
		cmocka_unit_test(test_obstacle_from_a_message),
		cmocka_unit_test(test_preload_keeps_what_was_there),
		cmocka_unit_test(test_sanitizers_stay_in_front),
		cmocka_unit_test(test_why_perf_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
