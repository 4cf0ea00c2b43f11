/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads: their births, names and ends. Everything about the GIL goes on to gil.c.
 */
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

#include "trace/machine.h"

struct gt_trace *gt_trace_new(void)
{
	_cleanup_(gt_trace_freep) struct gt_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->machine = calloc(1, sizeof(*trace->machine));
	if (!trace->machine)
		return NULL;
	return GT_STEAL(trace);
}

static void machine_free(struct gt_machine *machine)
{
	if (!machine)
		return;
	gt_array_for_each (&machine->processes, process) {
		gt_array_clear(&process->names);
		gt_interpreter_forget(process);
	}
	gt_array_clear(&machine->processes);
	gt_array_clear(&machine->threads);
	gt_array_clear(&machine->gils);
	gt_array_clear(&machine->ring_last_ns);
	gt_array_clear(&machine->losses);
	gt_array_clear(&machine->schedules);
	gt_array_clear(&machine->state_losses);
	gt_array_clear(&machine->stack_reasons);
	gt_array_clear(&machine->counts);
	gt_hash_clear(&machine->count_by_thread);
	gt_hash_clear(&machine->process_by_pid);
	gt_hash_clear(&machine->thread_by_tid);
	free(machine);
}

void gt_trace_free(struct gt_trace *trace)
{
	if (!trace)
		return;
	gt_array_for_each (&trace->pythons, python) {
		free(python->path);
		free(python->program);
		free(python->build_id);
		free(python->version);
		gt_array_clear(&python->retake_offsets);
	}
	gt_array_for_each (&trace->processes, process)
		free(process->command);
	gt_array_for_each (&trace->threads, thread)
		free(thread->name);
	gt_array_clear(&trace->pythons);
	gt_array_clear(&trace->processes);
	gt_array_clear(&trace->threads);
	gt_array_clear(&trace->gils);
	gt_array_clear(&trace->intervals);
	gt_array_clear(&trace->states);
	gt_array_clear(&trace->memory);
	for (uint32_t i = 0; i < trace->counter_count; i++)
		free(trace->counters[i]);
	machine_free(trace->machine);
	free(trace);
}

static int set_name(char **name, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*name);
	*name = copy;
	return 0;
}

static int add_process(struct gt_trace *trace, uint32_t pid, uint32_t *ret)
{
	struct gt_process *process = gt_array_push(&trace->processes);
	struct gt_process_state *state = gt_array_push(&trace->machine->processes);
	int r;

	if (!process || !state)
		return -ENOMEM;
	process->pid = pid;
	process->parent = process->main_thread = process->python = GT_NONE;
	process->first_thread = process->last_thread = GT_NONE;
	process->first_gil = process->last_gil = GT_NONE;
	process->start_ns = process->end_ns = trace->machine->now_ns;
	r = set_name(&process->command, "");
	if (r < 0)
		return r;
	*ret = trace->processes.count - 1;
	return gt_hash_set(&trace->machine->process_by_pid, pid, *ret);
}

static int find_process(struct gt_trace *trace, uint32_t pid, uint32_t *ret)
{
	*ret = gt_hash_get(&trace->machine->process_by_pid, pid);
	return *ret == GT_HASH_NONE ? add_process(trace, pid, ret) : 0;
}

static int add_thread(struct gt_trace *trace, uint32_t process, uint32_t tid,
		      enum gt_thread_phase phase, uint32_t *ret)
{
	struct gt_thread *thread = gt_array_push(&trace->threads);
	struct gt_thread_state *state = gt_array_push(&trace->machine->threads);
	int r;

	if (!thread || !state)
		return -ENOMEM;
	thread->tid = tid;
	thread->process = process;
	thread->start_ns = thread->end_ns = trace->machine->now_ns;
	state->cursor_ns = trace->machine->now_ns;
	state->phase = trace->is_cut ? GT_PHASE_UNKNOWN : phase;
	state->gil = GT_NONE;
	state->alive = true;
	r = gt_scheduler_add(trace);
	if (r < 0)
		return r;
	r = set_name(&thread->name, trace->processes.items[process].command);
	if (r < 0)
		return r;
	*ret = trace->threads.count - 1;
	gt_count_add(trace, *ret);
	thread->next_in_process = GT_NONE;
	if (trace->processes.items[process].last_thread == GT_NONE)
		trace->processes.items[process].first_thread = *ret;
	else
		trace->threads.items[trace->processes.items[process].last_thread].next_in_process =
			*ret;
	trace->processes.items[process].last_thread = *ret;
	if (tid == trace->processes.items[process].pid)
		trace->processes.items[process].main_thread = *ret;
	return gt_hash_set(&trace->machine->thread_by_tid, tid, *ret);
}

