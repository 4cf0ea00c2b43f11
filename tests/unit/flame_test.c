/* SPDX-License-Identifier: MIT */
/* Times by stacks: what they add up to, and how they are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/folded.h"

#define PID 100
#define US UINT64_C(1000)

struct world {
	struct gt_trace *trace;
	struct gt_stacks *stacks;
	const char *probe;
};

static int open_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct gt_process *process;

	assert_non_null(world);
	world->probe = "uprobe";
	world->trace = calloc(1, sizeof(*world->trace));
	world->stacks = gt_stacks_new();
	assert_non_null(world->stacks);
	world->trace->has_states = true;
	process = gt_array_push(&world->trace->processes);
	assert_non_null(process);
	process->pid = PID;
	process->command = strdup("python3");
	process->python = process->parent = GT_NONE;
	process->first_gil = process->last_gil = GT_NONE;
	process->gil_events = 1;
	*state = world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	gt_trace_free(world->trace);
	gt_stacks_free(world->stacks);
	free(world);
	return 0;
}

static uint32_t add_thread(struct world *world, uint32_t tid, const char *name)
{
	struct gt_thread *thread = gt_array_push(&world->trace->threads);

	assert_non_null(thread);
	thread->tid = tid;
	thread->name = strdup(name);
	thread->next_in_process = GT_NONE;
	thread->acquired = 1;
	return world->trace->threads.count - 1;
}

/* Of frames from the outermost on, with blanks between them. */
static uint32_t stack_of(struct world *world, const char *frames)
{
	_cleanup_free_ char *text = strdup(frames);
	uint32_t stack = GT_STACK_NONE, frame;
	char *rest = text;

	for (char *name; (name = strsep(&rest, " "));) {
		assert_int_equal(gt_stacks_add_frame(world->stacks,
						     &(struct gt_frame){.name = name}, &frame),
				 0);
		assert_int_equal(gt_stacks_push(world->stacks, stack, frame, &stack), 0);
	}
	return stack;
}

/* Goes on from where the thread's states end. */
static void add_state(struct world *world, uint32_t thread, uint64_t ns, enum gt_state_kind kind,
		      enum gt_sleep_reason reason, uint32_t stack)
{
	struct gt_thread *item = &world->trace->threads.items[thread];
	struct gt_state_interval *state = gt_array_push(&world->trace->states);

	assert_non_null(state);
	*state = (struct gt_state_interval){.start_ns = item->end_ns,
					    .end_ns = item->end_ns + ns,
					    .thread = thread,
					    .kind = (uint8_t)kind,
					    .reason = (uint8_t)reason,
					    .stack = stack};
	item->end_ns += ns;
}

static void add_wait(struct world *world, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	struct gt_interval *wait = gt_array_push(&world->trace->intervals);

	assert_non_null(wait);
	*wait = (struct gt_interval){.start_ns = start_ns,
				     .end_ns = end_ns,
				     .thread = thread,
				     .gil = GT_INTERVAL_NO_GIL,
				     .kind = GT_INTERVAL_WAIT};
}

/* The caller frees it, and clears STATS. */
static char *fold(const struct world *world, enum gt_folded_kind kind, struct gt_stats *stats)
{
	struct gt_report_meta meta = {.probe = world->probe};
	struct gt_report report = {
		.trace = world->trace, .stats = stats, .stacks = world->stacks, .meta = &meta};
	struct gt_sink *sink = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(gt_stats_compute(world->trace, stats), 0);
	assert_int_equal(gt_sink_open_stream(stream, &sink), 0);
	assert_int_equal(gt_render_folded(&report, kind, sink), 0);
	assert_int_equal(gt_sink_close(sink), 0);
	fclose(stream);
	return text;
}

static void check(const struct world *world, enum gt_folded_kind kind, const char *expected)
{
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	_cleanup_free_ char *text = fold(world, kind, &stats);

	assert_string_equal(text, expected);
}

