/* SPDX-License-Identifier: MIT */
#include "trace/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/log.h"
#include "trace/last_state.h"

#define NONE GT_HASH_NONE

struct map {
	uint64_t start, length, file_offset;
	char *path;
	uint8_t *build_id; /* NULL when not known */
	uint32_t build_id_size;
	bool by_agent;
};

/* Of each kind of pages, what was told last. */
struct memory {
	bool is_told[GT_MEMORY_KINDS];
	uint64_t bytes[GT_MEMORY_KINDS];
};

struct process {
	uint32_t pid, ppid, ptid; /* ppid: 0 when not known */
	uint32_t living;	  /* threads */
	uint32_t told_tid;	  /* of the thread that was told first; 0: none was */
	GT_ARRAY(struct map) maps;
	struct memory memory;
};

struct thread {
	uint32_t process, tid;
	char *name; /* NULL when not known */
	bool is_living, is_told;
	uint64_t lost; /* events since its last one */
	struct gt_last_state state;
};

struct gt_window {
	struct gt_event_source source;
	uint64_t start_ns;
	GT_ARRAY(struct process) processes;
	GT_ARRAY(struct thread) threads; /* in the order of their births */
	struct gt_hash process_by_pid, thread_by_tid;
	bool has_begun;
	bool is_cut; /* before the window */
	/* What is told of the time before the window. It points into the others. */
	GT_ARRAY(struct gt_event) told;
	uint32_t told_next;
	struct gt_event first; /* the first event of the window; the source still holds its parts */
	bool has_first;
};

int gt_window_new(struct gt_event_source source, uint64_t start_ns, struct gt_window **ret)
{
	struct gt_window *window = calloc(1, sizeof(*window));

	if (!window)
		return gt_error_oom();
	window->source = source;
	window->start_ns = start_ns;
	*ret = window;
	return 0;
}

static void forget_maps(struct process *process)
{
	gt_array_for_each (&process->maps, map) {
		free(map->path);
		free(map->build_id);
	}
	gt_array_clear(&process->maps);
}

void gt_window_free(struct gt_window *window)
{
	gt_array_for_each (&window->processes, process)
		forget_maps(process);
	gt_array_for_each (&window->threads, thread) {
		free(thread->name);
		gt_last_state_clear(&thread->state);
	}
	gt_array_clear(&window->processes);
	gt_array_clear(&window->threads);
	gt_array_clear(&window->told);
	gt_hash_clear(&window->process_by_pid);
	gt_hash_clear(&window->thread_by_tid);
	free(window);
}

static int add_map(struct process *process, const struct map *from)
{
	struct map *map = gt_array_push(&process->maps);

	if (!map)
		return -ENOMEM;
	*map = *from;
	map->build_id = NULL;
	map->path = strdup(from->path);
	if (!map->path)
		return -ENOMEM;
	if (!from->build_id)
		return 0;
	map->build_id = malloc(GT_MAX(from->build_id_size, 1u));
	if (!map->build_id)
		return -ENOMEM;
	memcpy(map->build_id, from->build_id, from->build_id_size);
	return 0;
}

static int add_process(struct gt_window *window, uint32_t pid, uint32_t *ret)
{
	struct process *process = gt_array_push(&window->processes);

	if (!process)
		return -ENOMEM;
	process->pid = pid;
	*ret = window->processes.count - 1;
	return gt_hash_set(&window->process_by_pid, pid, *ret);
}

static int find_process(struct gt_window *window, uint32_t pid, uint32_t *ret)
{
	*ret = gt_hash_get(&window->process_by_pid, pid);
	return *ret == NONE ? add_process(window, pid, ret) : 0;
}

static int set_name(struct thread *thread, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(thread->name);
	thread->name = copy;
	return 0;
}

static int add_thread(struct gt_window *window, uint32_t process, uint32_t tid, uint32_t *ret)
{
	struct thread *thread = gt_array_push(&window->threads);

	if (!thread)
		return -ENOMEM;
	thread->process = process;
	thread->tid = tid;
	thread->is_living = true;
	window->processes.items[process].living++;
	*ret = window->threads.count - 1;
	return gt_hash_set(&window->thread_by_tid, tid, *ret);
}

