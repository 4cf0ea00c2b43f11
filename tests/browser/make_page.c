/* SPDX-License-Identifier: MIT */
/*
 * Writes pages of made-up traces, for the browser tests:
 *
 *     make_page SCENARIO PAGE.html SUMMARY.json [INTERVALS [SLICES]]
 *
 * SLICES: more of them the page shall not have. A summary called "-" is not written.
 *
 * Threads take turns at a lock as they would at a GIL, in a random order that is the same each
 * time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/time.h"
#include "render/report.h"
#include "trace/sleep.h"
#include "unwind/stacks.h"

#define START_NS UINT64_C(12345678901234)
#define GIL_ADDRESS UINT64_C(0x7f3a10c0de40)

/* How a thread spends its time: mean lengths; it always wants the GIL again when IDLE_NS is 0. */
struct habit {
	const char *name;
	uint64_t hold_ns, idle_ns;
};

struct scenario {
	const char *name;
	const char *command[8];
	const struct habit *habits;
	uint32_t threads; /* of each process; habits are repeated */
	uint32_t processes;
	uint32_t intervals; /* at least so many in all, unless told otherwise */
	uint64_t lost, inferred;
	bool states;
	const char *probe;	      /* NULL: by uprobes */
	bool stacks;		      /* with states */
	const char *const *functions; /* of stacks; NULL: of a usual program */
};

static const struct habit two[] = {
	{"MainThread", 100000, 1500000000},
	{"count-1", 5000000, 0},
	{"count-2", 5000000, 0},
};
static const struct habit service[] = {
	{"MainThread", 150000, 4000000}, {"worker-1", 5000000, 30000},
	{"worker-2", 400000, 900000},	 {"reader", 20000, 300000},
	{"writer", 30000, 450000},	 {"heartbeat", 9000, 50000000},
};
static const struct habit short_holds[] = {
	{"MainThread", 4000, 9000}, {"io-1", 1500, 6000},  {"io-2", 1500, 6000},
	{"io-3", 1500, 20000},	    {"io-4", 2500, 40000}, {"io-5", 1000, 30000},
};
static const struct habit hostile[] = {
	{"</script><script>document.title='owned'</script>", 1000000, 0},
	{"<img src=x onerror=\"document.title='owned'\">", 1000000, 0},
	{"\xe2\x80\xae"
	 "gnp.exe\xe2\x81\xa6",
	 500000, 100000},
	{"\xff\xfe not UTF-8 \xc3", 400000, 50000},
	{"\"quotes'&amp;<!--", 400000, 60000},
	{"\t\n\x1b[31m", 400000, 70000},
	{"", 400000, 80000},
	{"]]>&lt;/style>\xe2\x80\xa8", 300000, 90000},
	{"a name that is longer than any name that the kernel would keep, by far", 300000, 0},
};

static const char *const functions[] = {
	"handle_request", "parse", "load", "render", "query", "encode", "flush", "log", NULL,
};
static const char *const hostile_functions[] = {
	"</script><script>document.title='owned'</script>",
	"<img src=x onerror=\"document.title='owned'\">",
	"\xe2\x80\xae"
	"gnp.exe\xe2\x81\xa6",
	"\xff\xfe not UTF-8 \xc3",
	"a;b\t\n\x1b[31m",
	"std::vector<std::pair<int, char const *>, std::allocator<std::pair<int, char const "
	"*>>>::push",
	"__proto__",
	NULL,
};