static void test_off_cpu(void **state)
{
	struct world *world = *state;
	uint32_t main = add_thread(world, PID, "main"), other = add_thread(world, 101, "other");
	uint32_t reading = stack_of(world, "start loop read");

	add_state(world, main, 7 * US, GT_STATE_RUNNING, GT_SLEEP_UNEXPLAINED, GT_STACK_NONE);
	add_state(world, main, 20 * US, GT_STATE_SLEEPING, GT_SLEEP_READ, reading);
	add_state(world, main, 2 * US, GT_STATE_RUNNABLE, GT_SLEEP_UNEXPLAINED, reading);
	add_state(world, other, 5 * US, GT_STATE_RUNNABLE, GT_SLEEP_UNEXPLAINED, GT_STACK_NONE);
	add_state(world, other, 4 * US, GT_STATE_UNINTERRUPTIBLE, GT_SLEEP_DISK,
		  stack_of(world, "[cut] pread64"));
	add_state(world, main, 9 * US, GT_STATE_UNKNOWN, GT_SLEEP_UNEXPLAINED, GT_STACK_NONE);
	/* Rounded once for the line, not for each sleep. */
	for (int i = 0; i < 3; i++)
		add_state(world, main, 400, GT_STATE_SLEEPING, GT_SLEEP_READ, reading);
	add_state(world, main, 499, GT_STATE_SLEEPING, GT_SLEEP_UNEXPLAINED, GT_STACK_NONE);
	add_state(world, other, 3 * US, GT_STATE_SLEEPING, GT_SLEEP_UNEXPLAINED, GT_STACK_NONE);
	check(world, GT_FOLDED_OFF_CPU,
	      "python3 (100);main (100);start;loop;read;R 2\n"
	      "python3 (100);main (100);start;loop;read;S(read) 21\n"
	      "python3 (100);other (101);R 5\n"
	      "python3 (100);other (101);S 3\n"
	      "python3 (100);other (101);[cut];pread64;D(disk) 4\n");
	check(world, GT_FOLDED_NONE, "");
}

/* A wait of 100 us: on the CPU, asleep at one place, on the CPU again, woken, asleep at another. */
static void test_off_gil(void **state)
{
	struct world *world = *state;
	uint32_t thread = add_thread(world, PID, "main");
	uint32_t first = stack_of(world, "eval take_gil"),
		 second = stack_of(world, "read take_gil");

	add_state(world, thread, 10 * US, GT_STATE_RUNNING, 0, GT_STACK_NONE);
	add_state(world, thread, 40 * US, GT_STATE_SLEEPING, GT_SLEEP_GIL, first);
	add_state(world, thread, 5 * US, GT_STATE_RUNNING, 0, GT_STACK_NONE);
	add_state(world, thread, 20 * US, GT_STATE_SLEEPING, GT_SLEEP_GIL, second);
	add_state(world, thread, 3 * US, GT_STATE_RUNNABLE, 0, second);
	add_state(world, thread, 32 * US, GT_STATE_RUNNING, 0, GT_STACK_NONE);
	/* Another wait knows nothing of the first; and its sleep is longer than it. */
	add_state(world, thread, 6 * US, GT_STATE_SLEEPING, GT_SLEEP_GIL, first);
	add_state(world, thread, 1 * US, GT_STATE_UNKNOWN, 0, GT_STACK_NONE);
	add_wait(world, thread, 8 * US, 60 * US);
	add_wait(world, thread, 60 * US, 100 * US);
	add_wait(world, thread, 101 * US, 112 * US);
	add_wait(world, thread, 116 * US, 117 * US);
	check(world, GT_FOLDED_OFF_GIL,
	      "python3 (100);main (100);[on CPU] 11\n"
	      "python3 (100);main (100);[unknown] 1\n"
	      "python3 (100);main (100);eval;take_gil 47\n"
	      "python3 (100);main (100);read;take_gil 45\n");
	/* Where nobody has watched it, the stacks say which sleeps are for it. */
	world->probe = "none";
	check(world, GT_FOLDED_OFF_GIL,
	      "python3 (100);main (100);eval;take_gil;S(GIL) 46\n"
	      "python3 (100);main (100);read;take_gil;S(GIL) 20\n");
}

static void test_without_stacks(void **state)
{
	struct world *world = *state;
	uint32_t thread = add_thread(world, PID, "main");

	add_wait(world, thread, 0, 30 * US);
	check(world, GT_FOLDED_OFF_GIL, "python3 (100);main (100) 30\n");
	gt_stacks_free(GT_STEAL(world->stacks));
	add_state(world, thread, 10 * US, GT_STATE_RUNNING, 0, GT_STACK_NONE);
	add_state(world, thread, 40 * US, GT_STATE_SLEEPING, GT_SLEEP_GIL, GT_STACK_NONE);
	check(world, GT_FOLDED_OFF_GIL,
	      "python3 (100);main (100);S(GIL) 20\n"
	      "python3 (100);main (100);[on CPU] 10\n");
	check(world, GT_FOLDED_OFF_CPU, "python3 (100);main (100);S(GIL) 40\n");
	world->stacks = gt_stacks_new();
}