/* The living thread of an event. One that was not heard of begins here. */
static int find_thread(struct gt_window *window, uint32_t pid, uint32_t tid, uint32_t *ret)
{
	uint32_t process;
	int r;

	*ret = gt_hash_get(&window->thread_by_tid, tid);
	if (*ret != NONE && window->threads.items[*ret].is_living &&
	    window->processes.items[window->threads.items[*ret].process].pid == pid)
		return 0;
	r = find_process(window, pid, &process);
	if (r < 0)
		return r;
	return add_thread(window, process, tid, ret);
}

static void end_thread(struct gt_window *window, uint32_t index)
{
	struct thread *thread = &window->threads.items[index];
	struct process *process = &window->processes.items[thread->process];

	if (!thread->is_living)
		return;
	thread->is_living = false;
	free(thread->name);
	thread->name = NULL;
	gt_last_state_clear(&thread->state);
	process->living--;
	/* Of a hundred thousand processes that come and go, only numbers are kept. */
	if (process->living == 0)
		forget_maps(process);
}

static int note_fork(struct gt_window *window, const struct gt_event *event)
{
	uint32_t parent_thread, parent, process, thread;
	uint32_t old = gt_hash_get(&window->thread_by_tid, event->tid);
	const char *name;
	int r;

	if (old != NONE)
		end_thread(window, old);
	r = find_thread(window, event->fork.ppid, event->fork.ptid, &parent_thread);
	if (r < 0)
		return r;
	process = parent = window->threads.items[parent_thread].process;
	if (event->pid != event->fork.ppid) {
		r = add_process(window, event->pid, &process);
		if (r < 0)
			return r;
		window->processes.items[process].ppid = event->fork.ppid;
		window->processes.items[process].ptid = event->fork.ptid;
		window->processes.items[process].memory = window->processes.items[parent].memory;
		gt_array_for_each (&window->processes.items[parent].maps, map) {
			r = add_map(&window->processes.items[process], map);
			if (r < 0)
				return r;
		}
	}
	r = add_thread(window, process, event->tid, &thread);
	if (r < 0)
		return r;
	name = window->threads.items[parent_thread].name;
	return name ? set_name(&window->threads.items[thread], name) : 0;
}

static void note_exit(struct gt_window *window, const struct gt_event *event)
{
	uint32_t thread = gt_hash_get(&window->thread_by_tid, event->tid);

	if (thread != NONE)
		end_thread(window, thread);
}

/* Of all its threads one goes on, in another program. */
static void exec_process(struct gt_window *window, uint32_t survivor)
{
	uint32_t process = window->threads.items[survivor].process;

	for (uint32_t i = 0; window->processes.items[process].living > 1; i++)
		if (i != survivor && window->threads.items[i].process == process)
			end_thread(window, i);
	forget_maps(&window->processes.items[process]);
	window->processes.items[process].memory = (struct memory){0};
}

static int note_comm(struct gt_window *window, const struct gt_event *event)
{
	uint32_t thread;
	int r = find_thread(window, event->pid, event->tid, &thread);

	if (r < 0)
		return r;
	if (event->comm.exec)
		exec_process(window, thread);
	return set_name(&window->threads.items[thread], event->comm.name);
}

static int note_map(struct gt_window *window, const struct gt_event *event)
{
	struct map map = {.start = event->map.start,
			  .length = event->map.length,
			  .file_offset = event->map.file_offset,
			  .path = (char *)event->map.path,
			  .build_id = (uint8_t *)event->map.build_id,
			  .build_id_size = event->map.build_id_size,
			  .by_agent = event->map.by_agent};
	uint32_t process;
	int r = find_process(window, event->pid, &process);

	return r < 0 ? r : add_map(&window->processes.items[process], &map);
}

/* Of a thread that is not known to live, it begins no life: it may be late. */
static int note_state(struct gt_window *window, const struct gt_event *event)
{
	uint32_t thread = gt_hash_get(&window->thread_by_tid, event->tid);

	if (thread == NONE || !window->threads.items[thread].is_living)
		return 0;
	return gt_last_state_note(&window->threads.items[thread].state, event);
}

static void forget_states(struct gt_window *window)
{
	gt_array_for_each (&window->threads, thread)
		gt_last_state_forget(&thread->state);
}