static const struct scenario scenarios[] = {
	{.name = "two",
	 .command = {"count.py"},
	 .habits = two,
	 .threads = 3,
	 .processes = 1,
	 .intervals = 1600},
	{.name = "service",
	 .command = {"-m", "service", "--workers", "2"},
	 .habits = service,
	 .threads = 6,
	 .processes = 1,
	 .intervals = 4000},
	{.name = "many",
	 .command = {"server.py", "a b", "it's"},
	 .habits = service,
	 .threads = 200,
	 .processes = 1,
	 .intervals = 60000},
	{.name = "crowd",
	 .command = {"crowd.py"},
	 .habits = service,
	 .threads = 2000,
	 .processes = 1,
	 .intervals = 60000},
	{.name = "processes",
	 .command = {"pool.py"},
	 .habits = two,
	 .threads = 3,
	 .processes = 3,
	 .intervals = 3000},
	{.name = "lossy",
	 .command = {"lossy.py"},
	 .habits = service,
	 .threads = 6,
	 .processes = 1,
	 .intervals = 3000,
	 .lost = 1234,
	 .inferred = 7},
	{.name = "hostile",
	 .command = {"</script>.py", "\xff\xfe", "<b>&amp;"},
	 .habits = hostile,
	 .threads = 9,
	 .processes = 1,
	 .intervals = 3000},
	{.name = "states",
	 .command = {"states.py"},
	 .habits = service,
	 .threads = 6,
	 .processes = 1,
	 .intervals = 4000,
	 .states = true},
	{.name = "lossy-states",
	 .command = {"lossy.py"},
	 .habits = service,
	 .threads = 6,
	 .processes = 2,
	 .intervals = 3000,
	 .lost = 1234,
	 .inferred = 7,
	 .states = true},
	{.name = "million",
	 .command = {"million.py"},
	 .habits = short_holds,
	 .threads = 6,
	 .processes = 1,
	 .intervals = 1000000},
	{.name = "million-states",
	 .command = {"million.py"},
	 .habits = short_holds,
	 .threads = 6,
	 .processes = 1,
	 .intervals = 1000000,
	 .states = true},
	{.name = "unwatched",
	 .command = {"two.py"},
	 .habits = two,
	 .threads = 3,
	 .processes = 1,
	 .intervals = 1600,
	 .states = true,
	 .probe = "none"},
	{.name = "stacks",
	 .command = {"stacks.py"},
	 .habits = service,
	 .threads = 6,
	 .processes = 2,
	 .intervals = 4000,
	 .states = true,
	 .functions = functions},
	{.name = "lossy-stacks",
	 .command = {"lossy.py"},
	 .habits = service,
	 .threads = 6,
	 .processes = 1,
	 .intervals = 3000,
	 .lost = 1234,
	 .inferred = 7,
	 .states = true,
	 .functions = functions},
	{.name = "hostile-stacks",
	 .command = {"stacks.py"},
	 .habits = hostile,
	 .threads = 9,
	 .processes = 1,
	 .intervals = 3000,
	 .states = true,
	 .functions = hostile_functions},
	{.name = "unwatched-stacks",
	 .command = {"stacks.py"},
	 .habits = service,
	 .threads = 6,
	 .processes = 1,
	 .intervals = 4000,
	 .states = true,
	 .functions = functions,
	 .probe = "none"},
	{.name = "million-stacks",
	 .command = {"million.py"},
	 .habits = short_holds,
	 .threads = 6,
	 .processes = 1,
	 .intervals = 1000000,
	 .states = true,
	 .functions = functions},
	{.name = "empty",
	 .command = {"true"},
	 .habits = NULL,
	 .threads = 1,
	 .processes = 1,
	 .intervals = 0},
};

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

/* Between half and three halves of MEAN. */
static uint64_t around(uint64_t mean)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return mean ? mean / 2 + random_state % mean : 0;
}

static void *need(void *pointer)
{
	if (!pointer)
		exit(-gt_error_oom());
	return pointer;
}

static void add_interval(struct gt_trace *trace, uint32_t thread, enum gt_interval_kind kind,
			 uint64_t *from_ns, uint64_t to_ns)
{
	struct gt_interval *interval;

	if (to_ns <= *from_ns)
		return;
	interval = need(gt_array_push(&trace->intervals));
	interval->start_ns = *from_ns;
	interval->end_ns = to_ns;
	interval->thread = thread;
	interval->gil = GT_INTERVAL_NO_GIL;
	if (kind != GT_INTERVAL_NO)
		interval->gil = trace->threads.items[thread].process & GT_INTERVAL_NO_GIL;
	interval->kind = (unsigned int)kind & 7;
	*from_ns = to_ns;
}