/* The living thread TID of process PID; one that was not seen before begins here, in PHASE. */
static int find_thread(struct gt_trace *trace, uint32_t pid, uint32_t tid,
		       enum gt_thread_phase phase, uint32_t *ret)
{
	uint32_t thread = gt_hash_get(&trace->machine->thread_by_tid, tid);
	uint32_t process;
	int r;

	if (thread != GT_HASH_NONE && trace->machine->threads.items[thread].alive &&
	    trace->processes.items[trace->threads.items[thread].process].pid == pid) {
		*ret = thread;
		return 0;
	}
	r = find_process(trace, pid, &process);
	if (r < 0)
		return r;
	return add_thread(trace, process, tid, phase, ret);
}

static int end_thread(struct gt_trace *trace, uint32_t thread, uint64_t time_ns)
{
	struct gt_thread_state *state = &trace->machine->threads.items[thread];
	struct gt_process *process = &trace->processes.items[trace->threads.items[thread].process];
	int r;

	if (!state->alive)
		return 0;
	process->maps_other_python |=
		gt_interpreter_is_other(trace, trace->threads.items[thread].process);
	/* Another thread may end before Python begins. */
	if (trace->threads.items[thread].tid == process->pid)
		process->not_watched |=
			gt_interpreter_is_unwatched(trace, trace->threads.items[thread].process);
	/* A late record may have taken the thread past TIME_NS, and both lists shall end together.
	 */
	time_ns = GT_MAX(time_ns, gt_scheduler_cursor(trace, thread));
	r = gt_gil_end_phase(trace, thread, time_ns, GT_PHASE_NO);
	state->alive = false;
	trace->threads.items[thread].end_ns = state->cursor_ns;
	process->end_ns = GT_MAX(process->end_ns, state->cursor_ns);
	return r < 0 ? r : gt_scheduler_end(trace, thread, state->cursor_ns);
}

static int event_fork(struct gt_trace *trace, const struct gt_event *event)
{
	struct gt_machine *machine = trace->machine;
	uint32_t parent_process, parent_thread, process, thread, old;
	int r;

	r = find_thread(trace, event->fork.ppid, event->fork.ptid, GT_PHASE_UNKNOWN,
			&parent_thread);
	if (r < 0)
		return r;
	parent_process = trace->threads.items[parent_thread].process;

	/* A number can come again, after an exit that was not seen too. */
	old = gt_hash_get(&machine->thread_by_tid, event->tid);
	if (old != GT_HASH_NONE) {
		r = end_thread(trace, old, event->time_ns);
		if (r < 0)
			return r;
	}
	if (event->pid == event->fork.ppid) {
		process = parent_process;
	} else {
		r = add_process(trace, event->pid, &process);
		if (r < 0)
			return r;
		trace->processes.items[process].ppid = event->fork.ppid;
		trace->processes.items[process].parent = parent_process;
		r = set_name(&trace->processes.items[process].command,
			     trace->threads.items[parent_thread].name);
		if (r < 0)
			return r;
		r = gt_gil_identity_fork(trace, parent_process, process);
		if (r < 0)
			return r;
		r = gt_interpreter_fork(trace, parent_process, process);
		if (r < 0)
			return r;
		r = gt_space_fork(trace, parent_process, process);
		if (r < 0)
			return r;
		gt_memory_fork(trace, parent_process, process);
	}
	/* Without a time it was born before the trace: who knows what it does as that begins. */
	r = add_thread(trace, process, event->tid,
		       event->time_ns == 0 ? GT_PHASE_UNKNOWN : GT_PHASE_NO, &thread);
	if (r < 0)
		return r;
	gt_scheduler_fork(trace, thread, event->time_ns);
	r = set_name(&trace->threads.items[thread].name, trace->threads.items[parent_thread].name);
	if (r < 0 || process == parent_process)
		return r;
	return gt_gil_fork(trace, parent_thread, thread);
}

static int event_exit(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread = gt_hash_get(&trace->machine->thread_by_tid, event->tid);

	return thread == GT_HASH_NONE ? 0 : end_thread(trace, thread, event->time_ns);
}

/* Of all its threads one goes on, as the main thread, in a program that knows nothing of a GIL yet.
 */