static void note_memory(struct gt_window *window, const struct gt_event *event)
{
	uint32_t process = gt_hash_get(&window->process_by_pid, event->pid);
	struct memory *memory;

	if (process == NONE || event->memory.kind >= GT_MEMORY_KINDS)
		return;
	memory = &window->processes.items[process].memory;
	memory->is_told[event->memory.kind] = true;
	memory->bytes[event->memory.kind] = event->memory.bytes;
}

/* An event of a thread ends what it had lost before; and both show that it lives. */
static int note_life(struct gt_window *window, const struct gt_event *event)
{
	uint32_t thread;
	int r;

	if (event->tid == 0)
		return 0;
	r = find_thread(window, event->pid, event->tid, &thread);
	if (r < 0)
		return r;
	if (event->type == GT_EVENT_LOST)
		window->threads.items[thread].lost += event->lost;
	else
		window->threads.items[thread].lost = 0;
	return 0;
}

static int note(struct gt_window *window, const struct gt_event *event)
{
	switch (event->type) {
	case GT_EVENT_FORK:
		return note_fork(window, event);
	case GT_EVENT_EXIT:
		note_exit(window, event);
		return 0;
	case GT_EVENT_COMM:
		return note_comm(window, event);
	case GT_EVENT_MAP:
		return note_map(window, event);
	case GT_EVENT_SWITCH_IN:
	case GT_EVENT_SWITCH_OUT:
	case GT_EVENT_LEAVE:
	case GT_EVENT_WAKEUP:
		return note_state(window, event);
	case GT_EVENT_SWITCHES_LOST:
		forget_states(window);
		return 0;
	case GT_EVENT_MEMORY:
		note_memory(window, event);
		return 0;
	case GT_EVENT_WAKEUPS_LOST:
	case GT_EVENT_COUNT:
		return 0;
	case GT_EVENT_CUT:
		window->is_cut = true;
		return 0;
	default:
		return note_life(window, event);
	}
}

static struct gt_event *tell(struct gt_window *window, enum gt_event_type type, uint64_t time_ns,
			     uint32_t pid, uint32_t tid)
{
	struct gt_event *event = gt_array_push(&window->told);

	if (!event)
		return NULL;
	*event = (struct gt_event){
		.type = type, .time_ns = time_ns, .pid = pid, .tid = tid, .ring = GT_EVENT_NO_RING};
	return event;
}

static int tell_name(struct gt_window *window, const struct thread *thread, uint64_t time_ns)
{
	struct gt_event *event = tell(window, GT_EVENT_COMM, time_ns,
				      window->processes.items[thread->process].pid, thread->tid);

	if (!event)
		return -ENOMEM;
	event->comm.name = thread->name ? thread->name : "";
	return 0;
}

/* A thread of a living process that has been told already: TID if that is such a one. */
static uint32_t choose_parent(const struct gt_window *window, uint32_t process, uint32_t tid)
{
	uint32_t thread = gt_hash_get(&window->thread_by_tid, tid);

	return thread != NONE && window->threads.items[thread].is_told &&
			       window->threads.items[thread].process == process
		       ? tid
		       : window->processes.items[process].told_tid;
}

static int tell_thread(struct gt_window *window, struct thread *thread)
{
	struct process *process = &window->processes.items[thread->process];
	uint32_t ppid = process->pid, ptid = process->told_tid, parent;

	if (ptid == 0 && process->ppid != 0) {
		parent = gt_hash_get(&window->process_by_pid, process->ppid);
		ppid = process->ppid;
		if (parent != NONE && window->processes.items[parent].told_tid != 0)
			ptid = choose_parent(window, parent, process->ptid);
	}
	/* Without a parent that lives, it has its name for a birth. */
	if (ptid != 0) {
		struct gt_event *event = tell(window, GT_EVENT_FORK, 0, process->pid, thread->tid);

		if (!event)
			return -ENOMEM;
		event->fork.ppid = ppid;
		event->fork.ptid = ptid;
	}
	thread->is_told = true;
	if (process->told_tid == 0)
		process->told_tid = thread->tid;
	return ptid == 0 || thread->name ? tell_name(window, thread, 0) : 0;
}

static int tell_maps(struct gt_window *window, const struct process *process)
{
	gt_array_for_each (&process->maps, map) {
		struct gt_event *event =
			tell(window, GT_EVENT_MAP, 0, process->pid, process->told_tid);

		if (!event)
			return -ENOMEM;
		event->map.start = map->start;
		event->map.length = map->length;
		event->map.file_offset = map->file_offset;
		event->map.path = map->path;
		event->map.build_id = map->build_id;
		event->map.build_id_size = map->build_id_size;
		event->map.by_agent = map->by_agent;
	}
	return 0;
}