static void add_process(struct gt_trace *trace, const struct scenario *scenario, uint32_t index)
{
	struct gt_process *process = need(gt_array_push(&trace->processes));

	process->pid = 4200 + index * 1000;
	process->ppid = index == 0 ? 4100 : 4200;
	process->parent = index == 0 ? GT_NONE : 0;
	process->main_thread = trace->threads.count;
	process->command = need(strdup("python3"));
	process->python = GT_NONE;
	process->first_thread = trace->threads.count;
	process->last_thread = trace->threads.count + scenario->threads - 1;
	process->first_gil = process->last_gil = scenario->habits ? index : GT_NONE;
	for (uint32_t i = 0; i < scenario->threads; i++) {
		const struct habit *habit = scenario->habits ? &scenario->habits[i % 6] : NULL;
		struct gt_thread *thread = need(gt_array_push(&trace->threads));

		if (scenario->threads <= 9 && habit)
			habit = &scenario->habits[i];
		thread->tid = process->pid + i;
		thread->process = index;
		thread->next_in_process =
			i + 1 < scenario->threads ? trace->threads.count : GT_NONE;
		thread->name = need(habit && i < 6 + 3U * (scenario->threads <= 9)
					    ? strdup(habit->name)
					    : gt_format("%s-%u", habit ? habit->name : "t", i));
		thread->start_ns = START_NS + (uint64_t)index * 3000000 + (uint64_t)i * 200000;
	}
}

/* Lets the threads of a process take turns until there are COUNT intervals in all. */
static void run_process(struct gt_trace *trace, const struct scenario *scenario, uint32_t index,
			uint32_t count)
{
	uint32_t first = trace->processes.items[index].main_thread;
	uint32_t threads = scenario->threads, holder = GT_NONE, round = 0;
	uint64_t *wake = need(calloc(threads, sizeof(*wake)));
	uint64_t *last = need(calloc(threads, sizeof(*last)));
	uint64_t now = START_NS;

	for (uint32_t i = 0; i < threads; i++) {
		wake[i] = trace->threads.items[first + i].start_ns + 50000;
		last[i] = trace->threads.items[first + i].start_ns;
	}
	while (trace->intervals.count < count) {
		struct gt_thread *thread;
		const struct habit *habit;
		uint32_t next = 0;

		for (uint32_t i = 1; i < threads; i++)
			if (i != holder && (next == holder || wake[i] < wake[next]))
				next = i;
		if (holder != GT_NONE && wake[holder] + 1000 < wake[next])
			next = holder;
		thread = &trace->threads.items[first + next];
		habit = &scenario->habits[scenario->threads <= 9 ? next : next % 6];
		add_interval(trace, first + next, GT_INTERVAL_NO, &last[next], wake[next]);
		if (wake[next] < now) {
			now += around(4000);
			add_interval(trace, first + next, GT_INTERVAL_WAIT, &last[next], now);
			thread->contended++;
		}
		now = GT_MAX(now, wake[next]);
		if (scenario->lost > 0 && ++round % 90 < 2) {
			now += around(2000000);
			add_interval(trace, first + next, GT_INTERVAL_UNKNOWN, &last[next], now);
		}
		now += around(habit->hold_ns) + 1;
		add_interval(trace, first + next, GT_INTERVAL_HAS, &last[next], now);
		thread->takes++, thread->acquired++, thread->releases++;
		trace->processes.items[index].gil_events += 3;
		trace->events += 3;
		wake[next] = now + around(habit->idle_ns);
		holder = next;
	}
	now += 2000000;
	for (uint32_t i = 0; i < threads; i++) {
		struct gt_thread *thread = &trace->threads.items[first + i];

		thread->end_ns = GT_MAX(now, last[i]);
		add_interval(trace, first + i, GT_INTERVAL_NO, &last[i], thread->end_ns);
		trace->end_ns = GT_MAX(trace->end_ns, thread->end_ns);
	}
	trace->processes.items[index].start_ns = trace->threads.items[first].start_ns;
	trace->processes.items[index].end_ns = now;
	free(wake);
	free(last);
}