static int exec_process(struct gt_trace *trace, uint32_t process, uint32_t main_thread,
			uint64_t time_ns)
{
	struct gt_process_state *state = &trace->machine->processes.items[process];
	int r;

	for (uint32_t i = trace->processes.items[process].first_thread; i != GT_NONE;
	     i = trace->threads.items[i].next_in_process) {
		if (i == main_thread)
			continue;
		r = end_thread(trace, i, time_ns);
		if (r < 0)
			return r;
	}
	trace->processes.items[process].maps_other_python |=
		gt_interpreter_is_other(trace, process);
	/* A child on its way to another program has no use for what its parent had. */
	if (state->known_python == GT_KNOWN_PYTHON_OF_PARENT)
		state->known_python = GT_KNOWN_PYTHON_NONE;
	trace->processes.items[process].not_watched |= gt_interpreter_is_unwatched(trace, process);
	r = gt_scheduler_exec(trace, main_thread, time_ns);
	if (r < 0)
		return r;
	r = gt_gil_end_phase(trace, main_thread, time_ns, GT_PHASE_NO);
	state->image_gil_events = 0;
	state->is_bare = true;
	gt_space_exec(trace, process);
	gt_memory_exec(trace, process);
	trace->machine->threads.items[main_thread].gil = GT_NONE;
	gt_array_clear(&state->names);
	trace->processes.items[process].python = GT_NONE;
	gt_interpreter_forget(state);
	return r;
}

/*
 * Where another thread than the main one called exec, the main one has ended before, and its number
 * is the other's now: one life, as far as anybody can see.
 */
static void revive_main_thread(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread = gt_hash_get(&trace->machine->thread_by_tid, event->tid);

	if (thread == GT_HASH_NONE || event->tid != event->pid ||
	    trace->processes.items[trace->threads.items[thread].process].pid != event->pid)
		return;
	trace->machine->threads.items[thread].alive = true;
}

static int event_comm(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread, process;
	int r;

	if (event->comm.exec)
		revive_main_thread(trace, event);
	r = find_thread(trace, event->pid, event->tid,
			event->comm.exec ? GT_PHASE_NO : GT_PHASE_UNKNOWN, &thread);
	if (r < 0)
		return r;
	process = trace->threads.items[thread].process;
	if (event->comm.exec) {
		r = exec_process(trace, process, thread, event->time_ns);
		if (r < 0)
			return r;
	}
	r = set_name(&trace->threads.items[thread].name, event->comm.name);
	if (r < 0 || event->tid != event->pid)
		return r;
	return set_name(&trace->processes.items[process].command, event->comm.name);
}

static int event_map(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t process;
	int r;

	r = find_process(trace, event->pid, &process);
	if (r < 0)
		return r;
	trace->machine->processes.items[process].is_bare = false;
	r = gt_space_map(trace, process, event);
	return r < 0 ? r : gt_interpreter_map(trace, process, event);
}

static int event_lost(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread;
	int r;

	if (event->tid == 0)
		return gt_loss_event(trace, event);
	/* What is told of one that has ended begins no other life. */
	thread = gt_hash_get(&trace->machine->thread_by_tid, event->tid);
	if (thread == GT_HASH_NONE ||
	    trace->processes.items[trace->threads.items[thread].process].pid != event->pid) {
		r = find_thread(trace, event->pid, event->tid, GT_PHASE_UNKNOWN, &thread);
		if (r < 0)
			return r;
	}
	return gt_loss_of_thread(trace, thread, event);
}

static int event_gil(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread;
	int r;

	r = find_thread(trace, event->pid, event->tid, GT_PHASE_UNKNOWN, &thread);
	if (r < 0)
		return r;
	return gt_gil_event(trace, thread, event);
}

static int event_switch(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread = gt_hash_get(&trace->machine->thread_by_tid, event->tid);
	int r;

	/* A late one of a thread that has exited begins no other life. */
	if (thread != GT_HASH_NONE && !trace->machine->threads.items[thread].alive)
		return 0;
	r = find_thread(trace, event->pid, event->tid, GT_PHASE_UNKNOWN, &thread);
	if (r < 0)
		return r;
	return gt_scheduler_event(trace, thread, event);
}

/* A thread that lives; GT_NONE when TID is none that is known. */
static uint32_t find_living(const struct gt_trace *trace, uint32_t tid)
{
	uint32_t thread = gt_hash_get(&trace->machine->thread_by_tid, tid);

	return thread != GT_HASH_NONE && trace->machine->threads.items[thread].alive ? thread
										     : GT_NONE;
}

static int event_leave(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread = find_living(trace, event->tid);

	return thread == GT_NONE ? 0 : gt_scheduler_leave(trace, thread, event);
}

static int event_wakeup(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread = find_living(trace, event->tid);

	return thread == GT_NONE ? 0 : gt_scheduler_wakeup(trace, thread, event->time_ns);
}

/* It is told behind the thread's end. */
static int event_count(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t thread = gt_hash_get(&trace->machine->thread_by_tid, event->tid);

	return thread == GT_HASH_NONE ? 0 : gt_count_event(trace, thread, event);
}

static int event_memory(struct gt_trace *trace, const struct gt_event *event)
{
	uint32_t process = gt_hash_get(&trace->machine->process_by_pid, event->pid);

	return process == GT_HASH_NONE ? 0 : gt_memory_event(trace, process, event);
}