/* No name can end a line or a frame; and what looks the same is one line. */
static void test_hostile_names(void **state)
{
	struct world *world = *state;
	uint32_t thread = add_thread(world, PID, "a;b\n\x1b[2J 7");
	uint32_t other = add_thread(world, 101, "");
	uint32_t frame, stack;

	add_state(world, thread, 5 * US, GT_STATE_SLEEPING, GT_SLEEP_LOCK,
		  stack_of(world, "\xff\n;x f"));
	add_state(world, thread, 4 * US, GT_STATE_SLEEPING, GT_SLEEP_LOCK,
		  stack_of(world, "\xff\n:x f"));
	add_state(world, other, 1 * US, GT_STATE_SLEEPING, GT_SLEEP_LOCK, stack_of(world, "f"));
	assert_int_equal(gt_stacks_add_frame(world->stacks,
					     &(struct gt_frame){.name = "f", .file = "/lib/f.so"},
					     &frame),
			 0);
	assert_int_equal(gt_stacks_push(world->stacks, GT_STACK_NONE, frame, &stack), 0);
	add_state(world, other, 2 * US, GT_STATE_SLEEPING, GT_SLEEP_LOCK, stack);
	add_state(world, other, 6 * US, GT_STATE_SLEEPING, GT_SLEEP_LOCK, stack_of(world, " "));
	check(world, GT_FOLDED_OFF_CPU,
	      "python3 (100);[no name] (101);[no name];[no name];S(lock) 6\n"
	      "python3 (100);[no name] (101);f;S(lock) 3\n"
	      "python3 (100);a:b\\x0a\\x1b[2J 7 (100);\\xff\\x0a:x;f;S(lock) 9\n");
}

/* Whatever names there are, the lines are in order. */
static void test_lines_are_sorted(void **state)
{
	struct world *world = *state;
	uint32_t thread = add_thread(world, PID, "t");

	static const char *const stacks[] = {"a!b c", "a b", "a", "a!b", "aa", "a<", "a b c"};

	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		add_state(world, thread, US, GT_STATE_SLEEPING, 0, stack_of(world, stacks[i]));
	check(world, GT_FOLDED_OFF_CPU,
	      "python3 (100);t (100);a!b;S 1\n"
	      "python3 (100);t (100);a!b;c;S 1\n"
	      "python3 (100);t (100);a;S 1\n"
	      "python3 (100);t (100);a;b;S 1\n"
	      "python3 (100);t (100);a;b;c;S 1\n"
	      "python3 (100);t (100);a<;S 1\n"
	      "python3 (100);t (100);aa;S 1\n");
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Each thread's lines, summed up, against what the summary says of it. */
static void compare_sums(const struct world *world, enum gt_folded_kind kind, const char *text,
			 const struct gt_stats *stats)
{
	for (uint32_t i = 0; i < world->trace->threads.count; i++) {
		const struct gt_thread_stats *thread = &stats->threads[i];
		uint64_t ns = kind == GT_FOLDED_OFF_GIL ? thread->wait_ns
							: thread->sleep_ns + thread->runnable_ns +
								  thread->uninterruptible_ns;
		_cleanup_free_ char *copy = strdup(text);
		uint64_t us = 0, lines = 0;
		char start[64], *rest = copy;

		snprintf(start, sizeof(start), "python3 (100);t (%u);",
			 world->trace->threads.items[i].tid);
		for (char *line; (line = strsep(&rest, "\n"));) {
			if (strncmp(line, start, strlen(start)) != 0)
				continue;
			us += strtoull(strrchr(line, ' '), NULL, 10);
			lines++;
		}
		assert_true(lines > 10);
		assert_true(us * US <= ns + lines * US / 2 && ns <= us * US + lines * US / 2);
	}
}

static void test_sums(void **state)
{
	struct world *world = *state;
	uint64_t seed = 42, at[3] = {0};
	uint32_t stacks[40];

	for (uint32_t i = 0; i < 3; i++)
		add_thread(world, PID + i, "t");
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		char text[64];

		snprintf(text, sizeof(text), "main f%zu g%zu", i % 7, i);
		stacks[i] = i % 9 == 8 ? GT_STACK_NONE : stack_of(world, text);
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t thread = (uint32_t)(next_random(&seed) % 3);
		enum gt_state_kind kind = next_random(&seed) % 5;
		bool is_on = kind == GT_STATE_RUNNING || kind == GT_STATE_UNKNOWN;
		uint64_t start = at[thread] + next_random(&seed) % 900;

		add_state(world, thread, next_random(&seed) % 4000, kind,
			  is_on || kind == GT_STATE_RUNNABLE
				  ? GT_SLEEP_UNEXPLAINED
				  : next_random(&seed) % GT_SLEEP_REASONS,
			  is_on ? GT_STACK_NONE : stacks[next_random(&seed) % ARRAY_SIZE(stacks)]);
		at[thread] = start + next_random(&seed) % 2000;
		add_wait(world, thread, start, at[thread]);
	}
	for (enum gt_folded_kind kind = GT_FOLDED_OFF_GIL; kind <= GT_FOLDED_OFF_CPU; kind++) {
		_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
		_cleanup_free_ char *text = fold(world, kind, &stats);

		compare_sums(world, kind, text, &stats);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_off_cpu, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_off_gil, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_without_stacks, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_hostile_names, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_lines_are_sorted, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_sums, open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