/* How a thread got to where it sleeps, behind its program's functions; [k]: of the kernel. */
static const struct ending {
	enum gt_state_kind kind;
	enum gt_sleep_reason reason;
	const char *frames[6];
} endings[] = {
	{GT_STATE_SLEEPING,
	 GT_SLEEP_GIL,
	 {"PyEval_RestoreThread", "take_gil", "pthread_cond_timedwait", "[k]futex_wait"}},
	{GT_STATE_SLEEPING,
	 GT_SLEEP_LOCK,
	 {"lock_PyThread_acquire_lock", "PyThread_acquire_lock_timed", "sem_wait",
	  "[k]futex_wait"}},
	{GT_STATE_SLEEPING,
	 GT_SLEEP_SLEEP,
	 {"time_sleep", "clock_nanosleep", "[k]hrtimer_nanosleep"}},
	{GT_STATE_SLEEPING,
	 GT_SLEEP_READ,
	 {"os_read", "_Py_read", "read", "[k]ksys_read", "[k]pipe_read"}},
	{GT_STATE_SLEEPING, GT_SLEEP_POLL, {"select_epoll_poll", "epoll_wait", "[k]do_epoll_wait"}},
	{GT_STATE_SLEEPING, GT_SLEEP_UNEXPLAINED, {"some_library_call"}},
	{GT_STATE_UNINTERRUPTIBLE,
	 GT_SLEEP_DISK,
	 {"_io_FileIO_readall", "read", "[k]ksys_read", "[k]filemap_read",
	  "[k]folio_wait_bit_common"}},
};

static struct gt_stacks *stacks;
static const char *const *stack_functions;

static void push_frame(uint32_t *stack, const char *name, const char *file)
{
	struct gt_frame frame = {.name = name, .file = file};
	uint32_t number;

	frame.kind = file ? GT_FRAME_USER : GT_FRAME_KERNEL;
	if (gt_stacks_add_frame(stacks, &frame, &number) < 0 ||
	    gt_stacks_push(stacks, *stack, number, stack) < 0)
		exit(-gt_error_oom());
}

/* One of many ways to an ending. */
static uint32_t make_stack(const struct ending *ending)
{
	static const char python[] = "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0";
	static const char libc[] = "/usr/lib/x86_64-linux-gnu/libc.so.6";
	uint32_t stack = GT_STACK_NONE, count = 0;
	uint64_t way = around(1 << 20);

	do
		count++;
	while (stack_functions[count]);
	if (way % 40 == 0) {
		push_frame(&stack, "[cut]", NULL);
	} else {
		push_frame(&stack, "start_thread", libc);
		push_frame(&stack, "thread_run", python);
	}
	for (uint64_t depth = 2 + way % 4; depth > 0; depth--, way /= count) {
		push_frame(&stack, "_PyEval_EvalFrameDefault", python);
		push_frame(&stack, stack_functions[way % count], "/srv/app/fast.so");
	}
	for (size_t i = 0; i < ARRAY_SIZE(ending->frames) && ending->frames[i]; i++)
		if (gt_string_starts_with(ending->frames[i], "[k]"))
			push_frame(&stack, ending->frames[i] + strlen("[k]"), NULL);
		else
			push_frame(&stack, ending->frames[i], i == 0 ? python : libc);
	return stack;
}

static struct gt_state_interval *add_state(struct gt_trace *trace, uint32_t thread,
					   enum gt_state_kind kind, uint64_t *from_ns,
					   uint64_t to_ns)
{
	struct gt_state_interval *state;

	if (to_ns <= *from_ns)
		return NULL;
	state = need(gt_array_push(&trace->states));
	state->start_ns = *from_ns;
	state->end_ns = to_ns;
	state->thread = thread;
	state->kind = (uint8_t)kind;
	*from_ns = to_ns;
	return state;
}