/*
 * The trace begins at its first event with a time. What a recorder says of tasks that were there
 * before has none (0); they begin with the trace.
 */
static void begin(struct gt_trace *trace, uint64_t time_ns)
{
	trace->start_ns = time_ns;
	gt_array_for_each (&trace->processes, process)
		process->start_ns = process->end_ns = time_ns;
	gt_array_for_each (&trace->threads, thread)
		thread->start_ns = thread->end_ns = time_ns;
	gt_array_for_each (&trace->machine->threads, state)
		state->cursor_ns = time_ns;
	gt_scheduler_begin(trace, time_ns);
}

static int note_ring(struct gt_machine *machine, const struct gt_event *event)
{
	while (event->ring >= machine->ring_last_ns.count)
		if (!gt_array_push(&machine->ring_last_ns))
			return -ENOMEM;
	machine->ring_last_ns.items[event->ring] =
		GT_MAX(machine->ring_last_ns.items[event->ring], event->time_ns);
	return 0;
}

int gt_trace_feed(struct gt_trace *trace, const struct gt_event *event)
{
	struct gt_machine *machine = trace->machine;
	int r;

	/* About a whole life, and told when that is over: the trace may have ended before. */
	if (event->type == GT_EVENT_COUNT)
		return event_count(trace, event);
	if (event->time_ns > machine->now_ns) {
		if (machine->now_ns == 0)
			begin(trace, event->time_ns);
		machine->now_ns = event->time_ns;
	}
	trace->end_ns = machine->now_ns;

	switch (event->type) {
	case GT_EVENT_FORK:
		r = event_fork(trace, event);
		break;
	case GT_EVENT_EXIT:
		r = event_exit(trace, event);
		break;
	case GT_EVENT_COMM:
		r = event_comm(trace, event);
		break;
	case GT_EVENT_MAP:
		r = event_map(trace, event);
		break;
	case GT_EVENT_LOST:
		r = event_lost(trace, event);
		break;
	case GT_EVENT_CUT:
		r = gt_loss_of_rest(trace, event);
		break;
	case GT_EVENT_SWITCH_IN:
	case GT_EVENT_SWITCH_OUT:
		r = event_switch(trace, event);
		break;
	case GT_EVENT_SWITCHES_LOST:
		r = gt_scheduler_loss(trace, event);
		break;
	case GT_EVENT_LEAVE:
		r = event_leave(trace, event);
		break;
	case GT_EVENT_WAKEUP:
		r = event_wakeup(trace, event);
		break;
	case GT_EVENT_WAKEUPS_LOST:
		trace->wakeups_lost += event->gap.count;
		r = 0;
		break;
	case GT_EVENT_MEMORY:
		r = event_memory(trace, event);
		break;
	default:
		r = event_gil(trace, event);
		break;
	}
	if (r < 0 || event->ring == GT_EVENT_NO_RING)
		return r;
	return note_ring(machine, event);
}

int gt_trace_end_first(struct gt_trace *trace, uint64_t time_ns)
{
	struct gt_event lost = {.type = GT_EVENT_SWITCHES_LOST,
				.time_ns = time_ns,
				.ring = GT_EVENT_NO_RING,
				.gap = {.since_ns = trace->end_ns}};
	uint32_t main_thread =
		trace->processes.count ? trace->processes.items[0].main_thread : GT_NONE;

	if (main_thread == GT_NONE || time_ns <= trace->end_ns)
		return 0;
	/* It ended before its program was mapped: that is how the kernel takes its leave. */
	if (trace->machine->processes.items[0].is_bare)
		trace->machine->threads.items[main_thread].alive = true;
	if (!trace->machine->threads.items[main_thread].alive)
		return 0;
	for (uint32_t i = trace->processes.items[0].first_thread; i != GT_NONE;
	     i = trace->threads.items[i].next_in_process) {
		int r;

		if (!trace->machine->threads.items[i].alive)
			continue;
		r = gt_gil_lose(trace, i, trace->end_ns);
		if (r < 0)
			return r;
	}
	trace->end_ns = trace->machine->now_ns = time_ns;
	return trace->has_states ? gt_scheduler_loss(trace, &lost) : 0;
}

int gt_trace_finish(struct gt_trace *trace)
{
	int r;

	for (uint32_t i = 0; i < trace->threads.count; i++) {
		r = end_thread(trace, i, trace->end_ns);
		if (r < 0)
			return r;
	}
	gt_count_finish(trace);
	r = gt_memory_finish(trace);
	if (r >= 0)
		r = gt_loss_apply(trace);
	if (r >= 0)
		r = gt_scheduler_finish(trace);
	machine_free(trace->machine);
	trace->machine = NULL;
	return r;
}