/* Who slept when the window began may sleep through it. */
static int tell_state(struct gt_window *window, const struct thread *thread)
{
	struct gt_event events[GT_LAST_STATE_EVENTS];
	uint32_t count = thread->is_living ? gt_last_state_tell(&thread->state, events) : 0;

	for (uint32_t i = 0; i < count; i++) {
		struct gt_event *event =
			tell(window, events[i].type, window->start_ns,
			     window->processes.items[thread->process].pid, thread->tid);

		if (!event)
			return -ENOMEM;
		if (event->type == GT_EVENT_LEAVE)
			event->leave = events[i].leave;
		else if (event->type != GT_EVENT_WAKEUP)
			event->on_off = events[i].on_off;
	}
	return 0;
}

static int tell_memory(struct gt_window *window, const struct process *process)
{
	for (uint32_t kind = 0; kind < GT_MEMORY_KINDS; kind++) {
		struct gt_event *event;

		if (!process->memory.is_told[kind])
			continue;
		event = tell(window, GT_EVENT_MEMORY, window->start_ns, process->pid,
			     process->told_tid);
		if (!event)
			return -ENOMEM;
		event->memory.kind = kind;
		event->memory.bytes = process->memory.bytes[kind];
	}
	return 0;
}

/* A gap that goes on into the window is one of the window. */
static int tell_loss(struct gt_window *window, const struct thread *thread)
{
	struct gt_event *event;

	if (thread->lost == 0)
		return 0;
	event = tell(window, GT_EVENT_LOST, window->start_ns,
		     window->processes.items[thread->process].pid, thread->tid);
	if (!event)
		return -ENOMEM;
	event->lost = thread->lost;
	return 0;
}

static int tell_living(struct gt_window *window)
{
	const struct thread *first = NULL;
	int r;

	gt_array_for_each (&window->threads, thread) {
		if (!thread->is_living)
			continue;
		r = tell_thread(window, thread);
		if (r < 0)
			return r;
		if (!first)
			first = thread;
	}
	/* Behind all births: a child does not get again what its parent has mapped. */
	gt_array_for_each (&window->processes, process) {
		r = process->told_tid ? tell_maps(window, process) : 0;
		if (r < 0)
			return r;
	}
	/* Said once more, now with a time: so that the trace begins with the window. */
	r = first ? tell_name(window, first, window->start_ns) : 0;
	if (r < 0)
		return r;
	gt_array_for_each (&window->threads, thread) {
		r = thread->is_living ? tell_loss(window, thread) : 0;
		if (r < 0)
			return r;
		r = tell_state(window, thread);
		if (r < 0)
			return r;
	}
	gt_array_for_each (&window->processes, process) {
		r = process->told_tid ? tell_memory(window, process) : 0;
		if (r < 0)
			return r;
	}
	if (window->is_cut && !tell(window, GT_EVENT_CUT, window->start_ns, 0, 0))
		return -ENOMEM;
	return 0;
}

static int begin(struct gt_window *window)
{
	struct gt_event event;
	int r;

	window->has_begun = true;
	while ((r = window->source.next(window->source.object, &event)) > 0) {
		if (event.time_ns >= window->start_ns && event.type != GT_EVENT_COUNT) {
			window->first = event;
			window->has_first = true;
			break;
		}
		if (note(window, &event) < 0)
			return gt_error_oom();
	}
	if (r < 0)
		return r;
	return tell_living(window) < 0 ? gt_error_oom() : 0;
}

int gt_window_next(void *object, struct gt_event *ret)
{
	struct gt_window *window = object;
	int r;

	if (!window->has_begun) {
		r = begin(window);
		if (r < 0)
			return r;
	}
	if (window->told_next < window->told.count) {
		*ret = window->told.items[window->told_next++];
		return 1;
	}
	if (window->has_first) {
		window->has_first = false;
		*ret = window->first;
		return 1;
	}
	/* What a thread has counted is of its whole life. */
	do
		r = window->source.next(window->source.object, ret);
	while (r > 0 && ret->type == GT_EVENT_COUNT);
	return r;
}