/* A sleep; with stacks it has a reason, and the thread is woken before it runs. */
static void add_sleep(struct gt_trace *trace, uint32_t thread, bool for_gil, uint64_t *from_ns,
		      uint64_t to_ns)
{
	const struct ending *ending =
		&endings[for_gil ? 0 : 1 + (thread + around(5) / 2) % (ARRAY_SIZE(endings) - 1)];
	struct gt_state_interval *state;
	uint32_t stack;

	if (!stacks) {
		add_state(trace, thread, GT_STATE_SLEEPING, from_ns, to_ns);
		return;
	}
	stack = make_stack(ending);
	state = add_state(trace, thread, ending->kind, from_ns,
			  to_ns - GT_MIN(around(20000), (to_ns - *from_ns) / 2));
	if (state) {
		state->reason = (uint8_t)ending->reason;
		state->stack = stack;
		trace->threads.items[thread].voluntary_switches++;
	}
	state = add_state(trace, thread, GT_STATE_RUNNABLE, from_ns, to_ns);
	if (state)
		state->stack = stack;
}

/* Who has the GIL runs, but for now and then; who waits for it soon sleeps. */
static void add_states(struct gt_trace *trace)
{
	trace->has_states = true;
	gt_array_for_each (&trace->intervals, interval) {
		uint64_t at = interval->start_ns, end = interval->end_ns, length = end - at;
		uint32_t thread = interval->thread;
		struct gt_state_interval *state;

		if (at == trace->threads.items[thread].start_ns)
			add_state(trace, thread, GT_STATE_RUNNABLE, &at, GT_MIN(at + 40000, end));
		switch ((enum gt_interval_kind)interval->kind) {
		case GT_INTERVAL_HAS:
			if (length > 4000000) {
				add_state(trace, thread, GT_STATE_RUNNING, &at,
					  at + around(length / 2));
				state = add_state(trace, thread, GT_STATE_RUNNABLE, &at,
						  GT_MIN(at + around(900000), end));
				if (state && stacks)
					state->stack = make_stack(&endings[5]);
				trace->threads.items[thread].involuntary_switches++;
			}
			add_state(trace, thread, GT_STATE_RUNNING, &at, end);
			break;
		case GT_INTERVAL_WAIT:
			add_state(trace, thread, GT_STATE_RUNNING, &at, GT_MIN(at + 3000, end));
			add_sleep(trace, thread, true, &at, end);
			break;
		case GT_INTERVAL_NO:
			if (around(4) == 2)
				add_state(trace, thread, GT_STATE_RUNNING, &at,
					  GT_MIN(at + length / 3, end));
			add_sleep(trace, thread, false, &at, end);
			break;
		case GT_INTERVAL_UNKNOWN:
			add_state(trace, thread, GT_STATE_UNKNOWN, &at, end);
			break;
		}
	}
	if (trace->lost > 0)
		trace->state_lost = 99;
}

/* What is counted besides, and the memory of each process: some growth, and a drop in the middle.
 */
static void add_counts(struct gt_trace *trace)
{
	static const char *const names[] = {"minor-faults", "major-faults", "task-clock"};
	enum { POINTS = 300 };

	trace->has_cpus = true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		trace->counters[trace->counter_count++] = need(strdup(names[i]));
	gt_array_for_each (&trace->threads, thread) {
		thread->migrations = thread->tid % 7;
		thread->counts[0] = (double)around(20000);
		thread->counts[1] = thread->tid % 3;
		thread->counts[2] = (double)(thread->end_ns - thread->start_ns) / 3;
	}
	for (uint32_t i = 0; i < POINTS * trace->processes.count; i++) {
		uint32_t step = i / trace->processes.count;
		struct gt_memory_point *point = need(gt_array_push(&trace->memory));

		point->process = i % trace->processes.count;
		point->time_ns =
			trace->start_ns + (trace->end_ns - trace->start_ns) / POINTS * step;
		point->resident_bytes =
			(30 + (step % (POINTS / 2)) / 2) * UINT64_C(1048576) + around(4096) * 512;
	}
}

static struct gt_trace *make_trace(const struct scenario *scenario, uint32_t intervals)
{
	struct gt_trace *trace = need(calloc(1, sizeof(*trace)));

	trace->start_ns = START_NS;
	trace->lost = scenario->lost;
	trace->inferred = scenario->inferred;
	for (uint32_t i = 0; i < scenario->processes; i++) {
		add_process(trace, scenario, i);
		if (scenario->habits) {
			struct gt_gil *gil = need(gt_array_push(&trace->gils));

			gil->process = i;
			gil->next_in_process = GT_NONE;
			gil->address = GIL_ADDRESS + i * 0x1000;
		}
		run_process(trace, scenario, i, intervals / scenario->processes * (i + 1));
	}
	if (scenario->functions) {
		stacks = need(gt_stacks_new());
		stack_functions = scenario->functions;
		add_counts(trace);
	}
	if (scenario->states)
		add_states(trace);
	/* Stacks tell the reasons themselves. */
	if (scenario->states && !scenario->functions && !scenario->probe &&
	    gt_sleep_explain(trace) < 0)
		exit(-gt_error_oom());
	trace->without_gil = scenario->probe && scenario->functions;
	return trace;
}

static int write_file(const struct gt_report *report, gt_render_function render, const char *path)
{
	_cleanup_(gt_sink_abandonp) struct gt_sink *sink = NULL;
	int r;

	r = gt_sink_open(path, false, &sink);
	if (r < 0)
		return r;
	r = render(report, sink);
	if (r < 0)
		return r;
	return gt_sink_close(GT_STEAL(sink));
}

int main(int argc, char **argv)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = NULL;
	_cleanup_(gt_stats_clear) struct gt_stats stats = {0};
	const struct scenario *scenario = NULL;
	struct gt_report_meta meta = {
		.hostname = "build-7",
		.python_path = "/usr/bin/python3.11",
		.python_version = "3.11.7",
		.probe = "uprobe",
		.found_by = "symbols",
		.clock = "CLOCK_MONOTONIC",
		.realtime_ns = UINT64_C(1767225600000000000),
		.exit_status = 0,
		.probe_cost_ns = -1,
	};
	struct gt_report report = {.stats = &stats, .meta = &meta};
	uint64_t started_ns;

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(scenarios); i++)
		if (strcmp(argv[1], scenarios[i].name) == 0)
			scenario = &scenarios[i];
	if (!scenario || argc < 4) {
		fprintf(stderr, "usage: make_page SCENARIO PAGE.html SUMMARY.json [INTERVALS "
				"[SLICES]]\n");
		return EXIT_FAILURE;
	}
	meta.command = (char *const *)scenario->command;
	if (scenario->probe)
		meta.probe = scenario->probe;
	trace = make_trace(scenario,
			   argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : scenario->intervals);
	report.trace = trace;
	report.page_slices = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 0;
	report.stacks = stacks;
	if (gt_stats_compute(trace, &stats) < 0)
		return EXIT_FAILURE;
	started_ns = gt_clock_ns(CLOCK_MONOTONIC);
	if (write_file(&report, gt_render_html, argv[2]) < 0)
		return EXIT_FAILURE;
	fprintf(stderr, "%" PRIu32 " intervals, page written in %" PRIu64 " ms\n",
		trace->intervals.count, (gt_clock_ns(CLOCK_MONOTONIC) - started_ns) / GT_NS_PER_MS);
	if (strcmp(argv[3], "-") != 0 && write_file(&report, gt_render_summary_json, argv[3]) < 0)
		return EXIT_FAILURE;
	if (stacks)
		gt_stacks_free(stacks);
	return EXIT_SUCCESS;
}
